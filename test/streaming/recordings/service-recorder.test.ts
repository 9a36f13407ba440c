/** The recorder of a service, on a virtual clock and a real folder. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { ConfiguredMarket } from '../../../src/streaming/market/configured-market.ts'
import { openRecording } from '../../../src/streaming/recordings/reader.ts'
import { RecordedState } from '../../../src/streaming/recordings/recorded-state.ts'
import type { RecordedEntry } from '../../../src/streaming/recordings/recording.ts'
import { createRecordingFile } from '../../../src/streaming/recordings/recording-folder.ts'
import { createRecordingMetrics, ServiceRecorder } from '../../../src/streaming/recordings/service-recorder.ts'
import { RecordingSteps } from '../../../src/streaming/recordings/steps.ts'
import type { Commit } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { captureLog } from '../../support/captured-log.ts'
import { recordedMarket } from '../../support/recording-file.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const START = Date.UTC(2026, 10, 23, 13, 59, 0)
const HOUR = 3_600_000
const BID = { side: 0, price: 100, amount: 1 } as const
const ASK = { side: 1, price: 200, amount: 2 } as const

const WHOLE = [BID, ASK]

const root = mkdtempSync(join(tmpdir(), 'tidegate-recorder-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let folders = 0

interface Setup {
  readonly folder?: string
  readonly createFile?: typeof createRecordingFile
  readonly startMilliseconds?: number
}

function configured(base: string): ConfiguredMarket {
  return { ...recordedMarket(base), sources: [{ feed: 'simulator', symbol: '' }] } as unknown as ConfiguredMarket
}

function startRecorder({ folder = join(root, String(folders++)), createFile, startMilliseconds = START }: Setup = {}) {
  mkdirSync(folder, { recursive: true })
  const clock = new VirtualClock(startMilliseconds)
  const bus = createMemoryBus()
  const registry = createMetricsRegistry()
  const { log, lines: written } = captureLog()
  const lines = () => written.map((line) => JSON.parse(line) as { readonly msg: string })
  const recorder = new ServiceRecorder({
    folder,
    keepHours: () => 2,
    markets: [configured('BTC')],
    bus,
    clock,
    log,
    metrics: createRecordingMetrics(registry, clock),
    ...(createFile === undefined ? {} : { createFile }),
  })
  recorder.start()
  let version = 0
  const commit = (parts: Partial<Commit>): void => {
    version += 1
    const counted = { epoch: 'one', version, executionNumber: 0, changes: [], executions: [] }
    const instant = { ...clock.wallInstant(), receivedMilliseconds: 0 }
    bus.publish({ type: 'commit', market: 'BTCUSD', ...instant, ...counted, ...parts })
    if (parts.changes === WHOLE)
      bus.publish({ type: 'status', market: 'BTCUSD', epoch: 'e1', version: 1, live: true, reason: '' })
    clock.settle()
  }
  const goLive = (): void => commit({ changes: WHOLE })
  const metric = async (name: string): Promise<number> => {
    const text = await registry.metrics()
    return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
  }
  return { folder, clock, bus, recorder, commit, goLive, metric, lines }
}

async function read(path: string) {
  const reader = await openRecording(path)
  try {
    const entries: RecordedEntry[] = []
    const steps = new RecordingSteps(reader, Number.NEGATIVE_INFINITY)
    for (let step = await steps.next(); step !== undefined; step = await steps.next()) {
      if (step.kind === 'entries') entries.push(...step.entries)
    }
    const { header, firstMilliseconds, lastMilliseconds, blocks } = reader
    return { header, entries, firstMilliseconds, lastMilliseconds, kinds: blocks.map(({ kind }) => kind) }
  } finally {
    await reader.close()
  }
}

const until = (isMet: () => boolean) => vi.waitUntil(isMet, { timeout: 45_000, interval: 2 })

describe('the recorder of a service', () => {
  it('the service recorder writes a file per hour, each of which has the whole state at its beginning', async () => {
    const { folder, clock, recorder, commit, goLive } = startRecorder()
    goLive()
    clock.advance(30_000)
    commit({ changes: [{ ...BID, amount: 5 }] })
    clock.advance(30_000)
    clock.advance(10)
    commit({ executions: [{ price: 150, amount: 3, id: '17', side: 'sell' }] })
    await recorder.stop()
    expect(readdirSync(folder).sort()).toEqual(['2026-11-23T13.recording', '2026-11-23T14.recording'])
    const first = await read(join(folder, '2026-11-23T13.recording'))
    const second = await read(join(folder, '2026-11-23T14.recording'))
    expect(first.kinds[0]).toBe('keyframe')
    expect(first.lastMilliseconds).toBe(START + 60_000)
    expect(first.entries.map(({ commit: made }) => made?.version)).toEqual([undefined, 1, 2])
    expect([second.kinds[0], second.firstMilliseconds]).toEqual(['keyframe', START + 60_000])
    const state = new RecordedState('')
    for (const entry of second.entries) state.follow(entry)
    expect(state.levels()).toEqual([{ ...BID, amount: 5 }, ASK])
    expect(state.commit).toEqual({ epoch: 'one', version: 3, milliseconds: START + 60_010, nanoseconds: 0 })
    const executions = [{ price: 150, amount: 3, id: '17', side: 'sell' }]
    expect(second.entries.at(-1)?.events).toEqual([{ type: 'update', changes: [], executions }])
    expect(statSync(join(folder, '2026-11-23T14.recording')).mode & 0o777).toBe(0o600)
  })

  it('the service recorder makes a further file of the hour after a restart, and when the markets change', async () => {
    const { folder, recorder } = startRecorder()
    await recorder.stop()
    const again = startRecorder({ folder })
    again.goLive()
    again.recorder.change([configured('BTC')])
    again.recorder.change([configured('ETH'), configured('BTC')])
    again.commit({ changes: [{ ...BID, amount: 5 }] })
    await again.recorder.stop()
    const names = ['2026-11-23T13-2.recording', '2026-11-23T13-3.recording', '2026-11-23T13.recording']
    expect(readdirSync(folder).sort()).toEqual(names)
    const { header, entries } = await read(join(folder, names[1] as string))
    expect(header.markets.map(({ definition }) => definition.symbol)).toEqual(['ETHUSD', 'BTCUSD'])
    expect(entries.filter(({ market }) => market === 1).map(({ commit: made }) => made?.version)).toEqual([1, 2])
  })

  it('the service recorder removes its own files when they expire, and nothing else', async () => {
    const folder = join(root, 'expiring')
    mkdirSync(join(folder, '2026-11-23T08.recording'), { recursive: true })
    const kept = ['2026-11-23T11.recording', '2026-11-23T09.recording.gz', '2026-11-23T9.recording', 'notes.recording']
    const expired = ['2026-11-23T10.recording', '2026-11-23T10-2.recording', '2026-11-22T23.recording']
    for (const name of [...kept, ...expired]) writeFileSync(join(folder, name), '')
    const { recorder, clock } = startRecorder({ folder, startMilliseconds: START - 59 * 60_000 })
    const left = [...kept, '2026-11-23T08.recording', '2026-11-23T13.recording']
    await expect.poll(() => readdirSync(folder).sort()).toEqual(left.sort())
    clock.advance(HOUR)
    await until(() => !readdirSync(folder).includes('2026-11-23T11.recording'))
    await recorder.stop()
  })

  it('the service recorder continues without a disk, tries again, and names the missing time', async () => {
    let isFull = false
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    const createFile: typeof createRecordingFile = async (folder, at) => {
      if (isFull) throw full
      const { path, file } = await createRecordingFile(folder, at)
      const write = ((bytes: Buffer, offset: number, length: number, position: number) =>
        isFull ? Promise.reject(full) : file.write(bytes, offset, length, position)) as FileHandle['write']
      const limited = { write, truncate: file.truncate.bind(file), sync: file.sync.bind(file) }
      return { path, file: Object.assign(Object.create(file) as FileHandle, limited, { close: () => file.close() }) }
    }
    const { folder, clock, recorder, commit, goLive, metric, lines } = startRecorder({ createFile })
    goLive()
    clock.advance(1_000)
    await recorder.flush()
    isFull = true
    clock.advance(5_000)
    commit({ changes: [{ ...BID, amount: 5 }] })
    clock.advance(1_000)
    await until(() => lines().some(({ msg }) => msg === 'recording stopped. The stream continues'))
    expect([await metric('tidegate_recording_stops_total'), lines().length]).toEqual([1, 1])
    await recorder.flush()
    clock.advance(30_000)
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(30_000)
    expect(await metric('tidegate_recording_gap_seconds')).toBeGreaterThanOrEqual(60)
    commit({ changes: [{ ...BID, amount: 6 }] })
    isFull = false
    await until(() => {
      clock.advance(1_000)
      return lines().some(({ msg }) => msg === 'recording continues after a gap')
    })
    expect([await metric('tidegate_recording_gap_seconds'), await metric('tidegate_recording_stops_total')]).toEqual([
      0, 1,
    ])
    await recorder.stop()
    const [earlier, later] = readdirSync(folder).sort()
    const before = await read(join(folder, earlier as string))
    const after = await read(join(folder, later as string))
    expect(before.lastMilliseconds).toBe(START + 1_000)
    expect(after.header.gap).toEqual({
      fromMilliseconds: START + 1_000,
      toMilliseconds: after.header.startedAtMilliseconds,
      reason: full.message,
    })
    const state = new RecordedState('')
    for (const entry of after.entries) state.follow(entry)
    expect([state.levels()[0], state.commit?.version]).toEqual([{ ...BID, amount: 6 }, 3])
  })

  it('the service recorder cannot be held up by a disk that does not answer', async () => {
    const createFile = (): Promise<never> => new Promise(() => undefined)
    const { recorder, clock, commit, goLive, lines } = startRecorder({ createFile })
    goLive()
    clock.advance(HOUR)
    commit({ changes: [{ ...BID, amount: 5 }] })
    clock.advance(HOUR)
    expect(lines().map(({ msg }) => msg)).toEqual(['recording stopped. The stream continues'])
    const stopped = recorder.stop()
    clock.advance(5_000)
    await stopped
    expect(lines().at(-1)?.msg).toBe('the recording was not completely on disk at the stop')
  })
})

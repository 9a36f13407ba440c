/** A service's recordings after crashes, restarts and changes of the markets: past books and exports. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { MarketEvent } from '../../../src/streaming/market/event.ts'
import { exportRecordings } from '../../../src/streaming/recordings/export/exporter.ts'
import { readPastBook } from '../../../src/streaming/recordings/past-book.ts'
import { RecordingError } from '../../../src/streaming/recordings/recording.ts'
import { listRecordings } from '../../../src/streaming/recordings/recording-folder.ts'
import { HEADER, RECORDING_START, recordedMarket, writeRecording } from '../../support/recording-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-folder-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const bookOf = (amount: number): MarketEvent => ({ type: 'snapshot', levels: [{ side: 0, price: 100, amount }] })

/** Writes a recording of markets, whose first book has the file's number as its amount. */
async function record(
  name: string,
  number: number,
  fromSeconds: number,
  toSeconds: number,
  bases = ['BTC', 'ETH'],
  priceDecimals = 2,
) {
  const header = { ...HEADER, markets: bases.map((base) => recordedMarket(base, priceDecimals)) }
  const at = (seconds: number) => RECORDING_START + seconds * 1_000
  const entries = (seconds: number, events: readonly MarketEvent[]) =>
    bases.map((_, market) => ({ market, atMilliseconds: at(seconds), events }))
  const blocks = [
    { isKeyframe: true, entries: entries(fromSeconds, [bookOf(number)]) },
    { entries: entries(toSeconds, [{ type: 'update', changes: [], executions: [{ price: 100, amount: 1 }] }]) },
  ]
  await writeRecording(join(folder, `2026-06-01T${name}.recording`), blocks, header)
}

/** The amount of the best bid at a time. */
async function amountAt(seconds: number): Promise<unknown> {
  const milliseconds = RECORDING_START + seconds * 1_000
  const past = await readPastBook({
    folder,
    symbol: 'BTCUSD',
    milliseconds,
    nanoseconds: 0,
    depth: 1,
    executionsMax: 0,
  })
  return past.kind === 'found' ? past.levels[0]?.amount : past
}

async function exported(toMilliseconds = Number.POSITIVE_INFINITY) {
  const paths = (await listRecordings(folder)).map(({ path }) => path)
  const result = await exportRecordings({
    paths,
    format: 'csv',
    layout: 'tidegate',
    exchange: 'tidegate',
    isZipped: false,
    folder,
    symbol: undefined,
    fromMilliseconds: Number.NEGATIVE_INFINITY,
    toMilliseconds,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  })
  const losses = (symbol: string) =>
    result.files
      .filter(({ table, market }) => table === 'losses' && market === symbol)
      .flatMap(({ file }) => readFileSync(file, 'utf8').trimEnd().split('\n').slice(1))
      .map((line) => {
        const [, , from, until, kind] = line.split(',')
        return [kind, ...[from, until].map((time) => Number(time) / 1_000_000 - RECORDING_START / 1_000)]
      })
  return { ...result, losses }
}

it.each([
  ['no byte', ''],
  ['zeros', '\0'.repeat(4_096)],
  ['half a header', 'tidegate recording 1\n\0\0'],
])('a folder of recordings can be read when a power loss left a file with %s', async (_, text) => {
  await record('00', 1, 0, 60)
  writeFileSync(join(folder, '2026-06-01T00-2.recording'), text)
  await record('00-3', 3, 120, 180)
  expect([await amountAt(30), await amountAt(150)]).toEqual([1, 3])
  expect(await amountAt(90)).toMatchObject({ kind: 'not-recorded', beforeMilliseconds: RECORDING_START + 60_000 })
  const { gaps, losses } = await exported()
  expect(losses('BTCUSD')).toEqual([
    ['live', 0, expect.any(Number)],
    ['not_recorded', 60, 120],
  ])
  expect(gaps).toHaveLength(1)
  rmSync(join(folder, '2026-06-01T00.recording'))
  rmSync(join(folder, '2026-06-01T00-3.recording'))
  // Alone, it is named.
  await expect(exported()).rejects.toThrow(RecordingError)
})

it('a past book is found in an hour with any number of restarts', async () => {
  for (let number = 1; number <= 20; number++) {
    await record(number === 1 ? '00' : `00-${number}`, number, number * 60, number * 60 + 50)
  }
  expect([await amountAt(70), await amountAt(130), await amountAt(1_230)]).toEqual([1, 2, 20])
})

it('the export reports the time in which a market was not among the recorded ones', async () => {
  await record('00', 1, 0, 3_600)
  await record('01', 2, 3_600, 7_200, ['ETH'])
  await record('02', 3, 7_200, 10_800, ['ETH'])
  await record('03', 4, 10_800, 14_400)
  await record('04', 5, 14_400, 18_000, ['BTC'])
  const { gaps, losses } = await exported()
  expect(losses('BTCUSD')).toEqual([
    ['live', 0, expect.any(Number)],
    ['not_recorded', 3_600, 7_200],
    ['not_recorded', 7_200, 10_800],
  ])
  expect(losses('ETHUSD').slice(1)).toEqual([['not_recorded', 14_400, 18_000]])
  expect(gaps.map(({ from, to, reason }) => [from.slice(11, 16), to.slice(11, 16), reason])).toEqual([
    ['01:00', '03:00', 'BTCUSD was not among the recorded markets'],
    ['04:00', '05:00', 'ETHUSD was not among the recorded markets'],
  ])
})

it('the export ends before recordings in which a market has other decimals', async () => {
  await record('00', 1, 0, 3_600)
  await record('01', 2, 3_660, 7_200, ['BTC', 'ETH'], 3)
  await expect(exported()).rejects.toThrow('01.recording has different decimals for BTCUSD')
  const { gaps, losses } = await exported(RECORDING_START + 3_630_000)
  expect(losses('BTCUSD')).toEqual([
    ['live', 0, expect.any(Number)],
    ['not_recorded', 3_600, 3_630],
  ])
  expect(gaps.map(({ reason }) => reason)).toEqual(['no recorder was running'])
})

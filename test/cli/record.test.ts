/** `tidegate record` on the simulator: with the test's own clock, and once as a process that is killed. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { registerRecord } from '../../src/cli/record.ts'
import { Book } from '../../src/streaming/market/book.ts'
import { RecordedState } from '../../src/streaming/recordings/recorded-state.ts'
import { startCommand } from '../support/command-line.ts'
import { type CommandRunOptions, runCommand } from '../support/command-run.ts'
import { readEntries, recordingFolder } from '../support/recording-file.ts'
import { ensureBuilt } from '../support/running-service.ts'
import { SIMULATED_ARGS } from '../support/simulated-markets.ts'

const folder = recordingFolder()
afterAll(() => folder.remove())

/** Reached only if the test hangs. */
const PATIENCE = { timeout: 45_000 }

/** Starts the verb and waits until it records. */
async function startRecording(path: string, args: readonly string[] = [], options?: CommandRunOptions) {
  const run = runCommand(registerRecord, ['record', path, '--log.level', 'silent', ...SIMULATED_ARGS, ...args], options)
  await vi.waitFor(() => expect(existsSync(path)).toBe(true), PATIENCE)
  await vi.waitFor(() => expect(run.clock.isDueIn(60_000)).toBe(true), PATIENCE)
  return run
}

describe('record', () => {
  it('record without a market has nothing to record, and writes no file', async () => {
    const path = folder.next()
    const run = runCommand(registerRecord, ['record', path, '--log.level', 'silent'])
    expect(await run.ended).toEqual({ exitCode: 1, error: 'markets is empty: there is nothing to record' })
    expect(existsSync(path)).toBe(false)
  })

  it('record records for the given duration, and reports what it recorded', async () => {
    const path = folder.next()
    const run = await startRecording(path, ['--duration', '3m', '--simulator.rate', '20', '--json'])
    // A keyframe per minute, a block per second.
    for (let second = 0; second < 180; second++) {
      run.clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
    const summary = JSON.parse(run.stdout.text) as Record<string, unknown>
    const entries = await readEntries(path)
    expect(summary).toEqual({
      file: path,
      seconds: 180,
      entries: entries.length,
      bytes: readFileSync(path).length,
      markets: ['BTCUSD', 'ETHUSD', 'SOLUSD'],
      lost: [],
    })
    expect(entries.length).toBeGreaterThan(180)
  })

  it('record ends at a signal, with everything recorded up to it', async () => {
    const path = folder.next()
    const run = await startRecording(path, ['--simulator.rate', '500'])
    run.clock.advance(500)
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
    const entries = await readEntries(path)
    expect(run.stdout.text).toMatch(new RegExp(`^${path}: 0.5 s, ${entries.length} entries, [0-9.]+ (kB|bytes)\n$`))
    expect(entries.length).toBeGreaterThan(30)
  })

  it('record shows its progress on a terminal, and which market is lost', async () => {
    const path = folder.next()
    const markets = JSON.stringify([
      {
        symbol: 'BTCUSD',
        base_asset: 'BTC',
        quote_asset: 'USD',
        price_decimals: 2,
        amount_decimals: 8,
        depth: 10,
        sources: ['replay:/nowhere/at.all'],
      },
    ])
    const run = await startRecording(path, ['--markets', markets], { terminal: { columns: 80, rows: 24 } })
    await vi.waitFor(() => {
      run.clock.advance(2_000)
      expect(run.stderr.text).toContain('1 entries')
    }, PATIENCE)
    expect(run.stderr.text).toMatch(
      /[0-9]+ s, 1 entries \([0-9]+\/s\), [0-9]+ bytes, BTCUSD lost: the recording \/nowhere\/at\.all cannot be opened: ENOENT/,
    )
    run.interrupt()
    await run.ended
    expect(run.stdout.text).toContain('BTCUSD was not live at the end: the recording /nowhere/at.all')
  })

  it('record leaves an existing file unchanged unless --force is given', async () => {
    const path = folder.next()
    writeFileSync(path, 'precious')
    const run = runCommand(registerRecord, ['record', path, '--log.level', 'silent', ...SIMULATED_ARGS])
    expect(await run.ended).toEqual({ exitCode: 1, error: `${path} already exists` })
    expect(readFileSync(path, 'utf8')).toBe('precious')
    const forced = await startRecording(path, ['--force'])
    forced.interrupt()
    expect(await forced.ended).toEqual({ exitCode: 0, error: '' })
    // Commits without changes, as of the state of an instrument, have a version and are recorded.
    const events = (await readEntries(path)).flatMap((entry) => entry.events)
    expect(events.filter((event) => event.type !== 'update' || event.changes.length > 0)).toEqual([])
  })

  it('record fails on a full disk', async () => {
    const run = runCommand(registerRecord, [
      'record',
      '/dev/full',
      '--force',
      '--log.level',
      'silent',
      ...SIMULATED_ARGS,
    ])
    expect((await run.ended).error).toMatch(/^ENOSPC/)
  })

  it('record reports a file that could not be completed at its end, and exits with 1', async () => {
    const path = folder.next()
    const run = await startRecording(path, ['--json'])
    const file = await open(path)
    const sync = vi.spyOn(Object.getPrototypeOf(file) as typeof file, 'sync')
    await file.close()
    sync.mockRejectedValue(new Error('EIO: i/o error, fsync'))
    try {
      run.interrupt()
      const error = 'the recording has ended early: EIO: i/o error, fsync'
      expect(await run.ended).toEqual({ exitCode: 1, error })
    } finally {
      vi.restoreAllMocks()
    }
    expect(JSON.parse(run.stdout.text)).toMatchObject({ file: path, problem: 'EIO: i/o error, fsync' })
  })

  it.each(['0', '10', '1.5m', 'soon', '-1s'])('record accepts a duration of whole units only: %s', async (duration) => {
    const run = runCommand(registerRecord, ['record', folder.next(), '--duration', duration, '--log.level', 'nonsense'])
    const { error } = await run.ended
    // A valid duration gets as far as the next error.
    expect(error).toContain(duration === '10' ? 'log.level' : 'must be a time like 90s, 10m, 2h or 1d')
  })
})

describe('a recorder that is killed', () => {
  beforeAll(ensureBuilt)

  it('a recorder that is killed leaves a file whose books are correct', async () => {
    const path = folder.next()
    const command = startCommand(
      ['record', path, '--simulator.rate', '500', '--log.level', 'error', ...SIMULATED_ARGS],
      { isBuilt: true },
    )
    await vi.waitFor(async () => expect((await readEntries(path)).length).toBeGreaterThan(100), {
      ...PATIENCE,
      interval: 100,
    })
    command.child.kill('SIGKILL')
    await command.result
    const entries = await readEntries(path)
    expect(entries.length).toBeGreaterThan(100)
    const states = [0, 1, 2].map(() => new RecordedState(''))
    for (const { market, events } of entries) {
      states[market]!.apply(events)
      const book = new Book()
      book.replace(states[market]!.levels())
      expect(book.isCrossed()).toBe(false)
    }
  })
})

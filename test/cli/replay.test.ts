/**
 * `tidegate replay` as a process: a recording of the simulator, served to a client of the documented stream, and
 * described.
 */
import { readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { registerRecord } from '../../src/cli/record.ts'
import { millisecondText } from '../../src/platform/base/clock.ts'
import { formatDecimal } from '../../src/platform/base/decimal.ts'
import { BID } from '../../src/streaming/market/event.ts'
import { RecordedState } from '../../src/streaming/recordings/recorded-state.ts'
import type { RecordedEntry } from '../../src/streaming/recordings/recording.ts'
import { type CommandResult, type RunningCommand, startCommand } from '../support/command-line.ts'
import { runCommand } from '../support/command-run.ts'
import { readEntries, recordingFolder } from '../support/recording-file.ts'
import { ensureBuilt, temporaryFolder } from '../support/running-service.ts'
import { fetchToken, SampleClient } from '../support/sample-client.ts'
import { SIMULATED_ARGS } from '../support/simulated-markets.ts'

/** The simulated markets, whose definitions the recording contains. */
const MARKETS = [
  { symbol: 'BTCUSD', price: 2, amount: 8 },
  { symbol: 'ETHUSD', price: 2, amount: 8 },
  { symbol: 'SOLUSD', price: 3, amount: 6 },
]
const SYMBOLS = MARKETS.map(({ symbol }) => symbol)
const SECONDS = 2

const files = recordingFolder()
const data = temporaryFolder()
const path = files.next()
let entries: RecordedEntry[]

beforeAll(async () => {
  ensureBuilt()
  const run = runCommand(registerRecord, [
    'record',
    path,
    '--simulator.rate',
    '300',
    '--log.level',
    'silent',
    ...SIMULATED_ARGS,
  ])
  await vi.waitFor(() => expect(run.clock.isDueIn(60_000)).toBe(true), { timeout: 45_000 })
  for (let step = 0; step < SECONDS * 1_000; step++) run.clock.advance(1)
  run.interrupt()
  await run.ended
  entries = await readEntries(path)
})

afterAll(() => {
  files.remove()
  data.remove()
})

function replay(...args: readonly string[]): RunningCommand {
  return startCommand(['replay', path, ...args], { isBuilt: true, cwd: data.path })
}

describe('replay', () => {
  it('replay serves the recorded books and executions to a client', async () => {
    // For ten seconds: at its end the books are withdrawn, and a client on a busy machine may need seconds to subscribe.
    const command = replay('--http.port', '0', '--operator.port', '0', '--speed', '0.2', '--stream.drain_seconds', '0')
    try {
      const ready = JSON.parse(await command.line((line) => line.startsWith('{'))) as { http: string; ws: string }
      const credentials = JSON.parse(readFileSync(join(data.path, 'data/demo-client.json'), 'utf8'))
      const { client_id: clientId, client_secret: clientSecret } = credentials as Record<string, string>
      const token = await fetchToken({ authUrl: ready.http, clientId: clientId!, clientSecret: clientSecret! })
      const client = await SampleClient.connect({ wsUrl: ready.ws, token })
      await client.subscribeAll(...SYMBOLS)
      await command.errorLine((line) => line.includes('recording has ended'))
      const books = MARKETS.map(({ symbol, price, amount }, index) => ({ symbol, ...finalBook(index, price, amount) }))
      await client.until('the last books', () =>
        books.every(({ symbol, bids, asks }) => {
          const book = client.book(symbol)
          return sameLevels(book.bids, bids) && sameLevels(book.asks, asks)
        }),
      )
      for (const [index, { symbol, price, amount }] of MARKETS.entries()) {
        const seen = client.executions.filter(({ market }) => market === symbol)
        const recorded = executionsOf(index, price, amount)
        expect(seen.map((each) => `${each.price} ${each.amount} ${each.executed_at}`)).toEqual(
          recorded.slice(recorded.length - seen.length),
        )
      }
      expect(client.problems).toEqual([])
      await client.close()
    } finally {
      command.child.kill('SIGTERM')
      expect((await command.result).code).toBe(0)
    }
  })

  it('replay describes a file, including a torn end', async () => {
    const whole = await described(replay('--info', '--json').result)
    const counts = SYMBOLS.map((market, index) => ({
      market,
      sources: ['simulator'],
      entries: entries.filter((entry) => entry.market === index).length,
      executions: executionsOf(index, 0, 0).length,
      losses: 0,
    }))
    expect(whole).toMatchObject({ file: path, format: 1, entries: entries.length, torn_bytes: 0, damage: [] })
    expect(whole.recorded).toEqual(counts)
    expect(whole.markets).toMatchObject(SYMBOLS.map((symbol) => ({ symbol, sources: [`replay:${path}`] })))
    const bytes = readFileSync(path).length
    truncateSync(path, bytes - 1)
    const torn = await described(replay('--info', '--json').result)
    expect(torn.entries).toBeLessThan(entries.length)
    expect(torn.torn_bytes).toBeGreaterThan(0)
    const text = await replay('--info').result
    expect(text.stdout).toContain(`torn end    ${torn.torn_bytes} bytes`)
    expect(text.stdout).toContain('The configuration for its replay:\nmarkets:\n  - {"symbol":"BTCUSD"')
  })

  it('replay reports a file or position that it cannot start from', async () => {
    const [other, late, odd, local] = await Promise.all([
      startCommand(['replay', join(data.path, 'data/demo-client.json')], { isBuilt: true }).result,
      replay('--from', '60').result,
      replay('--from', 'yesterday').result,
      replay('--from', '2026-01-01T00:00:00').result,
    ])
    expect(other!.stderr).toMatch(/demo-client\.json is not a recording\n$/)
    expect(late!.stderr).toMatch(/^tidegate: --from is 60, but the recording contains .*Z to .*Z\n$/)
    expect(odd!.stderr).toBe('tidegate: --from is yesterday, neither a time nor a number of seconds\n')
    expect(local!.stderr).toBe('tidegate: --from is 2026-01-01T00:00:00, neither a time nor a number of seconds\n')
    expect([other!.code, late!.code, odd!.code, local!.code]).toEqual([1, 1, 1, 1])
  })
})

async function described(result: Promise<CommandResult>) {
  const { stdout, stderr } = await result
  expect(stderr).toBe('')
  return JSON.parse(stdout) as Record<string, unknown> & { readonly entries: number; readonly torn_bytes: number }
}

function finalBook(market: number, priceDecimals: number, amountDecimals: number) {
  const state = new RecordedState('')
  for (const entry of entries) if (entry.market === market) state.apply(entry.events)
  const sides = [new Map<string, string>(), new Map<string, string>()] as const
  for (const { side, price, amount } of state.levels()) {
    sides[side].set(formatDecimal(price, priceDecimals), formatDecimal(amount, amountDecimals))
  }
  return { bids: sides[BID], asks: sides[1] }
}

function executionsOf(market: number, priceDecimals: number, amountDecimals: number): string[] {
  return entries
    .flatMap((entry) => (entry.market === market ? entry.events : []))
    .flatMap((event) => (event.type === 'update' ? event.executions : []))
    .map(({ price, amount, executedAtMilliseconds }) =>
      [
        formatDecimal(price, priceDecimals),
        formatDecimal(amount, amountDecimals),
        millisecondText(executedAtMilliseconds ?? 0),
      ].join(' '),
    )
}

function sameLevels(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): boolean {
  return left.size === right.size && [...left].every(([price, amount]) => right.get(price) === amount)
}

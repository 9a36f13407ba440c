/**
 * The whole service from outside: the built program with one simulated market (`simulator.rate` 1000), and 1,000
 * connections that read its book. Measured is the processor time of a delivery, everything included, and what the
 * service takes without connections. The references write messages of the same length at the same rate in the same
 * round: a C program that writes finished frames, Node's sockets alone, and a naive `ws` server.
 */
import { measure as measureServer, pause, readerLine } from './fanout-measure.ts'
import {
  type Peer,
  prepareTools,
  startLimit,
  startNaive,
  startNodeSockets,
  startReader,
  type Tools,
} from './fanout-processes.ts'
import { BASE, CONNECTIONS, Runs } from './fanout-scenarios.ts'
import { secondsOf } from './process-time.ts'
import type { BenchResult } from './result.ts'
import { newCustomerToken, type Program, withProgram } from './served-program.ts'

const MARKET = { symbol: 'BTCUSD', base_asset: 'BTC', quote_asset: 'USD', price_decimals: 2, amount_decimals: 8 }
const FLAGS = {
  markets: JSON.stringify([{ ...MARKET, depth: 1_000, sources: ['simulator'] }]),
  'simulator.allowed': 'true',
  'simulator.rate': '1000',
}
const STREAM_SCOPE = 'exchange:read_aggregated_marketdata_stream'
/** By then the measured programs have compiled what they use. */
const WARM_UP_MILLISECONDS = 10_000
const UNIT = 'µs per delivery'

interface Delivered {
  readonly bytes: number
  readonly periodMicroseconds: number
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const [rounds, milliseconds] = quick ? [1, 5_000] : [3, 10_000]
  const runs = new Runs()
  const tools = prepareTools()
  try {
    for (let round = 0; round < rounds; round++) {
      const delivered = await withProgram(FLAGS, (program) => measureService(program, tools, milliseconds, runs))
      await measureReferences(tools, delivered, milliseconds, runs)
    }
  } finally {
    tools.remove()
  }
  return [...runs.results.values()]
}

async function measureService(program: Program, tools: Tools, milliseconds: number, runs: Runs): Promise<Delivered> {
  const { token } = await newCustomerToken(program, [STREAM_SCOPE])
  const subscribe = { type: 'subscribe', channels: [{ type: 'market_data', params: { market: MARKET.symbol } }] }
  const lines = Array.from({ length: CONNECTIONS }, () => `0\t/\t${JSON.stringify(subscribe)}\t${token}`)
  await pause(WARM_UP_MILLISECONDS)
  const alone = await share(program.pid, () => pause(milliseconds))
  runs.add('the service without connections', '% of a core', 100 * alone.share)
  const reader = await startReader(tools, Number(new URL(program.ws).port), lines)
  try {
    // The reply and the SNAPSHOT.
    await reader.ask('subscribe 1000 2')
    await pause(WARM_UP_MILLISECONDS)
    const { answer, seconds, share: used } = await share(program.pid, () => reader.ask(`measure ${milliseconds} 0`))
    const messages = answer.messages as number
    const bytes = Math.round((answer.bytes as number) / messages)
    const perSecond = messages / CONNECTIONS / (answer.seconds as number)
    runs.add('messages to each connection', '/s', perSecond)
    runs.add('bytes of a message', '', bytes)
    runs.add('tidegate, everything included', UNIT, (1_000_000 * seconds) / messages, 'naive ws')
    runs.add('the service with connections', '% of a core', 100 * used)
    return { bytes, periodMicroseconds: Math.round(1_000_000 / perSecond) }
  } finally {
    await reader.end()
  }
}

async function measureReferences(tools: Tools, delivered: Delivered, milliseconds: number, runs: Runs): Promise<void> {
  const { bytes, periodMicroseconds } = delivered
  const references: readonly (readonly [name: string, start: () => Peer])[] = [
    ...(tools.limit === undefined ? [] : [['limit', () => startLimit(tools.limit as string, [bytes, 1])] as const]),
    ["Node's sockets alone", () => startNodeSockets([String(bytes)])],
    ['naive ws', () => startNaive(1, bytes)],
  ]
  for (const [name, start] of references) {
    const { perCpuSecond } = await measureServer(tools, WARM_UP_MILLISECONDS / 2, {
      server: start(),
      setup: BASE,
      lines: Array.from({ length: CONNECTIONS }, () => readerLine([0])),
      greeting: 0,
      command: `paced 1 ${periodMicroseconds}`,
      milliseconds,
    })
    runs.add(name, UNIT, 1_000_000 / perCpuSecond)
  }
}

/** A process's time during some work: seconds, and share of a core. */
async function share<Answer>(pid: number, work: () => Promise<Answer>) {
  const [begin, before] = [performance.now(), secondsOf(pid)]
  const answer = await work()
  const seconds = secondsOf(pid) - before
  return { answer, seconds, share: (1_000 * seconds) / (performance.now() - begin) }
}

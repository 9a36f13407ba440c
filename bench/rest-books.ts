/**
 * REST books at 1,000 and 5,000 requests per second, half of them with the entity tag of the last answer: the delay of
 * answers, the program's processor time, and the stream's delay beside them and without them, alternately. The book
 * changes 200 times per second. The highest rate is measured in the same rounds, with few and with many connections.
 * Engine, subscriber and callers are one other process on the same machine. The callers' thread has a lower priority
 * there: without it the subscriber would wait for a processor too.
 */
import { constants, setPriority } from 'node:os'
import { startThread } from '../src/platform/base/thread.ts'
import { HttpLoad, type LoadAnswer, type LoadRequest } from './http-load.ts'
import { secondsOf } from './process-time.ts'
import { MARKET, MARKET_FLAGS, newEngineAccess, untilLive } from './publishing-engine.ts'
import type { BenchResult } from './result.ts'
import { newCustomerToken, type Program, withProgram } from './served-program.ts'
import type { StreamThreadStart } from './stream-delays-thread.ts'

const RATES = [1_000, 5_000]
const CONNECTIONS = 64
const CONNECTIONS_MANY = 512
const DEPTHS = [1, 10, 100]
const STREAM_SCOPE = 'exchange:read_aggregated_marketdata_stream'

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const flags = { ...MARKET_FLAGS, 'rest.rate_per_second': '100000' }
  return await withProgram(flags, async (program) => {
    const results = await measure(
      program,
      quick ? { rounds: 1, milliseconds: 3_000 } : { rounds: 4, milliseconds: 8_000 },
    )
    await program.stop()
    return results
  })
}

async function measure(
  program: Program,
  { rounds, milliseconds }: { readonly rounds: number; readonly milliseconds: number },
): Promise<BenchResult[]> {
  const { token } = await newCustomerToken(program, [STREAM_SCOPE])
  const workerData: StreamThreadStart = { engine: await newEngineAccess(program), ws: program.ws, token }
  const thread = startThread('./stream-delays-thread', import.meta.url, { workerData })
  const takeDelays = () =>
    new Promise<Float64Array>((resolve) => {
      thread.once('message', resolve)
      thread.postMessage('take')
    })
  await untilLive(program)
  const requests = new BookRequests((await newCustomerToken(program, ['exchange:read_marketdata'])).token)
  const rows = new Map<string, BenchResult>()
  const arms = armsOf(program, requests, milliseconds)
  setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
  let idleShare = 0
  // The first round is a warm-up.
  for (let round = 0; round <= rounds; round++) {
    const order = Object.entries(arms)
    for (const [how, work] of round % 2 === 0 ? order : order.toReversed()) {
      await takeDelays()
      requests.take()
      const [start, used] = [performance.now(), secondsOf(program.pid)]
      await work()
      const seconds = (performance.now() - start) / 1_000
      const processor = ((secondsOf(program.pid) - used) / seconds) * 100
      const stream = await takeDelays()
      const { delays, unchanged } = requests.take()
      const figures: [what: string, unit: string, value: number][] = [
        ['the stream’s p50', 'ms', share(stream, 0.5)],
        ['the stream’s p99', 'ms', share(stream, 0.99)],
        ['the program', '% of a core', processor],
      ]
      if (delays.length > 0) {
        figures.push(['answers', '/s', delays.length / seconds], ['304', '%', (unchanged * 100) / delays.length])
        figures.push(['p50', 'ms', share(delays, 0.5)], ['p99', 'ms', share(delays, 0.99)])
        // 1 % of a core is 10 ms per second.
        const perRequest = ((processor - idleShare) * 10_000 * seconds) / delays.length
        figures.push(['the program, per request', 'µs', perRequest])
      } else idleShare = processor
      for (const [what, unit, value] of figures) {
        process.stderr.write(`${how}: ${what} ${value.toFixed(2)} ${unit}\n`)
        if (round > 0) rowOf(rows, `${how}: ${what}`, unit).runs.push(value)
      }
    }
  }
  await thread.terminate()
  return [...rows.values()]
}

/** What is done in each round, by its name. */
function armsOf(
  program: Program,
  requests: BookRequests,
  milliseconds: number,
): Record<string, () => Promise<unknown>> {
  // The service closes connections that send nothing.
  const loaded = async (connections: number, work: (load: HttpLoad) => Promise<void>) => {
    const load = await HttpLoad.open(program.http, connections)
    await work(load)
    load.close()
  }
  const arms: Record<string, () => Promise<unknown>> = {
    'without requests': () => new Promise((resolve) => setTimeout(resolve, milliseconds / 2)),
  }
  for (const rate of RATES) {
    arms[`${rate} requests/s`] = () => loaded(CONNECTIONS, (load) => load.atRate(rate, milliseconds, requests.next))
  }
  for (const connections of [CONNECTIONS, CONNECTIONS_MANY]) {
    arms[`as many as possible, ${connections} connections`] = () =>
      loaded(connections, (load) => requests.saturate(load, milliseconds / 2))
  }
  return arms
}

function rowOf(rows: Map<string, BenchResult>, name: string, unit: string): BenchResult {
  const row = rows.get(name) ?? { name, unit, runs: [] }
  rows.set(name, row)
  return row
}

function share(sorted: Float64Array, part: number): number {
  return sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN
}

/** Requests for the book at several depths in turn; every second one has the tag of the last answer. */
class BookRequests {
  readonly #authorization: string
  readonly #tags = new Map<number, string>()
  #delays: number[] = []
  #unchanged = 0
  #number = 0

  constructor(token: string) {
    this.#authorization = `Bearer ${token}`
  }

  readonly next = (): LoadRequest => {
    const number = this.#number++
    const depth = DEPTHS[(number >> 1) % DEPTHS.length] as number
    const tag = number % 2 === 0 ? undefined : this.#tags.get(depth)
    return {
      path: `/v2/markets/${MARKET.symbol}/order-book?depth=${depth}`,
      headers: { authorization: this.#authorization, ...(tag === undefined ? {} : { 'if-none-match': tag }) },
      onAnswer: (answer) => this.#take(depth, answer),
    }
  }

  /** Answers since the last call. */
  take(): { readonly delays: Float64Array; readonly unchanged: number } {
    const taken = { delays: Float64Array.from(this.#delays).sort(), unchanged: this.#unchanged }
    this.#delays = []
    this.#unchanged = 0
    return taken
  }

  /** Every connection sends its next request when the last is answered. */
  async saturate(load: HttpLoad, milliseconds: number): Promise<void> {
    const end = performance.now() + milliseconds
    await load.always(() => (performance.now() < end ? this.next() : undefined))
  }

  #take(depth: number, { status, etag, milliseconds }: LoadAnswer): void {
    if (status !== 200 && status !== 304) throw new Error(`a book was answered ${status}`)
    if (status === 304) this.#unchanged++
    if (etag !== undefined) this.#tags.set(depth, etag)
    this.#delays.push(milliseconds)
  }
}

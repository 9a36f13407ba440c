/**
 * Readers that stop reading their sockets while the markets go on: once the kernel takes no more for them, at least 8 MB
 * pass, as another reader counts them. Then they read on, are not closed, have every book they are told of exactly as it
 * was, and every execution that the service still keeps; where it keeps too few, they are told so with 4000.
 */
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { RecordedStreamJudge } from '../support/recorded-stream-judge.ts'
import {
  market,
  newToken,
  type ServiceInside,
  startServiceInside,
  temporaryFolder,
} from '../support/running-service.ts'
import { SampleClient } from '../support/sample-client.ts'

const MEGABYTE = 1_000_000
/** Of book and top messages alone. */
const PASSED_BYTES = (process.env.TIDEGATE_LONG === '1' ? 100 : 8) * MEGABYTE
const OUTBOX_BYTES_MAX = 262_144
/** More than the fan-out of one turn, an execution slice or a fragment: what one write may go over the mark by. */
const WRITE_BYTES_MAX = 1_048_576
const PASSING_MILLISECONDS_MAX = 200_000

/** Each beats by itself: fourteen at a moderate rate make more bytes than a few at a high one, whose bursts merge. */
const MANY = 'BTC ETH SOL LTC XLM BCH DOGE ADA DOT LINK AVAX UNI ATOM NEAR'.split(' ')

const folder = temporaryFolder()
let service: ServiceInside | undefined

afterEach(async () => {
  await service?.stop()
  service = undefined
})

afterAll(() => folder.remove())

interface Reader {
  readonly client: SampleClient
  readonly judge: RecordedStreamJudge
}

describe('a reader that pauses', () => {
  it(`while ${PASSED_BYTES / MEGABYTE} MB pass gets far fewer messages, exact books and every execution, and costs no memory`, async () => {
    const symbols = MANY.map((base) => market(base, 2, 0))
    service = await startServiceInside(folder.path, symbols, {
      'simulator.rate': 2_000,
      'simulator.seed': 7,
      'stream.outbox_bytes_max': OUTBOX_BYTES_MAX,
      'stream.executions_kept': 5_000_000,
    })
    const names = symbols.map(({ symbol }) => symbol)
    const going = await connect(service, names, false)
    const pausedBooks = await connect(service, names, false)
    const pausedAll = await connect(service, names, true)
    const paused = [pausedBooks, pausedAll]

    for (const { client } of paused) client.pause()
    const atPause = messagesOf(paused)
    // How much the kernel takes until then is not the same on any two machines.
    await untilBehind(service, going.client, paused.length)
    const commitsAtBehind = commitsOf(service, names)
    const queue = await passBytes(service, going.client, PASSED_BYTES)
    expect(messagesOf(paused)).toEqual(atPause)
    const commitsWhileBehind = commitsOf(service, names) - commitsAtBehind
    const behind = await service.operator.metric('tidegate_connections_behind')
    const atResume = targetsOf(service, names)
    for (const { client } of paused) client.resume()
    for (const reader of paused) await untilCaughtUp(reader, atResume)

    const mergedCommits = paused.map(({ judge }) => judge.mergedCommits)
    const { bytes } = going.client.counts
    console.log(JSON.stringify({ bytes, commitsWhileBehind, mergedCommits, queueBytesMax: queue.bytesMax }))
    for (const { client, judge } of [going, ...paused]) {
      judge.compareWhole(client)
      expect(client.problems).toEqual([])
      expect(judge.problems).toEqual([])
      expect(client.closed).toBeUndefined()
    }
    expect(service.record.problems).toEqual([])
    expect(commitsWhileBehind).toBeGreaterThan(1_000)
    for (const merged of mergedCommits) expect(merged).toBeGreaterThan(0.9 * commitsWhileBehind)
    expect(behind).toBeGreaterThanOrEqual(2)
    expect(queue.looks).toBeGreaterThan(5)
    expect(queue.bytesMax).toBeLessThan(3 * (OUTBOX_BYTES_MAX + WRITE_BYTES_MAX))
  }, 300_000)

  it('is closed with 4000 when executions it missed are kept no more, and only then', async () => {
    const symbols = ['BTC', 'ETH', 'SOL', 'LTC'].map((base) => market(base, 2, 0))
    // A fraction of a second's: more than a reader misses that is only a little behind.
    const kept = 500
    service = await startServiceInside(folder.path, symbols, {
      'simulator.rate': 8_000,
      'simulator.seed': 8,
      'stream.outbox_bytes_max': OUTBOX_BYTES_MAX,
      'stream.executions_kept': kept,
    })
    const names = symbols.map(({ symbol }) => symbol)
    const going = await connect(service, names, false)
    const pausedBooks = await connect(service, names, false)
    const pausedAll = await connect(service, names, true)
    const paused = [pausedBooks, pausedAll]

    for (const { client } of paused) client.pause()
    await untilBehind(service, going.client, paused.length)
    const fallen = names.map((symbol) => countOf(symbol) + 2 * kept)
    await going.client.until(
      'executions that are kept no more',
      () => names.every((symbol, index) => countOf(symbol) > (fallen[index] as number)),
      PASSING_MILLISECONDS_MAX,
    )
    const atResume = targetsOf(service, names)
    for (const { client } of paused) client.resume()
    await pausedAll.client.untilClosed()
    expect(pausedAll.client.closed).toEqual({ code: 4000, reason: 'execution stream has a gap' })
    await untilCaughtUp(pausedBooks, { ...atResume, executions: undefined })
    expect(pausedBooks.client.closed).toBeUndefined()
    for (const { client, judge } of [going, ...paused]) {
      judge.compareWhole(client)
      expect(client.problems).toEqual([])
      expect(judge.problems).toEqual([])
    }

    function countOf(symbol: string): number {
      return (service as ServiceInside).record.market(symbol).executionCount
    }
  }, 300_000)
})

/** A client with every book and top, and executions too if wanted, that has its first SNAPSHOTs. */
async function connect(running: ServiceInside, symbols: readonly string[], takesExecutions: boolean): Promise<Reader> {
  const judge = new RecordedStreamJudge(running.record)
  const client = await SampleClient.connect({
    wsUrl: running.ws,
    token: await newToken(running),
    messagesKept: 1,
    executionsKept: 1,
    onMessage: judge.onMessage,
  })
  judge.subscribing()
  if (takesExecutions) {
    await client.subscribeAll(...symbols)
  } else {
    const types = ['market_data', 'market_data.top_of_book']
    await client.subscribe(...symbols.flatMap((name) => types.map((type) => ({ type, params: { market: name } }))))
  }
  await client.until('the books', () => symbols.every((symbol) => client.book(symbol).isComplete))
  return { client, judge }
}

/** Waits until so many more bytes have come to a client; meanwhile looks at the send queues at every half megabyte. */
async function passBytes(running: ServiceInside, client: SampleClient, bytes: number) {
  const queue = { looks: 0, bytesMax: 0 }
  const end = client.counts.bytes + bytes
  while (client.counts.bytes < end) {
    const next = Math.min(end, client.counts.bytes + MEGABYTE / 2)
    await client.until(`${bytes} bytes`, () => client.counts.bytes >= next, PASSING_MILLISECONDS_MAX)
    queue.looks++
    queue.bytesMax = Math.max(queue.bytesMax, await running.operator.metric('tidegate_send_queue_bytes'))
  }
  return queue
}

/**
 * Waits until so many connections are behind, or one was closed because it had been; looks whenever half a megabyte has
 * come to a client that is not.
 */
async function untilBehind(running: ServiceInside, client: SampleClient, count: number): Promise<void> {
  const end = performance.now() + PASSING_MILLISECONDS_MAX
  for (;;) {
    const text = await running.operator.metricsText()
    const behind = Number(/^tidegate_connections_behind (\d+)$/m.exec(text)?.[1])
    if (behind >= count || text.includes('tidegate_closes_total{cause="executionGap"} 1')) return
    if (performance.now() > end) throw new Error(`${behind} connections are behind, and should be ${count}`)
    const next = client.counts.bytes + MEGABYTE / 2
    await client.until('more bytes', () => client.counts.bytes >= next)
  }
}

interface Targets {
  readonly times: ReadonlyMap<string, string>
  /** Executions of each market so far; undefined for one who does not take them. */
  readonly executions: ReadonlyMap<string, number> | undefined
}

/** Where each market stands now. */
function targetsOf(running: ServiceInside, symbols: readonly string[]): Targets {
  return {
    times: new Map(symbols.map((symbol) => [symbol, running.record.market(symbol).lastTime])),
    executions: new Map(symbols.map((symbol) => [symbol, running.record.market(symbol).executionCount])),
  }
}

/** Waits until a reader has come to where the markets stood, or something was wrong on the way. */
function untilCaughtUp({ client, judge }: Reader, { times, executions }: Targets): Promise<void> {
  const takesExecutions = executions !== undefined && client.counts.executions > 0
  return client.until(
    'the present',
    () =>
      judge.problems.length > 0 ||
      ([...times].every(([symbol, time]) => client.book(symbol).time >= time) &&
        (!takesExecutions || [...executions].every(([symbol, count]) => (judge.executionsUpTo(symbol) ?? 0) >= count))),
    PASSING_MILLISECONDS_MAX,
  )
}

function messagesOf(readers: readonly Reader[]): number[] {
  return readers.map(({ client }) => client.counts.messages)
}

/** Commits of all markets so far. */
function commitsOf(running: ServiceInside, symbols: readonly string[]): number {
  return symbols.reduce((sum, symbol) => sum + running.record.market(symbol).commits.length, 0)
}

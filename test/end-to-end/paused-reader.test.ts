/**
 * Subscribers that stop reading their sockets: once the kernel buffers are full, at least 2 MB of market data pass,
 * counted by another client. Then they read again, are not closed, have the exact book at the time of every message,
 * and receive every execution that the service still keeps; where it keeps too few, they are closed with 4000.
 *
 * The size of the kernel buffers differs between machines. They are filled with long replies, which are cheap, and not
 * with market data: no test depends on their size, nor on any speed.
 */
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { note } from '../support/note.ts'
import { RecordedStreamVerifier } from '../support/recorded-stream-verifier.ts'
import { market, type ServiceInside, startServiceInside, temporaryFolder, tokenOf } from '../support/running-service.ts'
import { SampleClient } from '../support/sample-client.ts'

const isLong = process.env.TIDEGATE_LONG === '1'
const MEGABYTE = 1_000_000
/** Of book and top messages only. */
const PASSED_BYTES = (isLong ? 100 : 2) * MEGABYTE
/** Least number of commits during the pause; on a busy machine commits are fewer and larger. */
const PASSED_COMMITS = 300
const OUTBOX_BYTES_MAX = 262_144
const PASSING_MILLISECONDS_MAX = 200_000
/** Only ends a test that hangs: this much data takes minutes where many processes share a core. */
const TEST_MILLISECONDS_MAX = isLong ? 3_600_000 : 660_000
/** A request that changes nothing, with a reply of 2 MB: far more than the kernel buffers still take. */
const LONG_REQUEST = `{"type":"unsubscribe","channels":[${'{},'.repeat(21_000)}{}]}`
const REPLY_BYTES_MAX = 2_600_000
/** Limits under which such a request is answered, as often as it is needed here. */
const LONG_REQUEST_FLAGS = { 'stream.subscriptions_max': 25_000, 'stream.inbound_burst': 1_000_000 }

/**
 * Independent markets: fourteen at a moderate rate make more bytes than a few at a high one, whose bursts are
 * conflated.
 */
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
  readonly clientId: string
  readonly verifier: RecordedStreamVerifier
}

describe('a subscriber that pauses', () => {
  it(
    `a subscriber that pauses for ${PASSED_BYTES / MEGABYTE} MB gets fewer messages, exact books and every execution`,
    async () => {
      const symbols = MANY.map((base) => market(base, 2, 0))
      service = await startServiceInside(folder.path, symbols, {
        'simulator.rate': 700,
        'simulator.seed': 7,
        'stream.outbox_bytes_max': OUTBOX_BYTES_MAX,
        ...LONG_REQUEST_FLAGS,
        'stream.executions_kept': 5_000_000,
      })
      const names = symbols.map(({ symbol }) => symbol)
      const going = await connect(service, names, false)
      const pausedBooks = await connect(service, names, false)
      const pausedAll = await connect(service, names, true)
      const paused = [pausedBooks, pausedAll]

      for (const { client } of paused) client.pause()
      const atPause = messagesOf(paused)
      for (const reader of paused) await untilNothingIsTaken(service, reader, going.client)
      const commitsAtLag = commitsOf(service, names)
      const queue = await pass(service, going.client, () => commitsSince(commitsAtLag))
      expect(messagesOf(paused)).toEqual(atPause)
      const commitsWhileLagging = commitsSince(commitsAtLag)
      for (const reader of paused) expect(await connectionOf(service, reader)).toMatchObject({ behind: true })
      const atResume = targetsOf(service, names)
      for (const { client } of paused) client.resume()
      for (const reader of paused) await untilCaughtUp(reader, atResume)

      const conflatedCommits = paused.map(({ verifier }) => verifier.conflatedCommits)
      const { bytes } = going.client.counts
      note(JSON.stringify({ bytes, commitsWhileLagging, conflatedCommits, queueBytesMax: queue.bytesMax }))
      for (const { client, verifier } of [going, ...paused]) {
        verifier.compareWhole(client)
        expect(client.problems).toEqual([])
        expect(verifier.problems).toEqual([])
        expect(client.closed).toBeUndefined()
      }
      expect(service.record.problems).toEqual([])
      for (const conflated of conflatedCommits) expect(conflated).toBeGreaterThan(0.9 * commitsWhileLagging)
      // Nothing that passed was kept for them: only a version per subscription, and the reply that is partly sent.
      expect(queue.bytesMax).toBeLessThan((1 + paused.length) * (OUTBOX_BYTES_MAX + REPLY_BYTES_MAX))

      function commitsSince(before: number): number {
        return commitsOf(service as ServiceInside, names) - before
      }
    },
    TEST_MILLISECONDS_MAX,
  )

  it.runIf(isLong)(
    'a subscriber that pauses is closed with 4000 when executions that it missed are no longer kept, and only then',
    async () => {
      const symbols = ['BTC', 'ETH', 'SOL', 'LTC'].map((base) => market(base, 2, 0))
      // Those of a fraction of a second: more than a client misses that is lagging only a little.
      const kept = 500
      service = await startServiceInside(folder.path, symbols, {
        'simulator.rate': 8_000,
        'simulator.seed': 8,
        'stream.outbox_bytes_max': OUTBOX_BYTES_MAX,
        ...LONG_REQUEST_FLAGS,
        'stream.executions_kept': kept,
      })
      const names = symbols.map(({ symbol }) => symbol)
      const going = await connect(service, names, false)
      const pausedBooks = await connect(service, names, false)
      const pausedAll = await connect(service, names, true)
      const paused = [pausedBooks, pausedAll]

      for (const { client } of paused) client.pause()
      for (const reader of paused) await untilNothingIsTaken(service, reader, going.client)
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
      for (const { client, verifier } of [going, ...paused]) {
        verifier.compareWhole(client)
        expect(client.problems).toEqual([])
        expect(verifier.problems).toEqual([])
      }

      function countOf(symbol: string): number {
        return (service as ServiceInside).record.market(symbol).executionCount
      }
    },
    TEST_MILLISECONDS_MAX,
  )
})

/** A client with all books and tops, optionally with executions, that has received its first SNAPSHOTs. */
async function connect(running: ServiceInside, symbols: readonly string[], takesExecutions: boolean): Promise<Reader> {
  const verifier = new RecordedStreamVerifier(running.record)
  const customer = await running.operator.createClient()
  const client = await SampleClient.connect({
    wsUrl: running.ws,
    token: await tokenOf(running, customer),
    messagesKept: 1,
    executionsKept: 1,
    onMessage: verifier.onMessage,
  })
  verifier.subscribing()
  if (takesExecutions) {
    await client.subscribeAll(...symbols)
  } else {
    const types = ['market_data', 'market_data.top_of_book']
    await client.subscribe(...symbols.flatMap((name) => types.map((type) => ({ type, params: { market: name } }))))
  }
  await client.until('the books', () => symbols.every((symbol) => client.book(symbol).isComplete))
  return { client, verifier, clientId: customer.clientId }
}

interface ConnectionDocument {
  readonly behind: boolean
  readonly queued_bytes: number
  readonly bytes_out: number
}

/** The connection as the operator API shows it; undefined after its end. */
async function connectionOf(running: ServiceInside, { clientId }: Reader): Promise<ConnectionDocument | undefined> {
  const path = `/connections?client_id=${clientId}`
  const { items } = await running.operator.call<{ items: readonly ConnectionDocument[] }>('GET', path)
  return items[0]
}

/**
 * Sends requests with long replies for a client that does not read, until it is lagging and nothing more is sent to it,
 * while another client still receives data; or until it was closed for lagging.
 */
async function untilNothingIsTaken(running: ServiceInside, reader: Reader, going: SampleClient): Promise<void> {
  const end = performance.now() + PASSING_MILLISECONDS_MAX
  for (let before = ''; ; ) {
    const connection = await connectionOf(running, reader)
    if (connection === undefined) return
    // The age of the last pong changes with every look.
    const now = `${connection.queued_bytes} bytes queued, ${connection.bytes_out} sent`
    if (connection.behind && now === before) return
    if (performance.now() > end) throw new Error(`the kernel takes ever more: ${now}`)
    before = now
    if (!connection.behind) reader.client.send(LONG_REQUEST)
    const next = going.counts.bytes + MEGABYTE / 8
    await going.until('more bytes', () => going.counts.bytes >= next)
  }
}

/**
 * Waits until a client has received this many bytes and this many commits were made; checks the send queues meanwhile.
 */
async function pass(running: ServiceInside, going: SampleClient, commits: () => number) {
  const queue = { looks: 0, bytesMax: 0 }
  const end = going.counts.bytes + PASSED_BYTES
  while (going.counts.bytes < end || commits() < PASSED_COMMITS) {
    const next = going.counts.bytes + MEGABYTE / 2
    await going.until('more bytes', () => going.counts.bytes >= next, PASSING_MILLISECONDS_MAX)
    queue.looks++
    queue.bytesMax = Math.max(queue.bytesMax, await running.operator.metric('tidegate_send_queue_bytes'))
  }
  return queue
}

interface Targets {
  readonly times: ReadonlyMap<string, string>
  /** The number of executions of each market so far; undefined for a client that does not subscribe to them. */
  readonly executions: ReadonlyMap<string, number> | undefined
}

/** The current version of each market. */
function targetsOf(running: ServiceInside, symbols: readonly string[]): Targets {
  return {
    times: new Map(symbols.map((symbol) => [symbol, running.record.market(symbol).lastTime])),
    executions: new Map(symbols.map((symbol) => [symbol, running.record.market(symbol).executionCount])),
  }
}

/** Waits until a client has reached the given versions of the markets, or has found a problem. */
function untilCaughtUp({ client, verifier }: Reader, { times, executions }: Targets): Promise<void> {
  const takesExecutions = executions !== undefined && client.counts.executions > 0
  return client.until(
    'the present',
    () =>
      verifier.problems.length > 0 ||
      ([...times].every(([symbol, time]) => client.book(symbol).time >= time) &&
        (!takesExecutions ||
          [...executions].every(([symbol, count]) => (verifier.executionsUpTo(symbol) ?? 0) >= count))),
    PASSING_MILLISECONDS_MAX,
  )
}

function messagesOf(readers: readonly Reader[]): number[] {
  return readers.map(({ client }) => client.counts.messages)
}

/** The number of commits of all markets so far. */
function commitsOf(running: ServiceInside, symbols: readonly string[]): number {
  return symbols.reduce((sum, symbol) => sum + running.record.market(symbol).commits.length, 0)
}

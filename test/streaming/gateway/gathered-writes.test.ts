/** `stream.write_interval_ms`: the frames of several ticks leave in one write, and a reader sees no other difference. */
import { describe, expect, test } from 'vitest'
import { EXTENDED_SUBPROTOCOL } from '../../../src/contract/channels.ts'
import { ANY_TOKEN, FakeTransport } from '../../support/fake-transport.ts'
import { Random } from '../../support/random.ts'
import { type SETTINGS, StreamSimulation, testMarket } from '../../support/stream-simulation.ts'
import { deepBook, type LiveClient, LiveStream, levels } from './live-stream.ts'

const TYPES = ['market_data', 'market_data.top_of_book', 'execution_data'] as const
const MARKETS = ['AAAUSD', 'BBBUSD', 'CCCUSD'] as const
const SEEDS = [1, 2, 3, 4, 5, 6]

interface Reader {
  readonly texts: string[]
  readonly transport: FakeTransport
  readonly send: (request: unknown) => void
}

/** A socket that takes everything at once, so no heartbeat is skipped. */
class FastTransport extends FakeTransport {
  override get isSaturated(): boolean {
    return false
  }
}

/** A reader that takes everything at once. Odd ones use the extended protocol. */
function connect(simulation: StreamSimulation, place: number): Reader {
  const texts: string[] = []
  const transport = new FastTransport(100_000_000, (text) => texts.push(text))
  if (place % 2 === 1) transport.subprotocol = EXTENDED_SUBPROTOCOL
  const session = simulation.hub.open(transport, ANY_TOKEN)
  const send = (request: unknown) => session.receive({ data: Buffer.from(JSON.stringify(request)), isBinary: false })
  return { texts, transport, send }
}

/** Everything that every reader receives in a run, and the number of writes. */
function run(seed: number, writeIntervalMilliseconds: number) {
  const simulation = new StreamSimulation({
    seed,
    markets: MARKETS.map((symbol) => testMarket(symbol, 25)),
    noise: { levels: 30, changesMax: 6 },
    settings: { writeIntervalMilliseconds, heartbeatSeconds: 0.1, outboxBytesMax: 10_000_000 },
  })
  const random = new Random(seed + 7)
  simulation.start()
  const readers = Array.from({ length: 6 }, (_, place) => connect(simulation, place))
  for (const { send } of readers) send({ type: 'subscribe', channels: [{ type: 'heartbeat' }, ...entries(random)] })
  for (let step = 0; step < 400; step++) {
    if (random.chance(0.1)) {
      const type = random.pick(['subscribe', 'subscribe', 'unsubscribe', 'subscription_list'] as const)
      random.pick(readers).send(type === 'subscription_list' ? { type } : { type, channels: entries(random) })
    }
    for (let count = random.integer(4); count > 0; count--) simulation.offer(random.pick(MARKETS), 'update')
    if (random.chance(0.02)) simulation.offer(random.pick(MARKETS), 'snapshot')
    if (random.chance(0.3)) simulation.clock.endTick()
    else simulation.clock.advance(random.next() * 4)
    for (const { transport } of readers) transport.flush()
  }
  simulation.clock.advance(1_000)
  for (const { transport } of readers) {
    transport.flush()
    transport.drain()
  }
  return {
    texts: readers.map(({ texts }) => texts),
    writes: readers.reduce((sum, { transport }) => sum + transport.writeCount, 0),
  }
}

function entries(random: Random): unknown[] {
  const channels = MARKETS.flatMap((market) => TYPES.map((type) => ({ type, params: { market } })))
  return channels.filter(() => random.chance(0.5))
}

describe('a write interval', () => {
  test.each(SEEDS)(
    'a reader gets the same messages in the same order with and without a write interval, seed %i',
    (seed) => {
      const reference = run(seed, 0)
      expect(reference.texts.flat().length).toBeGreaterThan(1_000)
      for (const interval of [1, 10, 250]) {
        const gathered = run(seed, interval)
        expect(gathered.texts).toEqual(reference.texts)
        expect(gathered.writes).toBeLessThan(reference.writes)
      }
    },
  )
})

/** A market with some updates every millisecond, and a subscriber with everything read. */
function subscribed(settings: Partial<typeof SETTINGS> = {}, clients = 1) {
  const stream = new LiveStream({
    markets: ['AAAUSD', 'BBBUSD'],
    depth: 0,
    settings: { writeIntervalMilliseconds: 10, ...settings },
  })
  stream.snapshot()
  stream.snapshot(undefined, 'BBBUSD')
  const readers = Array.from({ length: clients }, () => stream.connect())
  for (const reader of readers) reader.subscribe('AAAUSD market_data')
  stream.clock.advance(10 - (stream.clock.monotonicMilliseconds() % 10))
  for (const { transport } of readers) transport.writes.length = 0
  let amount = 1_000
  /** One update with two levels in a tick of its own, which ends 1 ms later. */
  const update = () => {
    stream.offer(levels([[100, ++amount]], [[200, amount]]))
    stream.clock.advance(1)
  }
  return { stream, readers, reader: readers[0] as LiveClient, update }
}

/** The messages' kinds in each write. */
function kindsOf({ transport }: LiveClient): string[] {
  return transport.writes.map((bytes) =>
    [...bytes.toString('latin1').matchAll(/"type":"([A-Za-z_]+)"[,}]|"(heartbeat)"/g)]
      .map(([, type, heartbeat]) => type ?? heartbeat)
      .filter((kind) => !TYPES.includes(kind as 'market_data'))
      .join(' '),
  )
}

describe('gathered frames', () => {
  test('frames of several ticks leave in one write at the end of the interval, the same bytes for all sessions', () => {
    const { stream, readers, update } = subscribed({}, 3)
    for (let count = 0; count < 4; count++) update()
    expect(readers.map(kindsOf)).toEqual([[], [], []])
    expect(readers.map(({ session }) => session.queuedBytes > 300)).toEqual([true, true, true])
    stream.clock.advance(6)
    expect(readers.map(kindsOf)).toEqual(Array.from({ length: 3 }, () => ['UPDATE UPDATE UPDATE UPDATE']))
    const [first, ...others] = readers.map(({ transport }) => transport.writes[0])
    for (const other of others) expect(other).toBe(first)
  })

  test('all sessions are written to at the same times, whenever their first frame came', () => {
    const { stream, readers, reader, update } = subscribed({}, 2)
    const late = stream.connect()
    update()
    late.subscribe('AAAUSD market_data')
    late.transport.writes.length = 0
    update()
    expect([...readers, late].map(({ transport }) => transport.writes.length)).toEqual([0, 0, 0])
    stream.clock.advance(8)
    expect([...readers, late].map(({ transport }) => transport.writes.length)).toEqual([1, 1, 1])
    expect(kindsOf(reader)).toEqual(['UPDATE UPDATE'])
    expect(kindsOf(late)).toEqual(['UPDATE'])
  })

  test('the tick at the end of the interval is in its write', () => {
    const { stream, reader, update } = subscribed()
    update()
    stream.clock.advance(8)
    // The sequencer commits 1 ms after the preceding commit at the earliest: at the end of the interval.
    stream.offer(levels([[100, 1]], []))
    stream.clock.advance(1)
    expect(kindsOf(reader)).toEqual(['UPDATE UPDATE'])
  })

  test('a reply leaves in one write with the frames gathered before it', () => {
    const { stream, reader, update } = subscribed()
    update()
    reader.receive({ type: 'subscription_list' })
    stream.clock.settle()
    expect(kindsOf(reader)).toEqual(['UPDATE subscription_list'])
    stream.clock.advance(20)
    expect(reader.transport.writes).toHaveLength(1)
  })

  test('a heartbeat leaves in one write with the frames gathered before it', () => {
    const { stream, reader, update } = subscribed({ heartbeatSeconds: 0.1 })
    reader.subscribe('heartbeat')
    const interval = 10 - (stream.clock.monotonicMilliseconds() % 10)
    stream.clock.advance(interval + 100)
    reader.transport.writes.length = 0
    for (let count = 0; count < 105; count++) {
      update()
      reader.transport.flush()
    }
    const writes = kindsOf(reader).filter((kinds) => kinds.includes('heartbeat'))
    expect(writes).toHaveLength(1)
    expect(writes[0]).toMatch(/^(UPDATE )*heartbeat$/)
  })

  test('gathered frames are written before a close', () => {
    const { reader, update } = subscribed()
    update()
    update()
    reader.session.close('operator')
    expect(kindsOf(reader)).toEqual(['UPDATE UPDATE'])
    expect(reader.transport.closed?.code).toBeGreaterThan(0)
  })

  test('gathered frames are written before a SNAPSHOT, and so is the reply to its request', () => {
    const { stream, reader, update } = subscribed()
    update()
    reader.subscribe('BBBUSD market_data')
    expect(kindsOf(reader)).toEqual(['UPDATE subscribe', 'SNAPSHOT'])
    reader.transport.writes.length = 0
    stream.snapshot(deepBook(2_000, 5), 'BBBUSD')
    reader.unsubscribe('BBBUSD market_data')
    stream.clock.advance(20)
    reader.transport.writes.length = 0
    update()
    reader.read()
    // A SNAPSHOT of several frames: each is a write of its own.
    reader.subscribe('BBBUSD market_data')
    expect(kindsOf(reader).slice(0, 2)).toEqual(['UPDATE subscribe', 'SNAPSHOT'])
    expect(reader.transport.writes.length).toBeGreaterThan(2)
  })

  test('the notice about a removed market follows its gathered frames', () => {
    const { stream, reader, update } = subscribed()
    update()
    stream.removeMarket('AAAUSD')
    expect(kindsOf(reader)).toEqual(['UPDATE unsubscribe'])
  })

  test('frames above the high-water mark are written in their tick, and the reader lags from then on', () => {
    const { stream, reader, update } = subscribed({ writeIntervalMilliseconds: 1_000, outboxBytesMax: 4_096 })
    let ticks = 0
    for (; reader.transport.writes.length === 0 && ticks < 100; ticks++) {
      expect(reader.session.queuedBytes).toBeLessThanOrEqual(4_096)
      update()
    }
    expect(ticks).toBeGreaterThan(10)
    expect(reader.session.isLagging).toBe(true)
    expect(reader.transport.queuedBytes).toBeLessThan(4_096 + 300)
    for (let count = 0; count < 50; count++) update()
    expect(reader.transport.writes).toHaveLength(1)
    // What drains at once is current again: what was missed comes as one conflated UPDATE.
    const texts = reader.read()
    expect(texts).toHaveLength(ticks + 1)
    expect(stream.metrics.totals.conflated).toBe(1)
  })

  test('a reader that takes nothing keeps at most the high-water mark and one tick', () => {
    const { stream, update } = subscribed({ outboxBytesMax: 4_096 })
    const slow = stream.connect({ kernelBytes: 1_000 })
    slow.subscribe('AAAUSD market_data', 'AAAUSD market_data.top_of_book')
    for (let count = 0; count < 500; count++) {
      update()
      slow.transport.flush()
      expect(slow.session.queuedBytes).toBeLessThan(4_096 + 1_000)
    }
    expect(slow.session.isLagging).toBe(true)
    slow.read()
    stream.clock.advance(10)
    expect(slow.session.isLagging).toBe(false)
  })

  test('delivery time is measured when the gathered frames are written', async () => {
    const { stream, update } = subscribed()
    const sumOf = async () =>
      Number(/tidegate_delivery_seconds_sum (\S+)/.exec(await stream.registry.metrics())?.[1] ?? Number.NaN)
    const countOf = async () =>
      Number(/tidegate_delivery_seconds_count (\S+)/.exec(await stream.registry.metrics())?.[1] ?? Number.NaN)
    const [sum, count] = [await sumOf(), await countOf()]
    update()
    update()
    expect(await countOf()).toBe(count)
    stream.clock.advance(8)
    expect((await countOf()) - count).toBe(2)
    expect((await sumOf()) - sum).toBeCloseTo(0.019, 2)
  })
})

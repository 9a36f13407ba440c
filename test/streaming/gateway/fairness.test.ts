import { describe, expect, test } from 'vitest'
import { BID, type MarketDefinition } from '../../../src/streaming/market/event.ts'
import { LiveStream, WorkingClock } from './live-stream.ts'

const TYPES = ['market_data', 'market_data.top_of_book', 'execution_data'] as const
const MARKETS = Array.from({ length: 333 }, (_, index): MarketDefinition['symbol'] => `M${index + 100}USD`)
const change = (amount: number) => [{ side: BID, price: 100, amount }] as const

function manyMarkets(): { stream: LiveStream; clock: WorkingClock } {
  const clock = new WorkingClock()
  const stream = new LiveStream({ markets: MARKETS, clock, settings: { outboxBytesMax: 262_144 } })
  for (const symbol of MARKETS) stream.snapshot(undefined, symbol)
  return { stream, clock }
}

const everything = { type: 'subscribe', channels: entries(MARKETS).concat({ type: 'heartbeat' }) }

function entries(markets: readonly string[]): object[] {
  return markets.flatMap((market) => TYPES.map((type) => ({ type, params: { market } })))
}

describe('a client with a thousand subscriptions', () => {
  test('a client with a thousand subscriptions catches up over many ticks, while other sessions get messages at once', () => {
    const { stream, clock } = manyMarkets()
    const [current, heavy, light] = [
      stream.connect({ name: 'current' }),
      stream.connect({ name: 'heavy' }),
      stream.connect({ name: 'light' }),
    ]
    current.subscribe('M100USD market_data')
    clock.workMilliseconds = 2
    heavy.receive(everything)
    light.receive({ type: 'subscribe', channels: entries(['M101USD']) })
    let lightTicks = 0
    let heavyTicks = 0
    for (let tick = 1; tick <= 300; tick++) {
      stream.offer(change(100 + tick), [], 'M100USD')
      clock.stall(2)
      // The commit at the end of one tick, its messages before anything else at the end of the next.
      clock.endTick()
      stream.writeOrder.length = 0
      clock.endTick()
      expect(stream.writeOrder[0], `tick ${tick}`).toBe('current')
      current.transport.flush()
      current.transport.drain()
      expect(current.taken()).toHaveLength(1)
      if (lightTicks === 0 && light.transport.writes.length >= 3) lightTicks = tick
      if (heavyTicks === 0 && heavy.transport.writes.length >= 2 + 2 * MARKETS.length) heavyTicks = tick
    }
    expect(lightTicks).toBeGreaterThan(0)
    expect(lightTicks).toBeLessThan(4)
    expect(heavyTicks).toBeGreaterThan(8)
  })

  test('a client with a thousand subscriptions gets a tick in which all its markets move as one write', () => {
    const { stream } = manyMarkets()
    const client = stream.connect({ kernelBytes: 10_000_000 })
    client.ask(everything)
    const { writeCount } = client.transport
    for (const symbol of MARKETS) stream.offer(change(77), [{ price: 1, amount: 1 }], symbol)
    stream.clock.settle()
    expect(client.transport.writeCount).toBe(writeCount + 1)
    expect(client.read()).toHaveLength(3 * MARKETS.length)
  })
})

describe('a client with two hundred requests in one read', () => {
  test("replies to two hundred requests in one read alternate with those of other sessions, after the tick's data", () => {
    const stream = new LiveStream()
    stream.snapshot()
    const [current, heavy, light] = [
      stream.connect({ name: 'current' }),
      stream.connect({ name: 'heavy' }),
      stream.connect({ name: 'light' }),
    ]
    current.subscribe('AAAUSD market_data')
    stream.clock.advance(2)
    stream.writeOrder.length = 0
    stream.offer(change(55))
    for (let count = 0; count < 200; count++) heavy.receive({ type: 'subscription_list' })
    light.receive({ type: 'subscription_list' })
    stream.clock.settle()
    expect(stream.writeOrder.indexOf('current')).toBe(0)
    expect(stream.writeOrder.indexOf('light')).toBe(9)
    expect(stream.writeOrder.filter((name) => name === 'heavy')).toHaveLength(200)
  })

  test('a client with two hundred requests in one read takes only its share of a tick', () => {
    const clock = new WorkingClock()
    const stream = new LiveStream({ clock })
    stream.snapshot()
    const [current, heavy] = [stream.connect({ name: 'current' }), stream.connect({ name: 'heavy' })]
    current.subscribe('AAAUSD market_data')
    clock.workMilliseconds = 0.25
    for (let count = 0; count < 200; count++) heavy.receive({ type: 'subscription_list' })
    let ticks = 0
    for (; heavy.transport.writes.length < 200; ticks++) {
      stream.offer(change(100 + ticks))
      clock.stall(2)
      const before = heavy.transport.writes.length
      stream.writeOrder.length = 0
      clock.endTick()
      clock.endTick()
      expect(stream.writeOrder).toContain('current')
      expect(heavy.transport.writes.length - before).toBeLessThanOrEqual(32)
    }
    expect(ticks).toBeGreaterThan(6)
  })
})

/** Binance over a real socket and HTTP, at a venue whose book is deeper than what is fetched of it. */

import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../../support/awaited.ts'
import { SourceListener } from '../../../../support/source-listener.ts'
import { type BinanceRecording, startBinanceServer } from '../../../../support/venues/binance.ts'
import { FedMarket } from '../../../../support/venues/fed-market.ts'
import { readVenue } from '../../../../support/venues/reading.ts'
import { VenueHistory } from '../../../../support/venues/venue-history.ts'

const SYMBOL = 'BTCUSDT'
const DEPTH = 10
/** Of which 500 a side are fetched for ten: a new snapshot is wanted when 254 are left, and the book lost with 9. */
const LEVELS = 2_000
const MOVES = 1_200
const WANTED_AT = 246
const LOST_AT = 491

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

/** Each message takes the best ask away and puts a bid there: the price moves by one tick, all the time. */
function movingUp(): BinanceRecording {
  const price = (ticks: number) => `${Math.floor(ticks / 100)}.${String(ticks % 100).padStart(2, '0')}000000`
  const amount = (ticks: number) => `${1 + (ticks % 7)}.00000000`
  const level = (ticks: number) => [price(ticks), amount(ticks)] as const
  const middle = 10_000
  const frames = Array.from({ length: MOVES }, (_, index) => {
    const ticks = middle + 1 + index
    const id = index + 2
    const data = {
      e: 'depthUpdate',
      E: 1,
      s: SYMBOL,
      U: id,
      u: id,
      b: [level(ticks)],
      a: [[price(ticks), '0.00000000']],
    }
    return { milliseconds: index, text: JSON.stringify({ stream: `${SYMBOL.toLowerCase()}@depth@100ms`, data }) }
  })
  const ranks = Array.from({ length: LEVELS }, (_, rank) => rank)
  return {
    symbol: SYMBOL,
    lastUpdateId: 1,
    snapshot: { bids: ranks.map((rank) => level(middle - rank)), asks: ranks.map((rank) => level(middle + 1 + rank)) },
    frames,
    best: [],
    listing: {
      symbol: SYMBOL,
      status: 'TRADING',
      baseAssetPrecision: 8,
      quoteAssetPrecision: 8,
      filters: [
        { filterType: 'PRICE_FILTER', tickSize: '0.01000000' },
        { filterType: 'LOT_SIZE', stepSize: '1.00000000' },
      ],
    },
  }
}

/** A market of a venue that, asked before each message, waits for what `hold` returns. */
async function setUp(hold: (market: FedMarket, index: number) => Promise<void> | undefined) {
  const history = new VenueHistory(DEPTH)
  const market = new FedMarket(SYMBOL, history, DEPTH)
  const server = await startBinanceServer({
    speed: Number.POSITIVE_INFINITY,
    recordings: [movingUp()],
    onPlayed: history.onPlayed,
    hold: (_symbol, index) => hold(market, index),
  })
  opened.push(server)
  history.begin(server)
  const { source, clock } = readVenue('binance', server, [market])
  opened.push({ close: () => source.stop() })
  const snapshotsAsked = () => server.said.filter((text) => text.startsWith('/api/v3/depth')).length
  return { server, market, clock, snapshotsAsked }
}

function gate() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

describe('a price that moves through what was fetched of a book of Binance', () => {
  it('a Binance price that leaves the fetched levels is followed with new snapshots, without an effect on its markets', async () => {
    // The venue takes its time: a snapshot that is asked for is in use long before the levels of the one before are gone.
    const { server, market, snapshotsAsked } = await setUp((fed) =>
      fed.until('the message before', () => fed.isLive && fed.verifier.isCurrent),
    )
    await server.finished
    await market.until('the end', () => market.verifier.isCurrent)
    expect({ reasons: market.reasons, problems: market.verifier.problems }).toEqual({ reasons: [], problems: [] })
    expect(market.verifier.matched).toBeGreaterThanOrEqual(MOVES)
    expect(snapshotsAsked()).toBeGreaterThan(MOVES / LOST_AT)
  })

  it('a Binance price without a new snapshot is followed as far as the levels reach, and then from a new snapshot', async () => {
    const gates = new Map([0, WANTED_AT + 10, LOST_AT - 1, LOST_AT + 1].map((index) => [index, gate()]))
    const go = (index: number) => gates.get(index)?.open()
    const { server, market, clock, snapshotsAsked } = await setUp((_fed, index) => gates.get(index)?.opened)
    await market.until('live', () => market.isLive)
    server.httpFaults.push({ status: 429, body: '{}', headers: { 'retry-after': '60' } }, { status: 503, body: 'busy' })
    go(0)
    await server.until('the refused request', () => snapshotsAsked() === 2)
    go(WANTED_AT + 10)
    await market.until('as far as it goes', () => market.verifier.matched === LOST_AT)
    expect(market.isLive).toBe(true)
    expect(market.verifier.isCurrent).toBe(true)
    go(LOST_AT - 1)
    await market.until('lost', () => !market.isLive)
    expect(market.reasons).toEqual([`only ${DEPTH - 1} of ${DEPTH} levels of ${SYMBOL} are known`])
    // The venue wants to be left alone for a minute; its next answer is no better.
    expect(snapshotsAsked()).toBe(2)
    go(LOST_AT + 1)
    const pass = async () => {
      clock.advance(1_000)
      // What is under way arrives before more time has passed.
      for (let count = 0; count < 5; count++) await server.heard()
      await new Promise(setImmediate)
    }
    await until('a live book', () => market.isLive, pass)
    await server.finished
    await market.until('the end', () => market.verifier.isCurrent)
    expect(market.verifier.problems).toEqual([])
    expect(clock.monotonicMilliseconds()).toBeGreaterThan(60_000)
  })
})

describe('the trades of Binance after those of another process', () => {
  /** Aggregate 500 + n has the trades 9,000 + 3n to 9,002 + 3n. */
  function trading(count: number): BinanceRecording {
    const recording = movingUp()
    const trades = Array.from({ length: count }, (_, index) => {
      const [a, f] = [500 + index, 9_000 + 3 * index]
      const data = { e: 'aggTrade', E: 1, s: SYMBOL, a, p: '100.00', q: '1', f, l: f + 2, T: index, m: true }
      return { milliseconds: index + 1, text: JSON.stringify({ stream: `${SYMBOL.toLowerCase()}@aggTrade`, data }) }
    })
    return { ...recording, frames: [...recording.frames.slice(0, 1), ...trades] }
  }

  it('Binance trades continue in another process: the missing one is fetched, and none is repeated', async () => {
    const gates = [1, 4, 5].map((index) => [index, gate()] as const)
    const held = new Map(gates)
    const server = await startBinanceServer({
      speed: Number.POSITIVE_INFINITY,
      recordings: [trading(5)],
      hold: (_symbol, index) => held.get(index)?.opened,
    })
    opened.push(server)
    const subscribed = () => server.said.filter((text) => /"SUBSCRIBE".*aggTrade/.test(text)).length
    const executed = ({ events }: SourceListener) =>
      events.flatMap((event) => (event.type === 'update' ? event.executions : []))
    const ids = (market: SourceListener) => executed(market).map(({ id }) => id)

    const leading = new SourceListener(SYMBOL)
    const { source: leader } = readVenue('binance', server, [leading])
    await server.until('a subscription to the trades', () => subscribed() === 1)
    held.get(1)?.open()
    await leading.until('three trades', () => ids(leading).length === 3)
    await leader.stop()
    server.tracks.get(SYMBOL)?.playUnseen(1)
    held.get(4)?.open()

    const following = new SourceListener(SYMBOL)
    const { source: standby, clock } = readVenue('binance', server, [following])
    opened.push({ close: () => standby.stop() })
    expect(standby.resume?.(following.sourceMarket, executed(leading), undefined)).toBe(true)
    await server.until('its subscription to the trades', () => subscribed() === 2)
    held.get(5)?.open()
    const pass = async () => {
      clock.advance(100)
      await server.heard()
    }
    await until('the trades after them', () => ids(following).includes('504'), pass)
    expect(ids(leading)).toEqual(['500', '501', '502'])
    expect(ids(following)).toEqual(['503', '504'])
    expect(following.count('missed')).toBe(0)
  })
})

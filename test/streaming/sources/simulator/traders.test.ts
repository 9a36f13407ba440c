import { describe, expect, it } from 'vitest'
import { ASK, BID, type MarketDefinition } from '../../../../src/streaming/market/event.ts'
import { createArrivals } from '../../../../src/streaming/sources/simulator/arrivals.ts'
import { createRandomStream } from '../../../../src/streaming/sources/simulator/random.ts'
import { type Step, Traders } from '../../../../src/streaming/sources/simulator/traders.ts'

const SIDES = [BID, ASK] as const
const MINUTES = process.env.TIDEGATE_LONG === '1' ? 120 : 8

function marketOf(baseAsset: string, priceDecimals: number, amountDecimals: number): MarketDefinition {
  return { symbol: `${baseAsset}USD`, baseAsset, quoteAsset: 'USD', priceDecimals, amountDecimals, depth: 1000 }
}

/** Trades a market for some simulated seconds; `observe` is called after each step. */
function trade(
  market: MarketDefinition,
  updatesPerSecond: number,
  seconds: number,
  observe: (step: Step, traders: Traders) => void = () => undefined,
  beforeStep: (traders: Traders) => void = () => undefined,
): { traders: Traders; steps: number } {
  const next = createArrivals(updatesPerSecond, createRandomStream(1, `${market.symbol}/arrivals`))
  const traders = new Traders(market, updatesPerSecond, createRandomStream(1, `${market.symbol}/traders`))
  let steps = 0
  for (let arrival = next(); arrival.atMicroseconds < seconds * 1_000_000; arrival = next()) {
    beforeStep(traders)
    observe(traders.step(arrival), traders)
    steps++
  }
  return { traders, steps }
}

function bestOf(traders: Traders): string {
  return SIDES.map((side) => {
    const level = traders.book.levelAt(side, 0)
    return `${level?.price}/${level?.total}`
  }).join(' ')
}

describe('a seeded hour of trading at 40 updates a second', () => {
  it.each(['BTC', 'ETH', 'SOL'])(
    'a seeded hour of trading at 40 updates a second has the figures of recorded feeds, %s with 2 price decimals',
    (asset) => {
      const counts = {
        changes: 0,
        deletes: 0,
        nearBest: 0,
        best: 0,
        withTrades: 0,
        sweeps: 0,
        single: 0,
        crossed: 0,
        unexplained: 0,
      }
      let bestBefore = ''
      let tenthBefore = [0, 0]
      let levelsMin = Number.POSITIVE_INFINITY
      const { steps } = trade(
        marketOf(asset, 2, 8),
        40,
        3600,
        ({ changes, trades }, traders) => {
          counts.changes += changes.length
          if (changes.length <= 2) counts.single++
          for (const { side, price, amount } of changes) {
            if (amount === 0) counts.deletes++
            if (side === BID ? price >= tenthBefore[BID]! : price <= tenthBefore[ASK]!) counts.nearBest++
          }
          if (bestOf(traders) !== bestBefore) counts.best++
          if (trades.length > 0) counts.withTrades++
          // Only a trade changes both sides at once.
          else if (new Set(changes.map((change) => change.side)).size > 1) counts.unexplained++
          if (new Set(trades.map((each) => each.price)).size > 2) counts.sweeps++
          if (traders.book.levelAt(BID, 0)!.price >= traders.book.levelAt(ASK, 0)!.price) counts.crossed++
          levelsMin = Math.min(levelsMin, traders.book.levelCount(BID), traders.book.levelCount(ASK))
        },
        (traders) => {
          bestBefore = bestOf(traders)
          tenthBefore = SIDES.map((side) => traders.book.levelAt(side, 9)!.price)
        },
      )
      const shareOf = (count: number, all: number) => Math.round((1000 * count) / all) / 10
      expect(counts).toMatchObject({ crossed: 0, unexplained: 0 })
      // Recorded: 17-50 % deletes, the best changes on 12-20 % of messages, 66 % of changes in the top ten.
      expect(shareOf(counts.deletes, counts.changes)).toBeGreaterThan(17)
      expect(shareOf(counts.deletes, counts.changes)).toBeLessThan(50)
      expect(shareOf(counts.best, steps)).toBeGreaterThan(11)
      expect(shareOf(counts.best, steps)).toBeLessThan(24)
      expect(shareOf(counts.nearBest, counts.changes)).toBeGreaterThan(55)
      expect(shareOf(counts.nearBest, counts.changes)).toBeLessThan(80)
      expect(shareOf(counts.single, steps)).toBeGreaterThan(95)
      expect(counts.changes / steps).toBeGreaterThan(1.05)
      expect(counts.changes / steps).toBeLessThan(2)
      expect(shareOf(counts.withTrades, steps)).toBeGreaterThan(3)
      expect(shareOf(counts.withTrades, steps)).toBeLessThan(15)
      expect(counts.sweeps).toBeGreaterThan(100)
      expect(levelsMin).toBeGreaterThan(300)
    },
  )
})

describe('the size of a simulated market', () => {
  // It is about as large as it gets after a quarter of an hour; what grows slowly shows in the long run.
  it(`a simulated market stays bounded over ${MINUTES} minutes at 500 updates a second`, () => {
    let steps = 0
    let levelsMax = 0
    let ordersMax = 0
    const levelsAfterQuarter: number[] = []
    const run = trade(marketOf('ETH', 2, 8), 500, MINUTES * 60, (_step, { book }) => {
      steps++
      if (steps % 100 !== 0) return
      levelsMax = Math.max(levelsMax, book.levelCount(BID), book.levelCount(ASK))
      ordersMax = Math.max(ordersMax, book.orderCount(BID), book.orderCount(ASK))
      if (steps % 400_000 === 0) levelsAfterQuarter.push(book.levelCount(BID) + book.levelCount(ASK))
    })
    expect(run.steps).toBeGreaterThan(MINUTES * 60 * 500 * 0.9)
    expect(levelsMax).toBeLessThan(1_250)
    expect(ordersMax).toBeLessThan(2_000)
    expect(levelsAfterQuarter).toHaveLength(Math.floor(run.steps / 400_000))
    expect(levelsAfterQuarter.every((levels) => levels > 600)).toBe(true)
  })

  it('a simulated market drops orders that the price has left behind', () => {
    const { traders } = trade(marketOf('ETH', 2, 8), 1, 1)
    // A wall of orders far away, as a long drift of the price leaves it.
    const worst = traders.book.levelAt(ASK, traders.book.levelCount(ASK) - 1)!.price
    for (let index = 1; index <= 3_000; index++) traders.book.placeLimit(ASK, worst + index, 1_000)
    const before = traders.book.levelCount(ASK)
    const arrival = { atMicroseconds: 0, clusterSize: 1, startsCluster: true }
    for (let index = 0; index < 20_000; index++) traders.step(arrival)
    expect(before).toBeGreaterThan(3_500)
    expect(traders.book.levelCount(ASK)).toBeLessThan(1_250)
  })
})

describe('markets of every scale', () => {
  const scales = [0, 1, 2, 3, 4, 5, 6, 7, 8]
  const startPrices = [
    ['BTC', 60_000],
    ['ETH', 3_000],
    ['SOL', 150],
    ['DOGE', 100],
  ] as const
  const rows = startPrices.flatMap(([asset, price]) => scales.map((decimals) => [asset, decimals, price] as const))

  it.each(rows)(
    'the market %s with %d price decimals trades in positive safe integers around its start',
    (asset, decimals, startPrice) => {
      for (const amountDecimals of [8 - decimals, decimals]) {
        const market = marketOf(asset, decimals, amountDecimals)
        const opening = new Traders(market, 40, createRandomStream(1, 'opening')).book
        expect(opening.levelCount(ASK)).toBeGreaterThanOrEqual(300)
        expect(opening.levelCount(BID)).toBeGreaterThanOrEqual(Math.min(300, startPrice * 10 ** decimals))
        const amounts = new Set<number>()
        const { traders } = trade(market, 40, 60, ({ trades }) => {
          for (const each of trades) amounts.add(each.amount)
        })
        const levels = traders.book.snapshot()
        const good = levels.filter(({ price, amount }) => Number.isSafeInteger(price) && Number.isSafeInteger(amount))
        expect(good.filter(({ price, amount }) => price > 0 && amount > 0).length).toBe(levels.length)
        expect(amounts.size).toBeGreaterThan(10)
        const start = startPrice * 10 ** decimals
        expect(traders.book.levelAt(BID, 0)!.price).toBeGreaterThan(start * 0.75)
        expect(traders.book.levelAt(ASK, 0)!.price).toBeLessThan(start * 1.25)
      }
    },
  )

  it('a simulated market refuses more decimals than safe integers carry, by its name', () => {
    const random = createRandomStream(1, 'scale')
    expect(() => new Traders(marketOf('BTC', 9, 2), 40, random)).toThrow('0 to 8 decimals, market BTCUSD has 9')
    expect(() => new Traders(marketOf('BTC', 2, 18), 40, random)).toThrow('0 to 8 decimals, market BTCUSD has 18')
  })
})

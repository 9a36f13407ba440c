/** Candles as the contract describes them, computed from all executions at once. */
import type { MarketDefinition } from '../../src/streaming/market/event.ts'

/** An execution as a subscriber sees it, in commit order. */
export interface SeenTrade {
  readonly id: string
  readonly price: bigint
  readonly amount: bigint
  readonly at: number
  readonly committedAt: number
}

export const LENGTHS = {
  '1m': 60_000,
  '5m': 300_000,
  '15m': 900_000,
  '1h': 3_600_000,
  '4h': 14_400_000,
  '1d': 86_400_000,
} as const

/** Every candle until now, without `incomplete`. */
export function naiveCandles(
  trades: readonly SeenTrade[],
  interval: keyof typeof LENGTHS,
  now: number,
  market: Pick<MarketDefinition, 'priceDecimals' | 'amountDecimals'>,
): object[] {
  const length = LENGTHS[interval]
  // A revision is counted in the stored candles.
  const storedLength = length < LENGTHS['1h'] ? LENGTHS['1m'] : LENGTHS['1h']
  const sorted = trades.map((trade, order) => ({ ...trade, order })).sort((a, b) => a.at - b.at || a.order - b.order)
  const byStart = new Map<number, typeof sorted>()
  for (const trade of sorted) {
    const start = floor(trade.at, length)
    const inside = byStart.get(start)
    if (inside === undefined) byStart.set(start, [trade])
    else inside.push(trade)
  }
  const items: object[] = []
  let last: bigint | undefined
  for (let start = floor(sorted[0]?.at ?? now, length); start <= now; start += length) {
    const inside = byStart.get(start) ?? []
    const [first, close] = [inside[0], inside.at(-1)]
    const prices = inside.map(({ price }) => price)
    const high = prices.reduce((a, b) => (a > b ? a : b), prices[0] ?? 0n)
    const low = prices.reduce((a, b) => (a < b ? a : b), prices[0] ?? 0n)
    const text = (value: bigint | undefined) => decimal(value ?? last ?? 0n, market.priceDecimals)
    items.push({
      time: new Date(start).toISOString(),
      open: text(first?.price),
      high: text(inside.length === 0 ? undefined : high),
      low: text(inside.length === 0 ? undefined : low),
      close: text(close?.price),
      volume: decimal(sum(inside.map(({ amount }) => amount)), market.amountDecimals),
      quote_volume: decimal(
        sum(inside.map(({ price, amount }) => price * amount)),
        market.priceDecimals + market.amountDecimals,
      ),
      trades: inside.length,
      ...(first === undefined ? {} : { first_execution_id: first.id, last_execution_id: close?.id }),
      revision: inside.filter(({ at, committedAt }) => committedAt >= floor(at, storedLength) + storedLength).length,
      closed: now >= start + length,
    })
    last = close?.price ?? last
  }
  return items
}

const floor = (time: number, length: number): number => time - (time % length)
const sum = (values: readonly bigint[]): bigint => values.reduce((a, b) => a + b, 0n)

function decimal(value: bigint, decimals: number): string {
  const digits = String(value).padStart(decimals + 1, '0')
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

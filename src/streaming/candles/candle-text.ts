/** Candles and tickers as JSON text, with exact decimals. */
import { millisecondText } from '../../platform/base/clock.ts'
import { formatDecimal, type Scaled } from '../../platform/base/decimal.ts'
import type { MarketDefinition } from '../market/event.ts'
import type { TopOfBook } from '../sequencing/frame.ts'
import { averagePrice, type Candle, type DayTotals, type Interval } from './candles.ts'

/** `{market, interval, items}`. */
export function candlesText(market: MarketDefinition, interval: Interval, candles: readonly Candle[]): string {
  const items = candles.map((candle) => candleText(market, candle))
  return `{"market":"${market.symbol}","interval":"${interval}","items":[${items.join()}]}`
}

/** A template, which is several times as fast as `JSON.stringify`. */
function candleText(market: MarketDefinition, { start, bar, lastClose, isClosed, isIncomplete }: Candle): string {
  const { open = lastClose, high = lastClose, low = lastClose, close = lastClose } = bar ?? {}
  const { volume = 0, quoteVolume = 0, trades = 0, revision = 0 } = bar ?? {}
  const price = (value: number) => formatDecimal(value, market.priceDecimals)
  const ids =
    bar === undefined
      ? ''
      : `"first_execution_id":${JSON.stringify(bar.firstId)},"last_execution_id":${JSON.stringify(bar.lastId)},`
  return (
    `{"time":"${millisecondText(start)}","open":"${price(open)}","high":"${price(high)}","low":"${price(low)}",` +
    `"close":"${price(close)}","volume":"${formatDecimal(volume, market.amountDecimals)}",` +
    `"quote_volume":"${formatDecimal(quoteVolume, market.priceDecimals + market.amountDecimals)}","trades":${trades},` +
    `${ids}"revision":${revision},"closed":${isClosed},"incomplete":${isIncomplete}}`
  )
}

/** @param milliseconds the time of the book's last commit */
export function tickerText(
  market: MarketDefinition,
  milliseconds: number,
  { bid, ask }: TopOfBook,
  { bar, lastClose }: DayTotals,
): string {
  const { open, high, low, close } = bar ?? { open: lastClose, high: lastClose, low: lastClose, close: lastClose }
  const { volume = 0, quoteVolume = 0, trades = 0 } = bar ?? {}
  const average = averagePrice(quoteVolume, volume)
  return JSON.stringify({
    market: market.symbol,
    time: millisecondText(milliseconds),
    ...pricesOf(market, { last: close, bid: bid?.price, ask: ask?.price, open, high, low }),
    volume: formatDecimal(volume, market.amountDecimals),
    quote_volume: formatDecimal(quoteVolume, market.priceDecimals + market.amountDecimals),
    ...pricesOf(market, { vwap: average }),
    trades,
  })
}

/** Without the absent ones. */
function pricesOf(market: MarketDefinition, prices: Readonly<Record<string, Scaled | undefined>>) {
  return Object.fromEntries(
    Object.entries(prices).flatMap(([name, price]) =>
      price === undefined ? [] : [[name, formatDecimal(price, market.priceDecimals)]],
    ),
  )
}

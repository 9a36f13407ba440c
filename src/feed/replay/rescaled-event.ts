/**
 * Rescales recorded events to the decimals of the market that they are played to, which may have more decimals than the
 * recording and never fewer: nothing is rounded. Pure.
 */
import { rescale } from '../../base/decimal.ts'
import type { MarketDefinition, MarketEvent } from '../../market/event.ts'
import type { RecordedMarket } from './recording.ts'

type Precision = Pick<MarketDefinition, 'priceDecimals' | 'amountDecimals'>

/** Index of the recorded market that can feed a market, or why there is none. */
export function recordedIndex(
  path: string,
  recorded: readonly RecordedMarket[],
  { symbol, priceDecimals, amountDecimals }: MarketDefinition,
): number | string {
  const index = recorded.findIndex(({ definition }) => definition.symbol === symbol)
  const found = recorded[index]?.definition
  if (found === undefined) {
    const symbols = recorded.map(({ definition }) => definition.symbol).join(', ')
    return `the recording ${path} has no market ${symbol}, only ${symbols}`
  }
  const misfit = `the recording ${path} does not fit ${symbol}: it has`
  if (found.priceDecimals > priceDecimals) {
    return `${misfit} prices with ${found.priceDecimals} decimals, and the market has ${priceDecimals}`
  }
  if (found.amountDecimals > amountDecimals) {
    return `${misfit} amounts with ${found.amountDecimals} decimals, and the market has ${amountDecimals}`
  }
  return index
}

/**
 * The rescaled event; undefined when a price would exceed the safe integers. The decimals must have been checked with
 * `recordedIndex`.
 */
export function rescaledEvent(event: MarketEvent, recorded: Precision, market: Precision): MarketEvent | undefined {
  const isSame = recorded.priceDecimals === market.priceDecimals && recorded.amountDecimals === market.amountDecimals
  if (isSame || event.type === 'lost' || event.type === 'missed') return event
  let fits = true
  const rescaled = <Priced extends { readonly price: number; readonly amount: bigint | number }>(priced: Priced) => {
    const price = rescale(priced.price, recorded.priceDecimals, market.priceDecimals)
    fits &&= typeof price === 'number'
    return {
      ...priced,
      price: typeof price === 'number' ? price : 0,
      amount: rescale(priced.amount, recorded.amountDecimals, market.amountDecimals),
    }
  }
  const result: MarketEvent =
    event.type === 'snapshot'
      ? { ...event, levels: event.levels.map(rescaled) }
      : { ...event, changes: event.changes.map(rescaled), executions: event.executions.map(rescaled) }
  return fits ? result : undefined
}

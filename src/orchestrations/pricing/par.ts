/**
 * Conversion at par: one unit of the source is one unit of the destination, inside the peg. Pure and exact: only what
 * the destination's decimals can represent is converted.
 */
import { AMOUNT_MAX } from '../../ledger/amounts.ts'
import type { MinorUnits } from '../../ledger/posting.ts'
import type { PricedAsset } from './context.ts'
import { type Impossible, impossible } from './refusal.ts'

export interface ParAmounts {
  readonly converted: MinorUnits
  readonly destination: MinorUnits
  /** What of the source amount is finer than the destination's decimals. */
  readonly remainder: MinorUnits
}

/** What of an amount converts at par, and into what. */
export function parAmounts(amount: MinorUnits, source: PricedAsset, destination: PricedAsset): ParAmounts | Impossible {
  const finer = source.decimals - destination.decimals
  const unit = finer > 0 ? 10n ** BigInt(finer) : 1n
  const remainder = amount % unit
  const converted = amount - remainder
  const result = finer > 0 ? converted / unit : converted * 10n ** BigInt(-finer)
  if (result === 0n) {
    return impossible(
      `the amount is less than ${destination.symbol} can represent with ${destination.decimals} decimals`,
    )
  }
  if (result > AMOUNT_MAX) return impossible(`the amount has too many digits in ${destination.symbol}`)
  return { converted, destination: result, remainder }
}

/** Whether a mid is at most `bpsMax` hundredths of a percent away from 1. */
export function isInsidePeg(doubleMid: bigint, priceDecimals: number, bpsMax: number): boolean {
  const doubleOne = 2n * 10n ** BigInt(priceDecimals)
  const distance = doubleMid > doubleOne ? doubleMid - doubleOne : doubleOne - doubleMid
  return distance * 10_000n <= doubleOne * BigInt(bpsMax)
}

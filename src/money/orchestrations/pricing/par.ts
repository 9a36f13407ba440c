/**
 * Conversion at par: 1 of the source asset is 1 of the destination asset, inside the peg. It is exact: only the part
 * that the destination's decimals can represent is converted. Pure.
 */
import { AMOUNT_MAX } from '../../ledger/amounts.ts'
import type { MinorUnits } from '../../ledger/posting.ts'
import type { PricedAsset } from './context.ts'
import { type Impossible, impossible } from './refusal.ts'

export interface ParAmounts {
  readonly converted: MinorUnits
  readonly destination: MinorUnits
  /** The part of the source amount that the destination's decimals cannot represent. */
  readonly remainder: MinorUnits
}

/** Splits a source amount into the part that converts at par, its result and the remainder. */
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

/** Types of a request for a price and of its outcome: a price, a wait, or impossible. */
import type { MinorUnits } from '../../ledger/posting.ts'
import type { PriceEvidence } from './evidence.ts'
import type { Impossible, Waiting } from './refusal.ts'

export interface PriceRequest {
  readonly orchestrationId: string
  readonly sourceAsset: string
  /** Above zero, without the fee. */
  readonly sourceAmount: MinorUnits
  readonly destinationAsset: string
}

/** A priced conversion, which the caller posts and stores with `recordConversions` in the same transaction. */
export interface Conversion {
  readonly orchestrationId: string
  readonly sourceAsset: string
  /** The amount that the desk receives: that of the request less `remainder`. */
  readonly sourceAmount: MinorUnits
  /** The part that the destination's decimals cannot represent; it stays with the profile. 0 in market conversions. */
  readonly remainder: MinorUnits
  readonly destinationAsset: string
  /** The amount that the desk pays. */
  readonly destinationAmount: MinorUnits
  /** Destination asset for 1 of the source asset: decimal text, rounded down to 18 fraction digits. */
  readonly price: string
  /** `par`, or the symbol of the market. */
  readonly priceSource: string
  readonly evidence: PriceEvidence
}

export type PriceOutcome = { readonly kind: 'priced'; readonly conversion: Conversion } | Waiting | Impossible

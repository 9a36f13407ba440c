/** What is asked of pricing, and what it comes to: a price, a reason to wait, or never. Types alone. */
import type { MinorUnits } from '../../ledger/posting.ts'
import type { PriceEvidence } from './evidence.ts'
import type { Impossible, Waiting } from './refusal.ts'

export interface PriceRequest {
  readonly orchestrationId: string
  readonly sourceAsset: string
  /** Above zero, the fee not included. */
  readonly sourceAmount: MinorUnits
  readonly destinationAsset: string
}

/** A conversion with its price: what the ledger posts and `recordConversions` stores, in the same transaction. */
export interface Conversion {
  readonly orchestrationId: string
  readonly sourceAsset: string
  /** What the desk receives: the amount of the request without `remainder`. */
  readonly sourceAmount: MinorUnits
  /** What the destination's decimals cannot represent, which stays with the profile; 0 in market conversions. */
  readonly remainder: MinorUnits
  readonly destinationAsset: string
  /** What the desk pays. */
  readonly destinationAmount: MinorUnits
  /** Destination asset for one of the source asset: decimal text, rounded down to 18 fraction digits. */
  readonly price: string
  /** `par`, or the symbol of the market. */
  readonly priceSource: string
  readonly evidence: PriceEvidence
}

export type PriceOutcome = { readonly kind: 'priced'; readonly conversion: Conversion } | Waiting | Impossible

/** What pricing a conversion comes to: a price, a reason to wait, or never. Pure. */
import type { MinorUnits } from '../../ledger/posting.ts'
import type { PriceEvidence } from './evidence.ts'

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

/** The conversion has no price now and is to be tried again. */
export interface Waiting {
  readonly kind: 'waits'
  readonly waitingFor: 'PRICE' | 'PEG' | 'SLIPPAGE' | 'DESK_LIMIT'
  /** For people; no secrets. */
  readonly detail: string
}

/** The conversion will never have a price as it is. */
export interface Impossible {
  readonly kind: 'impossible'
  readonly code: 'NOT_CONVERTIBLE'
  readonly detail: string
}

export type PriceOutcome = { readonly kind: 'priced'; readonly conversion: Conversion } | Waiting | Impossible

export function waits(waitingFor: Waiting['waitingFor'], detail: string): Waiting {
  return { kind: 'waits', waitingFor, detail }
}

export function impossible(detail: string): Impossible {
  return { kind: 'impossible', code: 'NOT_CONVERTIBLE', detail }
}

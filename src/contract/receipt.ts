/** Constants and types of book receipts, shared by the service, which signs them, and the checking program. Pure. */

/** `typ` in a receipt's header. No token has it. */
export const RECEIPT_TYPE = 'tidegate-receipt+jws'

/** Path of the JWK Set with the public keys for receipts. */
export const RECEIPT_KEYS_PATH = '/.well-known/tidegate-receipt-keys.json'

/** A receipt's statement, with the payload's names. */
export interface ReceiptClaims {
  readonly market: string
  /** Levels per side (0 = all). */
  readonly depth: number
  readonly price_decimals: number
  readonly amount_decimals: number
  /** The cursor in the message that completes this book. */
  readonly cursor: string
  /** The message's commit time: RFC 3339, UTC, nine fraction digits. */
  readonly time: string
  readonly digest: string
  readonly origin?: string
}

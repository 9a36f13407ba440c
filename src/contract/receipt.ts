/** What receipts of books have in common for the service that signs them and the program that checks them. Pure. */

/** `typ` of the header of a receipt, which no token has. */
export const RECEIPT_TYPE = 'tidegate-receipt+jws'

/** Path of the JWK Set with the public keys of receipts. */
export const RECEIPT_KEYS_PATH = '/.well-known/tidegate-receipt-keys.json'

/** What a receipt states; the names are those of its payload. */
export interface ReceiptClaims {
  readonly market: string
  /** Levels per side; 0 = all. */
  readonly depth: number
  readonly price_decimals: number
  readonly amount_decimals: number
  /** The cursor of the message that completes this book. */
  readonly cursor: string
  /** Commit time of that message: RFC 3339, UTC, nine fraction digits. */
  readonly time: string
  readonly digest: string
  readonly origin?: string
}

/**
 * Constants, types and the record format of receipts, shared by the service, which signs them, and the checking
 * program. Pure.
 */

/** `typ` in a receipt's header. No token has it. */
export const RECEIPT_TYPE = 'tidegate-receipt-2+jws'

/** Path of the JWK Set with the public keys for receipts. */
export const RECEIPT_KEYS_PATH = '/.well-known/tidegate-receipt-keys.json'

/** The messages of one channel after a cursor, as a number and a hash of their records. */
export interface ReceiptWindow {
  readonly after: string
  readonly count: number
  /** SHA-256, base64url. */
  readonly sha256: string
}

/** A receipt's statement, with the payload's names. */
export interface ReceiptClaims {
  readonly market: string
  /** Levels per side (0 = all). */
  readonly depth: number
  readonly price_decimals: number
  readonly amount_decimals: number
  /** The cursor in the message that completes this book. */
  readonly cursor: string
  /** The commit time of that message: RFC 3339, UTC, nine fraction digits. */
  readonly time: string
  /** Hash of the whole view's level records, bids first, best first: SHA-256, base64url. */
  readonly book: string
  /** This view's unconflated UPDATEs up to the cursor. */
  readonly updates: ReceiptWindow
  readonly executions: ReceiptWindow
  readonly origin?: string
}

/** A record: its fields as netstrings (`5:hello,`). Lengths are in bytes. */
export function receiptRecord(...fields: readonly string[]): string {
  return fields.map((field) => `${Buffer.byteLength(field)}:${field},`).join('')
}

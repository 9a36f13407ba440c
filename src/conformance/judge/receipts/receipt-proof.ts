/**
 * Receipts as `prove` reads them: signature, type, members, and the public keys. It trusts only the given keys,
 * and uses a key for nothing but receipts. Pure.
 */
import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { RECEIPT_TYPE, type ReceiptClaims, type ReceiptWindow } from '../../../contract/receipt.ts'
import { isObject } from '../../../platform/base/json-value.ts'
import { isTimeText } from '../stream/checker-forms.ts'
import type { ReceiptFault } from './receipt-faults.ts'

export interface Receipt extends ReceiptClaims {
  readonly issuer: string
  readonly keyId: string
}

/** Public keys by their ids. */
export type ReceiptKeys = ReadonlyMap<string, KeyObject>

export type ReceiptReading =
  | { readonly ok: true; readonly receipt: Receipt }
  | { readonly ok: false; readonly fault: ReceiptFault; readonly detail: string }

/** Longest receipt accepted. The service's have about 900 characters. */
const CHARACTERS_MAX = 8_192
const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]{86})$/
const SHA256_TEXT = /^[\w-]{43}$/
const DECIMALS_MAX = 18

/** A JWK Set's keys (RFC 7517) for receipts. Undefined for any other document. */
export function readReceiptKeys(document: unknown): ReceiptKeys | undefined {
  if (!isObject(document) || !Array.isArray(document.keys)) return undefined
  const keys = new Map<string, KeyObject>()
  for (const key of document.keys) {
    if (!isObject(key) || typeof key.kid !== 'string' || key.kty !== 'EC' || key.crv !== 'P-256') continue
    const { kty, crv, x, y } = key
    try {
      keys.set(key.kid, createPublicKey({ key: { kty, crv, x, y } as JsonWebKey, format: 'jwk' }))
    } catch {
      // A malformed key proves nothing: its receipts are reported with `key-unknown`.
    }
  }
  return keys
}

export function readReceipt(text: string, keys: ReceiptKeys): ReceiptReading {
  const [, headerPart = '', payloadPart = '', signature = ''] = COMPACT.exec(text) ?? []
  const header = text.length > CHARACTERS_MAX ? undefined : parsePart(headerPart)
  const payload = header === undefined ? undefined : parsePart(payloadPart)
  if (header === undefined || payload === undefined) return fault('receipt-malformed', 'not a compact JWS')
  const { alg, typ, kid } = header
  if (alg !== 'ES256' || typ !== RECEIPT_TYPE || 'crit' in header) {
    return fault('receipt-type', `alg ${JSON.stringify(alg)}, typ ${JSON.stringify(typ)}`)
  }
  const key = typeof kid === 'string' ? keys.get(kid) : undefined
  if (key === undefined) return fault('key-unknown', `kid ${JSON.stringify(kid)}`)
  const signed = Buffer.from(`${headerPart}.${payloadPart}`)
  const isSigned = verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))
  if (!isSigned) return fault('signature-wrong', `of the key ${kid}`)
  const claims = claimsOf(payload)
  if (claims === undefined) return fault('receipt-malformed', 'a payload member is missing or has another type')
  return { ok: true, receipt: { ...claims, issuer: String(payload.iss), keyId: String(kid) } }
}

function claimsOf(payload: Record<string, unknown>): ReceiptClaims | undefined {
  const { iss, market, depth, price_decimals, amount_decimals, cursor, time, book, origin } = payload
  const [updates, executions] = [windowOf(payload.updates), windowOf(payload.executions)]
  const hasTexts = [iss, market, cursor, origin ?? ''].every((value) => typeof value === 'string')
  const hasNumbers = isCount(depth) && isDecimals(price_decimals) && isDecimals(amount_decimals)
  if (!hasTexts || !hasNumbers || !isTimeText(time, 9)) return undefined
  if (!isHash(book) || updates === undefined || executions === undefined) return undefined
  return {
    market: market as string,
    depth,
    price_decimals,
    amount_decimals,
    cursor: cursor as string,
    time,
    book,
    updates,
    executions,
    ...(origin === undefined ? {} : { origin: origin as string }),
  }
}

function windowOf(value: unknown): ReceiptWindow | undefined {
  if (!isObject(value)) return undefined
  const { after, count, sha256 } = value
  return typeof after === 'string' && isCount(count) && isHash(sha256) ? { after, count, sha256 } : undefined
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && SHA256_TEXT.test(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isDecimals(value: unknown): value is number {
  return isCount(value) && value <= DECIMALS_MAX
}

function parsePart(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    // Any text can be given as a receipt. The caller reports it as malformed.
    return undefined
  }
}

function fault(name: ReceiptFault, detail: string): ReceiptReading {
  return { ok: false, fault: name, detail }
}

/** Receipts for tests: issuers with a key, receipts signed by hand, their parts, and proofs of a client's messages. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { collectReceipts, FramesProof } from '../../src/conformance/judge/receipts/prove-frames.ts'
import { ReceiptList } from '../../src/conformance/judge/receipts/receipt-list.ts'
import { type ReceiptKeys, readReceiptKeys } from '../../src/conformance/judge/receipts/receipt-proof.ts'
import { RECEIPT_TYPE, type ReceiptClaims } from '../../src/contract/receipt.ts'
import type { Clock } from '../../src/platform/base/clock.ts'
import { type ReceiptIssuer, ReceiptSigner } from '../../src/streaming/sequencing/receipt-signer.ts'

export interface TestReceiptIssuer extends ReceiptIssuer {
  readonly publicKey: KeyObject
}

export function newReceiptIssuer(keyId = 'key-1'): TestReceiptIssuer {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { issuer: 'https://service.test', keyId, privateKey, publicKey }
}

export function signerOf(issuer: ReceiptIssuer) {
  return (clock: Clock): ReceiptSigner => new ReceiptSigner({ clock, current: () => issuer, onSigned: () => undefined })
}

/** The JWK Set with these issuers' keys. */
export function keySetOf(...issuers: readonly TestReceiptIssuer[]): { readonly keys: readonly object[] } {
  return {
    keys: issuers.map(({ keyId, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid: keyId, use: 'sig' })),
  }
}

/** What receipts prove of the messages that a client received, in order. */
export function proofOf(lines: readonly string[], ...issuers: readonly TestReceiptIssuer[]): ReceiptList {
  const receipts = new ReceiptList(readReceiptKeys(keySetOf(...issuers)) as ReceiptKeys)
  for (const line of lines) collectReceipts(line, receipts)
  const proof = new FramesProof(receipts, true)
  for (const line of lines) proof.onLine(line)
  proof.end()
  return receipts
}

/** A JWS over any header and payload. */
export function signJws(header: object, payload: object, privateKey: KeyObject): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode(header)}.${encode(payload)}`
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

export function signReceipt(
  { issuer, keyId, privateKey }: TestReceiptIssuer,
  claims: ReceiptClaims,
  header: object = {},
): string {
  return signJws({ alg: 'ES256', typ: RECEIPT_TYPE, kid: keyId, ...header }, { iss: issuer, ...claims }, privateKey)
}

export function partsOf(receipt: string | undefined) {
  const [header = '', payload = '', signature = ''] = (receipt ?? '').split('.')
  const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
  return { header: parse(header), payload: parse(payload), signed: `${header}.${payload}`, signature }
}

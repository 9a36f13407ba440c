/**
 * Signs receipts: this service's statements about a view and its messages, as compact JWS (RFC 7515) with ES256.
 * Receipts have their own type and keys, and neither audience nor expiry, so that no token verifier accepts one. A
 * signature takes 30 to 50 µs on the event loop, so only some are made per tick, without waiting. It does not decide
 * which books get a receipt.
 */
import { type KeyObject, sign } from 'node:crypto'
import { RECEIPT_TYPE, type ReceiptClaims } from '../../contract/receipt.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'

/** Signatures per event-loop tick: 1 to 2 ms. */
const SIGNATURES_PER_TICK_MAX = 32

export interface ReceiptIssuer {
  readonly issuer: string
  readonly keyId: string
  readonly privateKey: KeyObject
}

export interface ReceiptSignerOptions {
  readonly clock: Clock
  /** The issuer and the current signing key. Undefined while there is none. */
  readonly current: () => ReceiptIssuer | undefined
  /** Called for every signature. */
  readonly onSigned: () => void
}

export class ReceiptSigner {
  readonly clock: Clock
  readonly #options: ReceiptSignerOptions
  #signedInTick = 0
  /** The last key's encoded header. */
  #header = { keyId: '', text: '' }

  constructor(options: ReceiptSignerOptions) {
    this.#options = options
    this.clock = options.clock
  }

  get hasKey(): boolean {
    return this.#options.current() !== undefined
  }

  /** The receipt. `later` when this tick has made enough, undefined without a key. */
  sign(claims: ReceiptClaims): string | 'later' | undefined {
    const current = this.#options.current()
    if (current === undefined) return undefined
    if (this.#signedInTick >= SIGNATURES_PER_TICK_MAX) return 'later'
    if (this.#signedInTick === 0) {
      this.clock.endOfTick(() => {
        this.#signedInTick = 0
      })
    }
    this.#signedInTick += 1
    const signed = `${this.#headerOf(current.keyId)}.${encode({ iss: current.issuer, ...claims })}`
    const signature = sign('sha256', Buffer.from(signed), { key: current.privateKey, dsaEncoding: 'ieee-p1363' })
    this.#options.onSigned()
    return `${signed}.${signature.toString('base64url')}`
  }

  #headerOf(keyId: string): string {
    if (this.#header.keyId !== keyId) {
      this.#header = { keyId, text: encode({ alg: 'ES256', typ: RECEIPT_TYPE, kid: keyId }) }
    }
    return this.#header.text
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

export function createReceiptCounter(registry: MetricsRegistry): Counter {
  return new Counter({
    name: 'tidegate_receipts_signed_total',
    help: 'Signed book receipts',
    registers: [registry],
  })
}

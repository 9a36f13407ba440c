/**
 * The requests that a service sends to your delivery executor and your webhook endpoints. They are signed as in Standard Webhooks 1.0, with
 * HMAC-SHA256 over the id, the time and the body's bytes.
 */
import { TidegateError } from './errors.ts'
import type { CustomerEvent } from './events/event.ts'

/** A payment requested by the service. */
export interface DeliveryRequest {
  readonly type: 'delivery.requested'
  /** When the request was first sent: RFC 3339. */
  readonly timestamp: string
  readonly data: {
    /** The same in every attempt: your idempotency key. */
    readonly id: string
    readonly asset: string
    /** Exact decimal text. */
    readonly amount: string
    readonly destination: {
      readonly crypto?: { readonly address: string; readonly network: string; readonly memo?: string }
      readonly fiat?: { readonly fiat_account_id: string; readonly memo?: string; readonly network?: string }
    }
    readonly customer_id: string
    readonly profile_id: string
    readonly account_id?: string
    readonly orchestration_id?: string
    readonly deposit_id?: string
    readonly metadata: Readonly<Record<string, unknown>>
  }
}

type HeaderFields = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * A larger difference between the request's time and ours is refused, because the request may be a recorded one sent
 * again.
 */
const TOLERANCE_SECONDS = 300

/**
 * The payment in a request signed with one of the secrets. Throws `INVALID_SIGNATURE` for any other: answer 401.
 * @param body the bytes or text exactly as received, because parsing and serialising again changes the signature
 * @param secrets `whsec_…`: one, or two while the secret is being replaced
 */
export async function verifyDelivery(
  headers: HeaderFields,
  body: Uint8Array | string,
  secrets: readonly string[],
  nowMilliseconds = Date.now(),
): Promise<DeliveryRequest> {
  const text = await verified(body, headers, { secrets, nowMilliseconds, origin: 'deliveries.webhook_secrets' })
  return JSON.parse(text) as DeliveryRequest
}

/**
 * The event in a request to your webhook endpoint, signed with one of the secrets. Throws `INVALID_SIGNATURE` for any
 * other: answer 401. `body` and `secrets` are as for `verifyDelivery`.
 */
export async function verifyWebhook(
  body: Uint8Array | string,
  headers: HeaderFields,
  secrets: readonly string[],
  nowMilliseconds = Date.now(),
): Promise<CustomerEvent> {
  const text = await verified(body, headers, { secrets, nowMilliseconds, origin: 'this endpoint' })
  return JSON.parse(text) as CustomerEvent
}

interface Verification {
  readonly secrets: readonly string[]
  readonly nowMilliseconds: number
  /** Where the secrets come from. */
  readonly origin: string
}

/** The body's text, once a signature is right. */
async function verified(
  body: Uint8Array | string,
  headers: HeaderFields,
  { secrets, nowMilliseconds, origin }: Verification,
): Promise<string> {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => field(headers, `webhook-${name}`))
  if (!id || !timestamp || !signatures) throw refusal('it has no webhook-id, webhook-timestamp or webhook-signature')
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  // This is also true when the time is not a number.
  if (!(Math.abs(nowMilliseconds / 1_000 - seconds) <= TOLERANCE_SECONDS))
    throw refusal(`its time, ${timestamp}, is not within ${TOLERANCE_SECONDS} s of ours: check the clock`)
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(prefix.length + bytes.length)
  signed.set(prefix)
  signed.set(bytes, prefix.length)
  const given = signatures.split(' ').flatMap((each) => (each.startsWith('v1,') ? decoded(each.slice(3)) : []))
  for (const secret of secrets) {
    const key = await keyOf(secret)
    for (const signature of given) {
      // Compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return text
    }
  }
  throw refusal(`no secret has signed it: check that the secrets are those of ${origin}`)
}

function field(headers: HeaderFields, name: string): string | undefined {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  return typeof value === 'string' ? value : undefined
}

async function keyOf(secret: string) {
  const [bytes] = secret.startsWith('whsec_') ? decoded(secret.slice('whsec_'.length)) : []
  if (bytes === undefined) throw new TidegateError('INVALID_ARGUMENT', 'a secret must be whsec_ followed by base64')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

/** The decoded base64 bytes, or none for invalid base64. */
function decoded(text: string): Uint8Array<ArrayBuffer>[] {
  try {
    return [Uint8Array.from(atob(text), (character) => character.charCodeAt(0))]
  } catch {
    return []
  }
}

function refusal(reason: string): TidegateError {
  return new TidegateError('INVALID_SIGNATURE', `the webhook is refused: ${reason}`)
}

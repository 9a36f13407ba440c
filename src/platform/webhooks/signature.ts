/**
 * Webhook signatures by Standard Webhooks 1.0: HMAC-SHA256 over id, time and body, one for each current secret. No error
 * message from this file contains a secret.
 */
import { createHmac } from 'node:crypto'

/** In bytes, by the specification. */
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64

const SECRET_PREFIX = 'whsec_'

/** The key in a secret such as `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`, or undefined when the text is not a secret. */
function keyOfSecret(secret: string): Buffer | undefined {
  if (!secret.startsWith(SECRET_PREFIX)) return undefined
  const text = secret.slice(SECRET_PREFIX.length)
  const key = Buffer.from(text, 'base64')
  // Decoding skips other characters, so text is base64 only if it encodes back to itself.
  if (key.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, '')) return undefined
  return key.length >= SECRET_BYTES_MIN && key.length <= SECRET_BYTES_MAX ? key : undefined
}

/** Current secrets, at most: a second one while receivers change to the new one. */
const SECRETS_MAX = 2

/** The secrets in text, separated by blanks, commas or line breaks, or undefined when the text is invalid. */
export function secretsOf(text: string): readonly string[] | undefined {
  const secrets = text.split(/[\s,]+/).filter((secret) => secret !== '')
  const areAccepted = secrets.every((secret) => keyOfSecret(secret) !== undefined)
  return areAccepted && secrets.length <= SECRETS_MAX && new Set(secrets).size === secrets.length ? secrets : undefined
}

export interface SignedMessage {
  /** Contains no point. */
  readonly id: string
  /** Seconds since the epoch. */
  readonly timestamp: number
  readonly body: string
}

/** The three request headers, with one signature for each secret. */
export function signatureHeaders(
  { id, timestamp, body }: SignedMessage,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const signatures = secrets.flatMap((secret) => {
    const key = keyOfSecret(secret)
    if (key === undefined) return []
    return [`v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`]
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  }
}

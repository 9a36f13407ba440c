/**
 * Signatures of webhooks as Standard Webhooks 1.0 has them: HMAC-SHA256 over id, time and body, with each secret that is
 * valid now. Secrets leave this file in no message.
 */
import { createHmac } from 'node:crypto'

/** In bytes, as the specification has it. */
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64

const SECRET_PREFIX = 'whsec_'

/** The key in a secret such as `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`; undefined: it is not one. */
function keyOfSecret(secret: string): Buffer | undefined {
  if (!secret.startsWith(SECRET_PREFIX)) return undefined
  const text = secret.slice(SECRET_PREFIX.length)
  const key = Buffer.from(text, 'base64')
  // Decoding skips what is no base64; only text that comes out the same way was it.
  if (key.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, '')) return undefined
  return key.length >= SECRET_BYTES_MIN && key.length <= SECRET_BYTES_MAX ? key : undefined
}

/** Valid at a time: a second one while receivers change from one to the other. */
const SECRETS_MAX = 2

/** The secrets in a text with blanks, commas or line breaks between them; undefined: it is something else. */
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

/** The three headers of a request: one signature for each secret, so a receiver may have either of two. */
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

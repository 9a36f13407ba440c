/** Requests to the endpoints of webhooks, and how a check changes them from what the service sends. */
import { randomBytes } from 'node:crypto'
import { newId } from '../../platform/base/ids.ts'

export interface Sent {
  readonly id: string
  readonly body: string
}

/** Differences from an ordinary request. */
export interface Change {
  readonly secrets?: readonly string[]
  readonly ageSeconds?: number
  readonly sentBody?: string
  readonly headers?: (headers: Readonly<Record<string, string>>) => Readonly<Record<string, string>>
}

/** Further from the current time than a receiver should accept. */
const OLD_SECONDS = 3_600

/** Requests that no receiver may trust, by the rule that they test. */
export const UNTRUSTED = {
  'wrong-signature': () => [{ secrets: [newSecret()] }],
  'no-signature': () => [
    { headers: ({ 'webhook-signature': _, ...rest }: Readonly<Record<string, string>>) => rest },
    { headers: (headers: Readonly<Record<string, string>>) => ({ ...headers, 'webhook-signature': '' }) },
  ],
  // A receiver that signs the id in the body takes a recorded request again and again.
  'altered-id': () => [
    { headers: (headers: Readonly<Record<string, string>>) => ({ ...headers, 'webhook-id': newId() }) },
  ],
  'old-timestamp': () => [{ ageSeconds: OLD_SECONDS }, { ageSeconds: -OLD_SECONDS }],
} as const satisfies Readonly<Record<string, () => readonly Change[]>>

/** Requests with several signatures, one of which is valid. */
export function withTwoSignatures(secret: string): readonly Change[] {
  // A signature with an unknown version precedes the known one.
  const later = (headers: Readonly<Record<string, string>>) => ({
    ...headers,
    'webhook-signature': `v1a,${Buffer.alloc(64).toString('base64')} ${headers['webhook-signature']}`,
  })
  return [{ secrets: [newSecret(), secret] }, { secrets: [secret, newSecret()] }, { headers: later }]
}

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

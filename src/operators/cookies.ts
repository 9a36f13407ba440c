/**
 * The session cookie. Encrypted, it has the prefix `__Host-`, which browsers accept only with `Secure`, for the whole host and
 * without `Domain`: no other host and no unencrypted page can set it. On this machine it has another name.
 */
import type { Channel } from './channel.ts'

const NAMES = { encrypted: '__Host-tidegate-operator', local: 'tidegate-operator' } as const
/** More is no cookie of ours. */
const HEADER_CHARACTERS_MAX = 8_192

/** The value of `Set-Cookie`. It has no `Max-Age`: the browser drops it when it closes, the service when the session ends. */
export function sessionCookie(channel: 'encrypted' | 'local', secret: string): string {
  return `${NAMES[channel]}=${secret}; ${attributesOf(channel)}`
}

export function removedCookie(channel: 'encrypted' | 'local'): string {
  return `${NAMES[channel]}=; ${attributesOf(channel)}; Max-Age=0`
}

/** The secret in the header field `Cookie`; undefined when there is none that fits the channel. */
export function readSessionCookie(header: string | undefined, channel: Channel): string | undefined {
  if (header === undefined || channel === 'open' || header.length > HEADER_CHARACTERS_MAX) return undefined
  const start = `${NAMES[channel]}=`
  const pairs = header.split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(start))?.slice(start.length)
}

function attributesOf(channel: 'encrypted' | 'local'): string {
  return `Path=/; HttpOnly; SameSite=Strict${channel === 'encrypted' ? '; Secure' : ''}`
}

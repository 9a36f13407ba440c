/**
 * The operators' cookies: for the session, for known browsers, and for a login at the outside issuer. Encrypted, they
 * have the prefix `__Host-`, which browsers accept only with `Secure`, for the whole host and without `Domain`: no
 * other host and no unencrypted page can set them. On this machine they have other names.
 */
import type { Channel } from './channel.ts'
import { KNOWN_SECONDS, knownBrowserSuffix } from './known-browsers.ts'

const NAMES = { encrypted: '__Host-tidegate-operator', local: 'tidegate-operator' } as const
const KNOWN_NAMES = { encrypted: '__Host-tidegate-known-', local: 'tidegate-known-' } as const
const LOGIN_NAME = '__Host-tidegate-operator-login'
/** A longer header has no cookie from us. */
const HEADER_CHARACTERS_MAX = 8_192

/**
 * The `Set-Cookie` value. It has no `Max-Age`: the browser drops it when it closes, the service when the session ends.
 */
export function sessionCookie(channel: 'encrypted' | 'local', secret: string): string {
  return `${NAMES[channel]}=${secret}; ${attributesOf(channel)}`
}

export function removedCookie(channel: 'encrypted' | 'local'): string {
  return `${NAMES[channel]}=; ${attributesOf(channel)}; Max-Age=0`
}

/** The secret in the header field `Cookie`. Undefined when there is none that fits the channel. */
export function readSessionCookie(header: string | undefined, channel: Channel): string | undefined {
  return channel === 'open' ? undefined : valueIn(header, NAMES[channel])
}

/** The cookie by which a browser is known in which this operator has signed in. */
export function knownBrowserCookie(channel: 'encrypted' | 'local', operatorName: string, value: string): string {
  const name = KNOWN_NAMES[channel] + knownBrowserSuffix(operatorName)
  return `${name}=${value}; ${attributesOf(channel)}; Max-Age=${KNOWN_SECONDS}`
}

export function readKnownBrowserCookie(
  header: string | undefined,
  channel: Channel,
  operatorName: string,
): string | undefined {
  return channel === 'open' ? undefined : valueIn(header, KNOWN_NAMES[channel] + knownBrowserSuffix(operatorName))
}

/**
 * The cookie between a login's two ends at the issuer, only over encrypted connections. It is `Lax`, because the
 * issuer's page sends the browser back, and browsers send no `Strict` cookie then.
 */
export function loginCookie(value: string, seconds: number): string {
  return `${LOGIN_NAME}=${value}; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=${seconds}`
}

export function readLoginCookie(header: string | undefined): string | undefined {
  return valueIn(header, LOGIN_NAME)
}

function valueIn(header: string | undefined, name: string): string | undefined {
  if (header === undefined || header.length > HEADER_CHARACTERS_MAX) return undefined
  const start = `${name}=`
  const pairs = header.split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(start))?.slice(start.length)
}

function attributesOf(channel: 'encrypted' | 'local'): string {
  return `Path=/; HttpOnly; SameSite=Strict${channel === 'encrypted' ? '; Secure' : ''}`
}

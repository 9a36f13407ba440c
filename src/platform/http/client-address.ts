/**
 * A request's client address. It is the peer's, or, behind a trusted proxy, the one in the proxy's `X-Forwarded-For`,
 * followed hop by hop from the right up to the first untrusted hop. Entries written by an untrusted peer are never
 * used, and neither are entries that are not addresses.
 */
import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import { all, compile } from '@fastify/proxy-addr'
import { NO_HOLDER } from '../base/shared-pool.ts'
import { isLoopbackAddress } from './host-check.ts'

export interface ClientAddress {
  /** The client's address without a port. IPv4 is in dotted form, also when it was mapped into IPv6. */
  (request: IncomingMessage): string
  /** As what an address holds a shared pool: a trusted proxy and loopback are many clients, so they are no holder. */
  holderOf(address: string): string
}

/** The address for a request whose socket is closed already. */
const UNKNOWN = 'unknown'
/** Only the field's end is read, which the nearest proxies wrote: enough for a hundred hops. */
const FORWARDED_CHARACTERS_MAX = 4_096
const RANGE_NAMES = ['loopback', 'linklocal', 'uniquelocal']
const MAPPED_PREFIX = /^::ffff:(?=\d+\.)/i
/** IPv6 address groups that name a network. A provider's customer gets at least a /64. */
const NETWORK_GROUPS = 4
const IPV6_GROUPS = 8

/**
 * @param trusted addresses, CIDR ranges, and the names `loopback`, `linklocal`, `uniquelocal`
 * @param onUntrusted called for an untrusted peer that sends `X-Forwarded-For`
 */
export function createClientAddress(
  trusted: readonly string[],
  onUntrusted: (peer: string) => void = () => undefined,
): ClientAddress {
  const isProxy = createProxyTrust(trusted)
  const holderOf = (address: string): string => {
    const bare = bareAddress(address)
    return bare === UNKNOWN || isLoopbackAddress(bare) || isProxy(bare) ? NO_HOLDER : addressBlock(bare)
  }
  const addressOf = ({ socket, headers }: IncomingMessage): string => {
    const peer = socket.remoteAddress
    if (peer === undefined) return UNKNOWN
    const forwarded = headers['x-forwarded-for']
    if (forwarded === undefined) return bareAddress(peer)
    if (!isProxy(peer)) {
      onUntrusted(bareAddress(peer))
      return bareAddress(peer)
    }
    // From the peer back to the first untrusted hop. An entry that is not an address ends the path before it.
    const nearest = { socket, headers: { 'x-forwarded-for': String(forwarded).slice(-FORWARDED_CHARACTERS_MAX) } }
    const named = all(nearest as unknown as IncomingMessage, isProxy).map(bareAddress)
    const firstFault = named.findIndex((address) => isIP(address) === 0)
    return (firstFault < 0 ? named.at(-1) : named[firstFault - 1]) ?? peer
  }
  return Object.assign(addressOf, { holderOf })
}

/** Whether an address is a trusted proxy. */
export function createProxyTrust(trusted: readonly string[]): (address: string) => boolean {
  const isTrusted = trusted.length === 0 ? () => false : compile([...trusted])
  return (address) => isTrusted(bareAddress(address), 0)
}

/** Whether `text` is a valid entry for the trusted proxies. */
export function isProxyRange(text: string): boolean {
  const [address = ''] = text.split('/', 1)
  // The library also accepts abbreviations (`10.1` as 10.0.0.1), which are more likely mistakes.
  if (isIP(address) === 0 && !RANGE_NAMES.includes(text)) return false
  try {
    compile(text)
    return true
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

/** The key for limits per address: an IPv4 address, or an IPv6 address's /64. */
export function addressBlock(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = (address.split('%', 1)[0] as string).split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : IPV6_GROUPS - front.length - groupsOf(back)
  const groups = [...front, ...Array<string>(Math.max(0, zeros)).fill('0'), ...back]
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}

/** A dotted IPv4 address at an IPv6 address's end counts as two groups. */
function groupsOf(back: readonly string[]): number {
  return back.length + (back.at(-1)?.includes('.') ? 1 : 0)
}

/** Some proxies write the port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function bareAddress(hop: string): string {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop)?.[1] ?? hop
  return bare.replace(MAPPED_PREFIX, '')
}

/**
 * Decides which addresses may receive webhooks. The caller resolves the name once, checks all addresses and connects to a
 * checked one, so a different resolution a moment later (DNS rebinding) has no effect.
 */
import { BlockList, isIP } from 'node:net'

/**
 * IPv4 ranges that are not public: the IANA registry of special-purpose addresses, multicast, and Azure's platform service,
 * which answers every virtual machine there. Other clouds' metadata services are in the special ranges.
 */
const SPECIAL_RANGES_4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const

/**
 * IPv6's only public range. All others are loopback, mapped or translated IPv4, link-local, unique-local, multicast or
 * not assigned.
 */
const GLOBAL_RANGE_6 = ['2000::', 3] as const

/** Ranges inside GLOBAL_RANGE_6 that are not public: protocol assignments (such as Teredo), documentation, 6to4. */
const SPECIAL_RANGES_6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const

const special4 = new BlockList()
for (const [network, bits] of SPECIAL_RANGES_4) special4.addSubnet(network, bits, 'ipv4')
const global6 = new BlockList()
global6.addSubnet(...GLOBAL_RANGE_6, 'ipv6')
const special6 = new BlockList()
for (const [network, bits] of SPECIAL_RANGES_6) special6.addSubnet(network, bits, 'ipv6')
const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether text is a public address. */
function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !special4.check(address, 'ipv4')
  return version === 6 && global6.check(address, 'ipv6') && !special6.check(address, 'ipv6')
}

function isLoopbackAddress(address: string): boolean {
  const version = isIP(address)
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** Whether a URL names this machine. Only then is plain HTTP accepted. */
export function isLoopbackHost({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return host === 'localhost' || isLoopbackAddress(host)
}

/** Why a webhook must not be sent to the URL's resolved addresses, or undefined when all are allowed. */
export function addressesFault(
  url: URL,
  addresses: readonly string[],
  allowPrivate: boolean,
): 'the name has no address' | 'the name resolves to an address that is not public' | undefined {
  if (addresses.length === 0) return 'the name has no address'
  const isAccepted = isLoopbackHost(url) ? isLoopbackAddress : allowPrivate ? () => true : isPublicAddress
  return addresses.every(isAccepted) ? undefined : 'the name resolves to an address that is not public'
}

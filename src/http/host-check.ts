/**
 * Which names a listener answers to. A page whose own name is made to resolve to this machine (DNS rebinding) sends that
 * name in `Host`, and a page of another origin sends its origin in `Origin`; both are rejected before anything else of
 * the request counts. An IP address in `Host` cannot be rebound, so whoever addresses the listener by IP address, as
 * probes do, is accepted. Programs that send no `Host` (HTTP/1.0) or no `Origin` are no browsers. Pure.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { Problem } from './problem.ts'

/** What is wrong with where a request was sent, or where it comes from; undefined when nothing is. */
export type HostCheck = (request: IncomingMessage) => Problem | undefined

/**
 * @param allowed names that are accepted besides IP addresses and `localhost`; asked each time, since it may change
 * @param setting the setting that holds them, for the answer to those who are rejected
 */
export function createHostCheck(allowed: () => readonly string[], setting: string): HostCheck {
  return (request) => {
    const { host } = request.headers
    if (host !== undefined && !isAccepted(hostNameOf(host), allowed())) {
      return new Problem('misdirected_request', `Host: neither an IP address nor a name in ${setting}`)
    }
    if (request.headers.origin === undefined || isSameOrigin(request)) return undefined
    return new Problem('foreign_origin', 'Origin: pages of other origins may not call this listener')
  }
}

/** Whether the name in a `Host` field is an IP address or `localhost`, which no name server can redirect. */
export function isLocalHost(host: string): boolean {
  return isAccepted(hostNameOf(host), [])
}

/** Whether the name in a `Host` field is of this machine alone: `localhost`, 127.0.0.0/8 or ::1. */
export function isLoopbackHost(host: string): boolean {
  const name = hostNameOf(host)
  return name === 'localhost' || isLoopbackAddress(name)
}

/** Whether an IP address is of this machine alone. */
export function isLoopbackAddress(address: string): boolean {
  const ipv4 = address.replace(/^::ffff:/i, '')
  return isIP(ipv4) === 4 ? ipv4.startsWith('127.') : address === '::1'
}

/** Whether a page of the very origin that the request is addressed to sent it; a request without `Origin` is none. */
export function isSameOrigin({ headers: { host, origin }, socket }: IncomingMessage): boolean {
  if (host === undefined || origin === undefined) return false
  return origin === originAt('encrypted' in socket ? 'https' : 'http', host)
}

function isAccepted(name: string, allowed: readonly string[]): boolean {
  if (isIP(name) !== 0 || name === 'localhost') return true
  return allowed.some((other) => canonical(other) === name)
}

/** The name or address in a `Host` field, without port and brackets, in lower case; empty when there is none. */
function hostNameOf(host: string): string {
  if (!URL.canParse(`http://${host}`)) return ''
  return canonical(new URL(`http://${host}`).hostname)
}

/** A dot at the end changes nothing about a name. */
function canonical(name: string): string {
  return name.toLowerCase().replace(/^\[|\]$|\.$/g, '')
}

function originAt(scheme: string, host: string): string | undefined {
  return URL.canParse(`${scheme}://${host}`) ? new URL(`${scheme}://${host}`).origin : undefined
}

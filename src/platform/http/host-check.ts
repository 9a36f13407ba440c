/**
 * Protects a listener against web pages. A page whose domain resolves to this machine (DNS rebinding) sends that domain
 * in `Host`, and a cross-origin page sends its origin in `Origin`. Both are rejected before any other check. An IP
 * address in `Host` cannot be rebound and is accepted, as probes send it. A request without `Host` (HTTP/1.0) or
 * `Origin` does not come from a web page and is accepted.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { Problem } from './problem.ts'

/** The problem with a request's `Host` or `Origin`, or undefined when there is none. */
export type HostCheck = (request: IncomingMessage) => Problem | undefined

/**
 * @param allowed names accepted besides IP addresses and `localhost`. Called for each request, as it may change
 * @param setting the setting's name, for the problem's detail
 * @param publicOrigin the origin for pages that reach the listener through a proxy. Empty: there is none
 */
export function createHostCheck(allowed: () => readonly string[], setting: string, publicOrigin = ''): HostCheck {
  return (request) => {
    const { host } = request.headers
    if (host !== undefined && !isAccepted(hostNameOf(host), allowed())) {
      return new Problem('misdirected_request', `Host: must be an IP address, localhost or a name in ${setting}`)
    }
    const { origin } = request.headers
    if (origin === undefined || isSameOrigin(request) || origin === publicOrigin) return undefined
    return new Problem('foreign_origin', 'Origin: pages from other origins may not call this listener')
  }
}

/** Whether the name in a `Host` field is an IP address or `localhost`, which DNS cannot redirect. */
export function isLocalHost(host: string): boolean {
  return isAccepted(hostNameOf(host), [])
}

/** Whether the name in a `Host` field is a loopback one: `localhost`, 127.0.0.0/8 or ::1. */
export function isLoopbackHost(host: string): boolean {
  const name = hostNameOf(host)
  return name === 'localhost' || isLoopbackAddress(name)
}

/** Whether an IP address is a loopback address. */
export function isLoopbackAddress(address: string): boolean {
  const ipv4 = address.replace(/^::ffff:/i, '')
  return isIP(ipv4) === 4 ? ipv4.startsWith('127.') : address === '::1'
}

/** Whether the request comes from a page with the origin that it is addressed to. False without `Origin`. */
export function isSameOrigin({ headers: { host, origin }, socket }: IncomingMessage): boolean {
  if (host === undefined || origin === undefined) return false
  return origin === originAt('encrypted' in socket ? 'https' : 'http', host)
}

function isAccepted(name: string, allowed: readonly string[]): boolean {
  if (isIP(name) !== 0 || name === 'localhost') return true
  return allowed.some((other) => canonical(other) === name)
}

/** The name or address in a `Host` field, without port and brackets, in lower case. Empty when it is invalid. */
function hostNameOf(host: string): string {
  if (!URL.canParse(`http://${host}`)) return ''
  return canonical(new URL(`http://${host}`).hostname)
}

/** A trailing dot does not change a name. */
function canonical(name: string): string {
  return name.toLowerCase().replace(/^\[|\]$|\.$/g, '')
}

function originAt(scheme: string, host: string): string | undefined {
  return URL.canParse(`${scheme}://${host}`) ? new URL(`${scheme}://${host}`).origin : undefined
}

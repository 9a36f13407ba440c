/**
 * The checks on a request's head before routing, and its target's path. The parser rejects ambiguous heads (lengths,
 * line ends, folding). These are the other checks.
 */
import type { IncomingMessage } from 'node:http'
import { Problem } from './problem.ts'

/**
 * More fields are 431. Browsers behind three proxies send about fifty. Very many small fields take more time than their
 * size suggests.
 */
export const HEAD_FIELDS_MAX = 200

/** A parsed head's problem, or undefined when there is none. */
export function refuseHead(request: IncomingMessage): Problem | undefined {
  const { rawHeaders, httpVersion } = request
  if (rawHeaders.length / 2 > HEAD_FIELDS_MAX) {
    return new Problem('headers_too_large', `the request head has more than ${HEAD_FIELDS_MAX} fields`)
  }
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') hosts++
  }
  // RFC 9112 section 3.2: in HTTP/1.1 both no host and more than one are errors. An invalid host is an error in either
  // version.
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    return new Problem('invalid_request', 'Host: must be present exactly once')
  }
  const { host = '' } = request.headers
  if (host !== '' && !isHost(host))
    return new Problem('invalid_request', 'Host: must be a host name or an IP address, optionally with a port')
  return undefined
}

/** A name has at most 253 characters, a port 6. Parsing half a megabyte in non-ASCII letters takes 25 ms. */
const HOST_CHARACTERS_MAX = 300

/** A URL's authority, without credentials. */
function isHost(text: string): boolean {
  return text.length <= HOST_CHARACTERS_MAX && !/[/\\?#@]/.test(text) && URL.canParse(`http://${text}`)
}

/** A request target's path and query, also for an absolute URL, as proxies send it (RFC 9112 section 3.2.2). */
export function originForm(target: string): string {
  const absolute = /^https?:\/\/[^/?#]*/i.exec(target)
  if (absolute === null) return target
  const rest = target.slice(absolute[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

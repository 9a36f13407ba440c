/**
 * Checks of a request's head that precede routing, and the path of its target. Ambiguous heads (lengths, line ends,
 * folding) are rejected by the parser; these are the checks that it does not make.
 */
import type { IncomingMessage } from 'node:http'
import { Problem } from './problem.ts'

/**
 * More fields are 431. Browsers behind three proxies send about fifty; very many small fields take more time than their
 * size suggests.
 */
export const HEAD_FIELDS_MAX = 200

/** The problem of a parsed head; undefined when there is none. */
export function refuseHead(request: IncomingMessage): Problem | undefined {
  const { rawHeaders, httpVersion } = request
  if (rawHeaders.length / 2 > HEAD_FIELDS_MAX) {
    return new Problem('headers_too_large', `the head of the request has more than ${HEAD_FIELDS_MAX} fields`)
  }
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length
  // RFC 9112 section 3.2: none, and more than one, are errors of HTTP/1.1, and one that is no host is an error of both.
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    return new Problem('invalid_request', 'Host: must be present exactly once')
  }
  const { host = '' } = request.headers
  if (host !== '' && !isHost(host))
    return new Problem('invalid_request', 'Host: must be a host name or an IP address, optionally with a port')
  return undefined
}

/** A name has at most 253 characters, a port 6. Parsing half a megabyte of non-ASCII letters takes 25 ms. */
const HOST_CHARACTERS_MAX = 300

/** The authority of a URL, without credentials. */
function isHost(text: string): boolean {
  return text.length <= HOST_CHARACTERS_MAX && !/[/\\?#@]/.test(text) && URL.canParse(`http://${text}`)
}

/** Path and query of a request target, also of an absolute URL, as proxies send it (RFC 9112 section 3.2.2). */
export function originForm(target: string): string {
  const absolute = /^https?:\/\/[^/?#]*/i.exec(target)
  if (absolute === null) return target
  const rest = target.slice(absolute[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

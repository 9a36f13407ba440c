/**
 * Rules of a request's head that hold before anybody looks for a route, and the path of its target. Pure. The parser
 * has refused whatever has two readings (lengths, line ends, folding); this is what it lets through.
 */
import type { IncomingMessage } from 'node:http'
import { Problem } from './problem.ts'

/**
 * More fields are 431. Browsers behind three proxies send about fifty; reading very many small ones costs time that
 * their bytes do not show.
 */
export const HEAD_FIELDS_MAX = 200

/** What is wrong with a head that was parsed; undefined when nothing is. */
export function refuseHead(request: IncomingMessage): Problem | undefined {
  const { rawHeaders, httpVersion } = request
  if (rawHeaders.length / 2 > HEAD_FIELDS_MAX) {
    return new Problem('headers_too_large', `the head of the request has more than ${HEAD_FIELDS_MAX} fields`)
  }
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length
  // RFC 9112 section 3.2: none, and more than one, are errors of HTTP/1.1, and one that is no host is an error of both.
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    return new Problem('invalid_request', 'Host: must be there exactly once')
  }
  const { host = '' } = request.headers
  if (host !== '' && !isHost(host)) return new Problem('invalid_request', 'Host: must be a name or address, and a port')
  return undefined
}

/** A name has at most 253 characters, a port 6. Half a megabyte of letters outside ASCII takes 25 ms to judge. */
const HOST_CHARACTERS_MAX = 300

/** What a URL has between `//` and its path, without credentials. */
function isHost(text: string): boolean {
  return text.length <= HOST_CHARACTERS_MAX && !/[/\\?#@]/.test(text) && URL.canParse(`http://${text}`)
}

/** Path and query of a request target, also when it came as a whole URL, as proxies send it (RFC 9112 section 3.2.2). */
export function originForm(target: string): string {
  const absolute = /^https?:\/\/[^/?#]*/i.exec(target)
  if (absolute === null) return target
  const rest = target.slice(absolute[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

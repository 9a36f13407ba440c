/**
 * Header fields that every answer carries, on every listener, also where an answer is written before there is a request.
 * They tell browsers to do nothing with an answer that its reader did not ask for; a route may put its own in place.
 */

const EVERYWHERE = {
  // Answers hold secrets that are shown once, or one customer's data; what may be kept says so itself.
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** One year (RFC 6797). Not for subdomains: those are not ours to speak for. */
const OVER_TLS = { ...EVERYWHERE, 'strict-transport-security': 'max-age=31536000' }

/** @param socket the connection of the answer; over TLS, browsers are told to stay with it */
export function securityHeaders(socket: object): Readonly<Record<string, string>> {
  return 'encrypted' in socket && socket.encrypted === true ? OVER_TLS : EVERYWHERE
}

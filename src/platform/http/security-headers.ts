/**
 * Security header fields of every answer of every listener, also of answers that are written before there is a request
 * object. A route may override them.
 */

const EVERYWHERE = {
  // Answers contain secrets that are shown once, or one customer's data; routes whose answers may be cached override it.
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** One year (RFC 6797). Not for subdomains, which may belong to other services. */
const OVER_TLS = { ...EVERYWHERE, 'strict-transport-security': 'max-age=31536000' }

/** @param socket the connection of the answer; over TLS the fields include Strict-Transport-Security */
export function securityHeaders(socket: object): Readonly<Record<string, string>> {
  return 'encrypted' in socket && socket.encrypted === true ? OVER_TLS : EVERYWHERE
}

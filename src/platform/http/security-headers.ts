/**
 * Security header fields for every answer on every listener, also for answers written before there is a request object.
 * A route may override them.
 */

const EVERYWHERE = {
  // Answers contain secrets shown once, or one customer's data. Routes with cacheable answers override it.
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** One year (RFC 6797). Not for subdomains, which may belong to other services. */
const OVER_TLS = { ...EVERYWHERE, 'strict-transport-security': 'max-age=31536000' }

/** @param socket the answer's connection. Over TLS the fields include Strict-Transport-Security */
export function securityHeaders(socket: object): Readonly<Record<string, string>> {
  return 'encrypted' in socket && socket.encrypted === true ? OVER_TLS : EVERYWHERE
}

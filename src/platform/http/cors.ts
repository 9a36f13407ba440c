/**
 * CORS: which cross-origin pages may read answers (https://fetch.spec.whatwg.org/#http-cors-protocol). Credentials are
 * never allowed: there are no cookies, and a page sends the token itself. Without configured origins no header is sent.
 * A preflight is answered only for an existing path, so 404 and 405 are unchanged. WebSocket handshakes are not
 * affected.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Header fields that a page may read in addition to the always readable ones. */
const EXPOSED = 'X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, Tidegate-Ignored-Parameters'

const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type',
  // Two hours, the longest time that Chromium caches.
  'access-control-max-age': '7200',
}

/**
 * @param origins exact origins, or `*`
 * @param isKnown whether a resource exists at a URL
 */
export function allowOrigins(
  app: FastifyInstance,
  origins: readonly string[],
  isKnown: (url: string) => boolean,
): void {
  if (origins.length === 0) return
  const isOpen = origins.includes('*')
  app.addHook('onRequest', async (request, reply) => {
    // The answer depends on the origin, also when none is sent: caches must know.
    if (!isOpen) reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !(isOpen || origins.includes(origin))) return
    reply.header('access-control-allow-origin', isOpen ? '*' : origin).header('access-control-expose-headers', EXPOSED)
    if (isPreflight(request) && isKnown(request.url)) return reply.status(204).headers(PREFLIGHT).send()
  })
}

/** Any other OPTIONS request reaches the resource, which answers 405. */
function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/**
 * Which browser pages of other origins may read answers (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol). No
 * credentials are ever allowed: there are no cookies, and a token is sent by the page itself. Without origins there is
 * no header field at all. A preflight is answered only where there is something at its path, so 404 and 405 stay what
 * they are; the WebSocket handshake is not its business.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** What a page may read beside the body and the fields that every page may. */
const EXPOSED = 'X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, Tidegate-Ignored-Parameters'

const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type',
  // Two hours is the most that Chromium remembers.
  'access-control-max-age': '7200',
}

/**
 * @param origins exact origins, or `*`
 * @param isKnown whether there is a resource at a URL
 */
export function allowOrigins(
  app: FastifyInstance,
  origins: readonly string[],
  isKnown: (url: string) => boolean,
): void {
  if (origins.length === 0) return
  const isOpen = origins.includes('*')
  app.addHook('onRequest', async (request, reply) => {
    // The answer differs by origin, also for who sends none: caches must know.
    if (!isOpen) reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !(isOpen || origins.includes(origin))) return
    reply.header('access-control-allow-origin', isOpen ? '*' : origin).header('access-control-expose-headers', EXPOSED)
    if (isPreflight(request) && isKnown(request.url)) return reply.status(204).headers(PREFLIGHT).send()
  })
}

/** Any other OPTIONS request is one for the resource, which answers that it has no such method. */
function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

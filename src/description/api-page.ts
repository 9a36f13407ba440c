/**
 * The page at `/docs/`, which shows the OpenAPI document and can send requests. Everything is loaded from our own origin,
 * and the page's policy allows nothing else: no fonts, no proxy, no telemetry, and no scripts but these two.
 */
import { createHash } from 'node:crypto'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'
import { CachedContent } from '../http/cached-content.ts'

export const DOCS_PREFIX = '/docs'
/** The script has several megabytes and changes only with a release. */
const SCRIPT_CACHE = 'public, max-age=3600'

/** @param documentPath where the OpenAPI document is */
export function registerApiPage(app: FastifyInstance, documentPath: string): void {
  app.register(async (scope) => {
    let script: CachedContent | undefined
    let page: { readonly html: string; readonly policy: string; readonly content: CachedContent } | undefined
    scope.addHook('onSend', async (request, reply, payload) => {
      if (typeof payload !== 'string' || reply.statusCode !== 200) return payload
      const type = String(reply.getHeader('content-type'))
      if (type.startsWith('text/html')) {
        if (page?.html !== payload) {
          page = { html: payload, policy: policyOf(payload), content: new CachedContent(payload) }
        }
        reply.header('content-security-policy', page.policy).header('cache-control', 'no-cache')
        return await page.content.answer(request, reply)
      }
      if (!type.startsWith('application/javascript')) return payload
      reply.header('cache-control', SCRIPT_CACHE)
      // One copy in memory for all concurrent downloads.
      script ??= new CachedContent(payload)
      return await script.answer(request, reply)
    })
    await scope.register(scalar, {
      routePrefix: DOCS_PREFIX,
      configuration: {
        pageTitle: 'Tidegate',
        sources: [{ url: documentPath }],
        withDefaultFonts: false,
        telemetry: false,
        hideClientButton: true,
        showDeveloperTools: 'never',
        agent: { disabled: true },
        proxyUrl: '',
      },
    })
  })
}

/** The content security policy of a page: only the inline scripts of the page itself run. */
export function policyOf(page: string): string {
  const texts = [...page.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map(([, text = '']) => text)
  const hashes = texts
    .filter((text) => text !== '')
    .map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`)
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(' ')}`,
    // The page writes its styles itself.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/**
 * The page at `/docs/`, which shows the OpenAPI document and can send requests. Everything is loaded from our own
 * origin, and the page's policy allows nothing else: no fonts, no proxy, no telemetry, and no scripts but these two.
 * From Scalar's package only the browser script is used, read at the first request: the package's Fastify plugin would
 * keep 22 MB in memory from the start.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { CachedContent } from '../../platform/http/cached-content.ts'

export const DOCS_PREFIX = '/docs'
/** The script has several megabytes and changes only with a release. */
const SCRIPT_CACHE = 'public, max-age=3600'

/** @param documentPath where the OpenAPI document is */
export function registerApiPage(app: FastifyInstance, documentPath: string): void {
  const html = pageOf(documentPath)
  const page = new CachedContent(html)
  const policy = policyOf(html)
  let script: Promise<CachedContent> | undefined
  app.get(DOCS_PREFIX, (_request, reply) => reply.redirect(`${DOCS_PREFIX}/`, 301))
  app.get(`${DOCS_PREFIX}/`, async (request, reply) => {
    reply.header('content-type', 'text/html; charset=utf-8')
    reply.header('content-security-policy', policy).header('cache-control', 'no-cache')
    return reply.send(await page.answer(request, reply))
  })
  app.get(`${DOCS_PREFIX}/js/scalar.js`, async (request, reply) => {
    // One copy in memory for all concurrent downloads. After a failure the next request reads the file again.
    script ??= readScript().catch((error) => {
      script = undefined
      throw error
    })
    const content = await script
    reply.header('content-type', 'application/javascript; charset=utf-8').header('cache-control', SCRIPT_CACHE)
    return reply.send(await content.answer(request, reply))
  })
}

async function readScript(): Promise<CachedContent> {
  const packageEntry = import.meta.resolve('@scalar/fastify-api-reference')
  return new CachedContent(await readFile(new URL('js/standalone.js', packageEntry)))
}

function pageOf(documentPath: string): string {
  const configuration = {
    sources: [{ url: documentPath }],
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    proxyUrl: '',
  }
  return `<!doctype html>
<html>
  <head>
    <title>Tidegate</title>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
  </head>
  <body>
    <div id="app"></div>
    <script src="js/scalar.js"></script>
    <script>Scalar.createApiReference('#app', ${JSON.stringify(configuration)})</script>
  </body>
</html>
`
}

/** A page's content security policy: only its own inline scripts run. */
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

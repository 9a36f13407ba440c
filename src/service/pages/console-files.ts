/**
 * The files of the operator's web console, built into `dist/console` and served at `/console/`. They contain no data
 * and need no credentials, because everything they show comes from the operator API. They are read into memory with the
 * first request after each build, and nothing outside the folder is ever read.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { hasCode } from '../../platform/base/error-code.ts'
import { CachedContent } from '../../platform/http/cached-content.ts'

/** Next to the compiled program. A program run from its source uses the last build's. */
const FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../../dist/console' : '../console', import.meta.url),
)
const PREFIX = '/console'
const START_PAGE = 'index.html'
/** The build names these files after a hash of their content. */
const HASHED_FOLDER = 'assets/'

/**
 * Scripts, styles, images, fonts and calls come from the listener's own origin only, with no script or style in the
 * page itself.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
}

interface ConsoleFiles {
  readonly builtMilliseconds: number
  /** By path relative to the folder. */
  readonly files: ReadonlyMap<string, CachedContent>
}

/** @param folder where the built console is */
export function registerConsoleFiles(app: FastifyInstance, folder = FOLDER): void {
  let read: ConsoleFiles | undefined
  app.get(PREFIX, (_request, reply) => reply.redirect(`${PREFIX}/`, 302))
  app.get<{ Params: { '*': string } }>(`${PREFIX}/*`, async (request, reply) => {
    const builtMilliseconds = builtAt(folder)
    if (builtMilliseconds === undefined) {
      reply.status(404).header('content-type', TYPES['.txt'])
      return reply.send('The web console is not part of this build: `npm run build` creates it.\n')
    }
    if (read?.builtMilliseconds !== builtMilliseconds) read = { builtMilliseconds, files: readFiles(folder) }
    const path = request.params['*']
    // A page of the console is a path without an extension.
    const name = extname(path) === '' ? START_PAGE : path
    const content = read.files.get(name)
    if (content === undefined) {
      reply.status(404).header('content-type', TYPES['.txt'])
      return reply.send('The web console has no such file.\n')
    }
    reply.header('content-type', TYPES[extname(name)] ?? 'application/octet-stream')
    reply.header('cache-control', name.startsWith(HASHED_FOLDER) ? 'public, max-age=31536000, immutable' : 'no-cache')
    reply.header('content-security-policy', POLICY)
    return reply.send(await content.answer(request, reply))
  })
}

/** When the start page was written, which a build does last. Undefined before the first build. */
function builtAt(folder: string): number | undefined {
  try {
    return statSync(join(folder, START_PAGE)).mtimeMs
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function readFiles(folder: string): ReadonlyMap<string, CachedContent> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [relative(folder, path).split(sep).join('/'), new CachedContent(readFileSync(path))]
    }),
  )
}

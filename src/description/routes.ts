/**
 * The description of the API, for everybody: `/openapi.json`, `/asyncapi.json`, and the pages at `/docs`. No token is
 * needed, and nothing depends on who asks. A document is made once for each address that it is served at, and the number
 * of addresses has a limit. `describeOperations` comes before the routes of the modules, these come after.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { programVersion } from '../base/version.ts'
import type { Scope } from '../contract/scopes.ts'
import { CachedContent } from '../http/cached-content.ts'
import { isLocalHost } from '../http/host-check.ts'
import type { Json } from './answers.ts'
import { DOCS_PREFIX, policyOf, registerApiPage } from './api-page.ts'
import { asyncApiDocument } from './asyncapi.ts'
import { openApiDocument } from './openapi.ts'
import { describedPaths } from './operations-document.ts'
import { streamPage } from './stream-page.ts'

export interface DescriptionOptions {
  /** The address that customers use; empty: the one that the request was sent to, where it is one of ours. */
  readonly publicUrl: string
  /** Whether tokens are issued here; with an outside issuer there are no endpoints for them. */
  readonly issuesTokens: boolean
  /** Those of the operations that are served. */
  readonly scopes: readonly Scope[]
}

/** As long as a release that changes it may go unnoticed. */
const CACHE = 'public, max-age=300'
const OPENAPI_PATH = '/openapi.json'
const ASYNCAPI_PATH = '/asyncapi.json'
const JSON_TYPE = 'application/json; charset=utf-8'
/** Documents are kept for so many addresses, each about 200 KB; whoever asks at further ones gets the first. */
const ADDRESSES_MAX = 16

/** A document as it is served at an address. */
interface Rendered {
  readonly text: string
  /** Header fields of its own. */
  readonly fields: Readonly<Record<string, string>>
}

export function registerDescription(app: FastifyInstance, options: DescriptionOptions): void {
  const { issuesTokens, scopes } = options
  const version = programVersion()
  const streamAt = (url: string) => asyncApiDocument({ url, version, issuesTokens })
  registerDocument(app, options, OPENAPI_PATH, (url) =>
    json(openApiDocument({ paths: describedPaths(app), url, version, issuesTokens, scopes })),
  )
  registerDocument(app, options, ASYNCAPI_PATH, (url) => json(streamAt(url)))
  registerDocument(app, options, `${DOCS_PREFIX}/stream`, (url) => {
    const text = streamPage(streamAt(url), { rest: `${DOCS_PREFIX}/`, document: ASYNCAPI_PATH })
    return { text, fields: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policyOf(text) } }
  })
  registerApiPage(app, OPENAPI_PATH)
}

function json(document: Json): Rendered {
  return { text: JSON.stringify(document), fields: { 'content-type': JSON_TYPE } }
}

function registerDocument(
  app: FastifyInstance,
  { publicUrl }: DescriptionOptions,
  path: string,
  renderAt: (url: string) => Rendered,
): void {
  const contents = new Map<string, { readonly content: CachedContent; readonly fields: Rendered['fields'] }>()
  const contentAt = (url: string) => {
    const known = contents.get(url) ?? (contents.size < ADDRESSES_MAX ? undefined : contents.values().next().value)
    if (known !== undefined) return known
    const { text, fields } = renderAt(url)
    const made = { content: new CachedContent(text), fields }
    contents.set(url, made)
    return made
  }
  app.get(path, async (request: FastifyRequest, reply: FastifyReply) => {
    // The first is the listener's own.
    if (publicUrl === '' && contents.size === 0) contentAt(listenerAddressOf(request))
    const { content, fields } = contentAt(publicUrl === '' ? addressOf(request) : publicUrl.replace(/\/$/, ''))
    // Without a public address it may be another one's the next time.
    reply.header('cache-control', publicUrl === '' ? 'no-cache' : CACHE).headers(fields)
    return reply.send(await content.answer(request, reply))
  })
}

/** The address that the client used, when nobody else can have made it up: a name may be any that resolves to us. */
function addressOf(request: FastifyRequest): string {
  const { protocol, host } = request
  return isLocalHost(host) ? `${protocol}://${host}` : listenerAddressOf(request)
}

function listenerAddressOf({ protocol, socket }: FastifyRequest): string {
  // IPv4 over a socket for both families is written in the form of IPv6.
  const address = (socket.localAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '')
  return `${protocol}://${address.includes(':') ? `[${address}]` : address}:${socket.localPort}`
}

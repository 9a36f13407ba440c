/**
 * The API descriptions: on the public listener `/openapi.json`, `/asyncapi.json`, and the pages at `/docs`. The
 * operator listener has `/openapi.json` alone, because a script in the page would have the console's origin. They
 * contain no secret, require no token and are the same for all clients. A document is created once for each address at
 * which it is served, for a limited number of addresses. These routes must be declared after the modules' routes.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Scope } from '../../contract/scopes.ts'
import { programVersion } from '../../platform/base/version.ts'
import { CachedContent } from '../../platform/http/cached-content.ts'
import { isLocalHost } from '../../platform/http/host-check.ts'
import type { Json } from './answers.ts'
import { DOCS_PREFIX, policyOf, registerApiPage } from './api-page.ts'
import { asyncApiDocument } from './asyncapi.ts'
import { openApiDocument } from './openapi.ts'
import { type DescribedRoute, describedPaths } from './operations-document.ts'
import { operatorOpenApiDocument } from './operator-openapi.ts'
import { streamPage } from './stream-page.ts'

export interface DescriptionOptions {
  /** The public address. Empty: the address to which the request was sent, if it is ours. */
  readonly publicUrl: string
  /** The stream's address. Empty, or absent: the listener's own. */
  readonly streamUrl?: () => string
  /** Whether this service issues tokens. With an external issuer there is no token endpoint. */
  readonly issuesTokens: boolean
  /** The served operations' scopes. */
  readonly scopes: readonly Scope[]
}

/** Clients may see a new release this much later. */
const CACHE = 'public, max-age=300'
const OPENAPI_PATH = '/openapi.json'
const ASYNCAPI_PATH = '/asyncapi.json'
const JSON_TYPE = 'application/json; charset=utf-8'
/** Addresses for which documents are kept, each about 200 KB. Requests to further ones get the first address's. */
const ADDRESSES_MAX = 16

/** A document for an address. */
interface Rendered {
  readonly text: string
  /** Its own header fields. */
  readonly fields: Readonly<Record<string, string>>
}

export function registerDescription(app: FastifyInstance, options: DescriptionOptions): void {
  const { publicUrl, streamUrl, issuesTokens, scopes } = options
  const version = programVersion()
  const streamAt = (url: string) => asyncApiDocument({ url, streamUrl: streamUrl?.(), version, issuesTokens })
  registerDocument(app, publicUrl, OPENAPI_PATH, (url) =>
    json(openApiDocument({ paths: describedPaths(app), url, version, issuesTokens, scopes })),
  )
  registerDocument(app, publicUrl, ASYNCAPI_PATH, (url) => json(streamAt(url)))
  registerDocument(app, publicUrl, `${DOCS_PREFIX}/stream`, (url) => {
    const text = streamPage(streamAt(url), { rest: `${DOCS_PREFIX}/`, document: ASYNCAPI_PATH })
    return { text, fields: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policyOf(text) } }
  })
  registerApiPage(app, OPENAPI_PATH)
}

/** @param publicUrl the setting `operator.public_url` */
export function registerOperatorDescription(app: FastifyInstance, publicUrl: string): void {
  const version = programVersion()
  registerDocument(app, publicUrl, OPENAPI_PATH, (url) =>
    json(operatorOpenApiDocument({ paths: describedPaths<DescribedRoute>(app), url, version })),
  )
}

function json(document: Json): Rendered {
  return { text: JSON.stringify(document), fields: { 'content-type': JSON_TYPE } }
}

function registerDocument(
  app: FastifyInstance,
  publicUrl: string,
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
    // Without a public address the document depends on the request's address.
    reply.header('cache-control', publicUrl === '' ? 'no-cache' : CACHE).headers(fields)
    return reply.send(await content.answer(request, reply))
  })
}

/** The address in `Host` when it is local, else the listener's own: any name could resolve to this machine. */
function addressOf(request: FastifyRequest): string {
  const { protocol, host } = request
  return isLocalHost(host) ? `${protocol}://${host}` : listenerAddressOf(request)
}

function listenerAddressOf({ protocol, socket }: FastifyRequest): string {
  // IPv4 over a socket for both families is written like IPv6.
  const address = (socket.localAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '')
  return `${protocol}://${address.includes(':') ? `[${address}]` : address}:${socket.localPort}`
}

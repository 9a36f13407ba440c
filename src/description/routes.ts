/**
 * What the service says of itself, for everybody: `/openapi.json`, `/asyncapi.json`, and the page at `/docs`. No token
 * is asked for, and nothing is said that depends on who asks. `describeOperations` comes before the routes of the rooms,
 * these come after.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { programVersion } from '../base/version.ts'
import type { Json } from './answers.ts'
import { registerApiPage } from './api-page.ts'
import { asyncApiDocument } from './asyncapi.ts'
import { openApiDocument } from './openapi.ts'
import { describedPaths } from './operations-document.ts'

export interface DescriptionOptions {
  /** The address that customers use; empty: the one that the request was sent to. */
  readonly publicUrl: string
  /** Whether tokens are issued here; with an outside issuer there are no endpoints for them. */
  readonly issuesTokens: boolean
}

/** As long as a release that changes it may go unnoticed. */
const CACHE = 'public, max-age=300'
const OPENAPI_PATH = '/openapi.json'

export function registerDescription(app: FastifyInstance, options: DescriptionOptions): void {
  const { issuesTokens } = options
  const version = programVersion()
  registerDocument(app, options, OPENAPI_PATH, (url) =>
    openApiDocument({ paths: describedPaths(app), url, version, issuesTokens }),
  )
  registerDocument(app, options, '/asyncapi.json', (url) => asyncApiDocument({ url, version, issuesTokens }))
  registerApiPage(app, OPENAPI_PATH)
}

function registerDocument(
  app: FastifyInstance,
  { publicUrl }: DescriptionOptions,
  path: string,
  documentAt: (url: string) => Json,
): void {
  /** The text for the address that was asked for last: mostly there is one. */
  let last: { readonly url: string; readonly text: string } | undefined
  app.get(path, async (request: FastifyRequest, reply: FastifyReply) => {
    const url = publicUrl === '' ? addressOf(request) : publicUrl.replace(/\/$/, '')
    if (last?.url !== url) last = { url, text: JSON.stringify(documentAt(url)) }
    // What is made from the request's own address is for this request alone.
    reply.header('cache-control', publicUrl === '' ? 'no-store' : CACHE)
    return reply.type('application/json; charset=utf-8').send(last.text)
  })
}

function addressOf({ protocol, host }: FastifyRequest): string {
  return `${protocol}://${host}`
}

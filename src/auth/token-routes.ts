/**
 * `POST /oauth2/token` on a listener: bodies as forms (RFC 6749 section 3.2, and multipart/form-data as some libraries
 * send it), every answer no-store, every error as `{error, error_description}`, whatever went wrong. Parameters in the
 * URL are not read, so that no secret ends up in one.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../base/log.ts'
import { Counter, type MetricsRegistry } from '../base/metrics.ts'
import { methodNotAllowed, problemOf } from '../http/server.ts'
import { type GrantContext, grantToken, TokenError, type TokenRequest } from './token-grant.ts'

export interface TokenEndpointOptions extends GrantContext {
  readonly log: Log
  readonly metrics: MetricsRegistry
}

type Parameters = TokenRequest['parameters']

export function registerTokenEndpoint(app: FastifyInstance, options: TokenEndpointOptions): void {
  const grants = new Counter({
    name: 'tidegate_token_grants',
    help: 'Token requests by result: granted, or the error code',
    labelNames: ['result'],
    registers: [options.metrics],
  })
  app.register(async (scope) => {
    readForms(scope)
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
    })
    scope.setErrorHandler((error, request, reply) => {
      const answer = tokenErrorOf(error)
      if (answer.status === 500) {
        options.log.error({ err: error, request_id: request.id }, 'token request failed')
      }
      grants.inc({ result: answer.code })
      sendTokenError(reply, answer)
    })
    scope.post<{ Body: Parameters | undefined }>('/oauth2/token', async (request) => {
      const { authorization } = request.headers
      const answer = await grantToken(options, { authorization, parameters: request.body ?? [] })
      grants.inc({ result: 'granted' })
      return answer
    })
    scope.route({
      method: scope.supportedMethods.filter((method) => method !== 'POST' && method !== 'HEAD'),
      url: '/oauth2/token',
      // Before a body is read: a wrong method is wrong whatever it carries.
      onRequest: async () => {
        throw methodNotAllowed(['POST'])
      },
      handler: async () => undefined,
    })
  })
}

function readForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: FastifyRequest, body: string): Promise<Parameters> => [...new URLSearchParams(body)],
  )
  scope.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer): Promise<Parameters> => {
      const fields = [...(await multipartForm(request.headers['content-type'] ?? '', body))]
      return fields.map(([name, value]) => {
        if (typeof value !== 'string') throw new TokenError('invalid_request', 'a parameter is sent as a file')
        return [name, value]
      })
    },
  )
}

/** The runtime's own parser (WHATWG fetch), on a body whose size the server has limited. */
async function multipartForm(contentType: string, body: Buffer): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  } catch (error) {
    throw new TokenError('invalid_request', `the body is not multipart/form-data (${(error as Error).name})`)
  }
}

/** Every error as one of the token endpoint; what HTTP itself refuses keeps its status. */
function tokenErrorOf(error: unknown): TokenError {
  if (error instanceof TokenError) return error
  // No check here reaches for the store, so there is no error of it to translate.
  const problem = problemOf(error, () => undefined)
  if (problem === undefined) return new TokenError('server_error', 'an error on our side')
  return new TokenError('invalid_request', problem.message, problem.extras.headers, problem.status)
}

function sendTokenError(reply: FastifyReply, error: TokenError): void {
  reply.status(error.status).headers(error.headers).send({ error: error.code, error_description: error.message })
}

/**
 * `POST /oauth2/token` and `POST /oauth2/revoke` on a listener: bodies as forms (RFC 6749 section 3.2, and
 * multipart/form-data as some libraries send it), every answer no-store, every error as `{error, error_description}`.
 * Parameters in the URL are not read, so secrets are not sent in URLs.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../../platform/base/log.ts'
import { Counter, type MetricsRegistry } from '../../../platform/base/metrics.ts'
import { methodNotAllowed, problemOf } from '../../../platform/http/server.ts'
import { AuthenticationFailures } from '../authentication-failures.ts'
import { SecretUses } from '../secret-uses.ts'
import { type AuthenticatedRequest, authenticateRequest, type TokenRequest } from './client-authentication.ts'
import { LockoutNotices } from './lockout-notices.ts'
import { TokenError } from './token-errors.ts'
import { type GrantContext, grantToken } from './token-grant.ts'
import { type Admission, TokenLimits } from './token-limits.ts'
import { type RevocationContext, revokeOwnToken } from './token-revocation.ts'

/** The two endpoints' paths, also in the metadata. */
export const TOKEN_PATH = '/oauth2/token'
export const REVOCATION_PATH = '/oauth2/revoke'

/**
 * Largest request body. More is 413. The sender is not authenticated yet, so the limit fits a form with all parameters
 * and a long token.
 */
const BODY_BYTES_MAX = 65_536
/** A token request has four or five parameters. More than this are 400. */
const PARAMETERS_MAX = 100

export interface TokenEndpointOptions extends GrantContext, RevocationContext {
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** The setting `auth.token_rate_per_second`. */
  readonly tokenRatePerSecond: number
  /** A request's source address, as limits count it. */
  addressOf(request: FastifyRequest): string
}

/** The parts shared by the two endpoints. */
interface Endpoints extends TokenEndpointOptions {
  readonly failures: AuthenticationFailures
  readonly limits: TokenLimits
  readonly uses: SecretUses
  readonly lockouts: LockoutNotices
}

type Parameters = TokenRequest['parameters']

/** The admissions for requests whose outcome is not counted yet. */
const admissions = new WeakMap<FastifyRequest, Admission>()

export function registerTokenEndpoints(app: FastifyInstance, options: TokenEndpointOptions): void {
  const { clock, tokenRatePerSecond } = options
  const uses = new SecretUses(options)
  const lockouts = new LockoutNotices(options)
  app.addHook('onClose', async () => {
    await Promise.all([uses.stop(), lockouts.stop()])
  })
  const endpoints = {
    ...options,
    failures: new AuthenticationFailures(clock),
    limits: new TokenLimits(clock, tokenRatePerSecond),
    uses,
    lockouts,
  }
  const counter = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ['result'], registers: [options.metrics] })
  const grants = counter('tidegate_token_grants_total', 'Token requests by result: granted, or the error code')
  registerEndpoint(app, endpoints, TOKEN_PATH, grants, async (request) => {
    const answer = await grantToken(options, request)
    grants.inc({ result: 'granted' })
    return answer
  })
  const revocations = counter(
    'tidegate_token_revocations_total',
    'Revocation requests by result: done (the token is no longer valid, or never was), or the error code',
  )
  registerEndpoint(app, endpoints, REVOCATION_PATH, revocations, async (request) => {
    await revokeOwnToken(options, request)
    revocations.inc({ result: 'done' })
    return undefined
  })
}

function registerEndpoint(
  app: FastifyInstance,
  endpoints: Endpoints,
  url: string,
  results: Counter<'result'>,
  answer: (request: AuthenticatedRequest) => Promise<object | undefined>,
): void {
  const { log, limits, addressOf } = endpoints
  app.register(async (scope) => {
    readForms(scope)
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' })
    })
    scope.setErrorHandler((error, request, reply) => {
      const refusal = countFailure(tokenErrorOf(error, request), request)
      if (refusal.status === 500) log.error({ err: error, request_id: request.id, route: url }, 'token request failed')
      results.inc({ result: refusal.code })
      sendTokenError(reply, refusal)
    })
    const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const admission = limits.admit(addressOf(request), bodyBytesOf(request))
      admissions.set(request, admission)
      reply.headers(admission.headers)
    }
    scope.post<{ Body: Parameters | undefined }>(
      url,
      { onRequest, bodyLimit: BODY_BYTES_MAX },
      async (request, reply) => {
        const { authorization } = request.headers
        const sent = { authorization, parameters: request.body ?? [], address: addressOf(request) }
        const authenticated = authenticateRequest(endpoints, sent)
        countSuccess(request, reply)
        const body = await answer(authenticated)
        return body ?? reply.send()
      },
    )
    scope.route({
      method: scope.supportedMethods.filter((method) => method !== 'POST' && method !== 'HEAD'),
      url,
      // Before the body is read, whatever it contains.
      onRequest: async () => {
        throw methodNotAllowed(['POST'])
      },
      handler: async () => undefined,
    })
  })
}

function countSuccess(request: FastifyRequest, reply: FastifyReply): void {
  const admission = admissions.get(request)
  admissions.delete(request)
  if (admission !== undefined) reply.headers(admission.succeed())
}

/** The error to answer with: the limit's, when the address has used its failure budget. */
function countFailure(error: TokenError, request: FastifyRequest): TokenError {
  const admission = admissions.get(request)
  admissions.delete(request)
  if (error.status >= 500) {
    admission?.cancel()
    return error
  }
  const refusal = admission?.fail()
  return refusal === undefined || error.status === 429 ? error : tokenErrorOf(refusal, request)
}

/** Undefined for a chunked body. */
function bodyBytesOf({ headers }: FastifyRequest): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined
  return Number(headers['content-length'] ?? 0)
}

function readForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: FastifyRequest, body: string): Promise<Parameters> => {
      refuseManyParameters(body.matchAll(/[^&]+/g))
      return [...new URLSearchParams(body)]
    },
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

/** Before a body is parsed: 64 KiB of parameters take up to 18 ms. */
function refuseManyParameters(found: Iterable<unknown>): void {
  let count = 0
  for (const _ of found) {
    if (++count > PARAMETERS_MAX)
      throw new TokenError('invalid_request', `the request has more than ${PARAMETERS_MAX} parameters`)
  }
}

/** Parses with Node's own parser (WHATWG fetch). The server has limited the size. */
async function multipartForm(contentType: string, body: Buffer): Promise<FormData> {
  // Every part has its own head, which declares it as form data.
  refuseManyParameters(body.toString('latin1').matchAll(/form-data/gi))
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  } catch (error) {
    throw new TokenError('invalid_request', `the body is not multipart/form-data (${(error as Error).name})`)
  }
}

/** Converts every error to a token endpoint error. HTTP errors keep their status. */
function tokenErrorOf(error: unknown, request: FastifyRequest): TokenError {
  if (error instanceof TokenError) return error
  // A check that uses the store has already converted the store's errors.
  const problem = problemOf(error, request, () => undefined)
  if (problem === undefined) return new TokenError('server_error', 'an error on our side')
  const code = problem.status === 429 ? 'temporarily_unavailable' : 'invalid_request'
  return new TokenError(code, problem.message, problem.extras.headers, problem.status)
}

function sendTokenError(reply: FastifyReply, error: TokenError): void {
  reply.status(error.status).headers(error.headers).send({ error: error.code, error_description: error.message })
}

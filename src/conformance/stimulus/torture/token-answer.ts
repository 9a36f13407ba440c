/**
 * The conformance server's token endpoint: the client credentials grant for its one client (RFC 6749), with the
 * product's responses but without a store. A scenario can make the next request fail.
 */
import type { IncomingMessage } from 'node:http'
import { STREAM_SCOPE } from '../../../contract/scopes.ts'
import { CLIENT_ID } from './client-id.ts'

/** How the next request for a token is refused. */
export interface TokenFailure {
  readonly status: number
  readonly error: string
  readonly retryAfterSeconds?: number
}

interface TokenAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

const BODY_BYTES_MAX = 65_536

/** Answers a token request. `grant` creates a successful response's body. */
export async function answerTokenRequest(
  request: IncomingMessage,
  secret: string,
  failure: TokenFailure | undefined,
  grant: () => object,
): Promise<TokenAnswer> {
  const form = new URLSearchParams(await readBody(request))
  if (failure !== undefined) {
    const { status, error, retryAfterSeconds } = failure
    const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
    return refusal(error, 'the scenario refuses this request', status, headers)
  }
  if (request.method !== 'POST') return refusal('invalid_request', 'the method must be POST', 405, { allow: 'POST' })
  if (!isClient(request, form, secret)) return refusal('invalid_client', 'unknown client or wrong secret', 401)
  if (form.get('grant_type') !== 'client_credentials') {
    return refusal('unsupported_grant_type', 'grant_type must be client_credentials')
  }
  if (form.get('scope') !== STREAM_SCOPE) return refusal('invalid_scope', `this client holds only ${STREAM_SCOPE}`)
  return { status: 200, headers: {}, body: grant() }
}

function isClient({ headers }: IncomingMessage, form: URLSearchParams, secret: string): boolean {
  const [scheme, encoded = ''] = headers.authorization?.split(' ') ?? []
  if (scheme?.toLowerCase() === 'basic') {
    const [id = '', password = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
    // Neither contains characters which form encoding changes.
    return id === CLIENT_ID && password === secret
  }
  return form.get('client_id') === CLIENT_ID && form.get('client_secret') === secret
}

function refusal(error: string, description: string, status = 400, headers: Record<string, string> = {}): TokenAnswer {
  return { status, headers, body: { error, error_description: description } }
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) {
    // A longer body's rest is discarded: the beginning is not a valid token request.
    if (body.length < BODY_BYTES_MAX) body += String(chunk)
  }
  return body
}

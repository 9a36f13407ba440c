/**
 * Who may open the stream: the ordered checks of a handshake, each a small function that lets pass or refuses. They
 * read memory only, so the store being down refuses nobody. A refusal is an HTTP answer before the upgrade.
 */
import type { IncomingMessage } from 'node:http'
import type { Directory } from '../auth/directory.ts'
import { streamRefusal } from '../auth/stream-access.ts'
import type { AccessToken, TokenVerifier } from '../auth/token-verifier.ts'
import { BEARER_SUBPROTOCOL_PREFIX, SUBPROTOCOLS } from '../contract/channels.ts'
import { STREAM_SCOPE } from '../contract/scopes.ts'

/** Seconds after which a client that met a limit, or a node that is not ready, may be tried again. */
const RETRY_AFTER_SECONDS = 5

export interface Refusal {
  readonly status: 400 | 401 | 403 | 404 | 426 | 429 | 503
  /** Stable code of the problem. */
  readonly code: string
  readonly detail: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Doorway {
  readonly directory: Directory
  readonly verifier: TokenVerifier
  readonly connectionsPerClientMax: number
  readonly connectionsMax: number
  connections(): number
  connectionsOfClient(clientId: string): number
  isDraining(): boolean
}

export type Judgement =
  | { readonly accepted: true; readonly token: AccessToken }
  | { readonly accepted: false; readonly refusal: Refusal }

/** All checks of a WebSocket handshake, in the documented order; the first failure answers. */
export async function judgeHandshake(request: IncomingMessage, doorway: Doorway): Promise<Judgement> {
  const refusal = refusePath(request) ?? refuseUpgrade(request)
  if (refusal !== undefined) return { accepted: false, refusal }
  return judgeAccess(request, doorway)
}

/** The checks from the token on: also for a plain request that wants to know what it would be told. */
export async function judgeAccess(request: IncomingMessage, doorway: Doorway): Promise<Judgement> {
  const text = bearerToken(request)
  if (text === undefined) return refused(401, 'unauthorized', 'a bearer token is required', bearerChallenge())
  // Without the directory no token can be judged: not the client's fault, so not a 401.
  if (!doorway.directory.loaded) return { accepted: false, refusal: notLoaded() }
  const verdict = await doorway.verifier.verify(text)
  if (!verdict.ok) {
    return refused(401, 'invalid_token', `the token is not valid: ${verdict.reason}`, bearerChallenge('invalid_token'))
  }
  const { token } = verdict
  const refusal = refuseAccess(token, doorway) ?? refuseCapacity(token, doorway)
  return refusal === undefined ? { accepted: true, token } : { accepted: false, refusal }
}

/** The subprotocol to select of those a client offers; false when none is known (then the plain wire is spoken). */
export function selectSubprotocol(offered: ReadonlySet<string>): string | false {
  for (const name of offered) if (isSubprotocol(name)) return name
  return false
}

function refusePath(request: IncomingMessage): Refusal | undefined {
  const path = (request.url ?? '').split('?', 1)[0]
  if (path === '/') return undefined
  return { status: 404, code: 'not_found', detail: 'the stream is at /', headers: {} }
}

function refuseUpgrade(request: IncomingMessage): Refusal | undefined {
  const { headers, method } = request
  const wanted = { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' }
  if (headers.upgrade?.toLowerCase() !== 'websocket') {
    return { status: 426, code: 'upgrade_required', detail: 'the stream is a WebSocket', headers: wanted }
  }
  if (headers['sec-websocket-version'] !== '13') {
    return { status: 426, code: 'upgrade_required', detail: 'Sec-WebSocket-Version must be 13', headers: wanted }
  }
  if (method !== 'GET') return badHandshake('the handshake must be a GET request')
  // RFC 6455 section 4.2.1: 16 bytes in base64.
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')) {
    return badHandshake('Sec-WebSocket-Key must be 16 bytes in base64')
  }
  return refuseSubprotocols(headers['sec-websocket-protocol'])
}

function refuseSubprotocols(header: string | undefined): Refusal | undefined {
  if (header === undefined) return undefined
  const names = header.split(',').map((name) => name.trim())
  if (names.some((name) => !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) || new Set(names).size < names.length) {
    return badHandshake('Sec-WebSocket-Protocol must list different names')
  }
  const carriesToken = names.some((name) => name.startsWith(BEARER_SUBPROTOCOL_PREFIX))
  if (carriesToken && !names.some(isSubprotocol)) {
    return badHandshake(`a ${BEARER_SUBPROTOCOL_PREFIX} entry needs ${SUBPROTOCOLS.join(' or ')} beside it`)
  }
  return undefined
}

/** The token of the Authorization header, else of the `bearer.` subprotocol entry (browsers cannot set headers). */
function bearerToken(request: IncomingMessage): string | undefined {
  const { authorization } = request.headers
  if (authorization !== undefined) return /^Bearer +([!-~]+) *$/i.exec(authorization)?.[1] ?? ''
  const names = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  const entry = names.find((name) => name.startsWith(BEARER_SUBPROTOCOL_PREFIX))
  return entry?.slice(BEARER_SUBPROTOCOL_PREFIX.length)
}

function refuseAccess(token: AccessToken, doorway: Doorway): Refusal | undefined {
  const refusal = streamRefusal(doorway.directory, token)
  switch (refusal) {
    case undefined:
      return undefined
    case 'not-loaded':
      return notLoaded()
    case 'scope':
      return {
        status: 403,
        code: 'insufficient_scope',
        detail: `the token lacks the scope ${STREAM_SCOPE}`,
        headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${STREAM_SCOPE}"` },
      }
    case 'disabled':
      return { status: 403, code: 'disabled', detail: 'the client or its customer is disabled', headers: {} }
    case 'not-allowed':
      return {
        status: 403,
        code: 'not_allowed',
        detail: 'the customer is not on the streaming allow list',
        headers: {},
      }
  }
}

function refuseCapacity(token: AccessToken, doorway: Doorway): Refusal | undefined {
  if (doorway.connectionsOfClient(token.clientId) >= doorway.connectionsPerClientMax) {
    const detail = `the client has ${doorway.connectionsPerClientMax} connections already, which is its limit`
    return { status: 429, code: 'too_many_connections', detail, headers: retryAfter() }
  }
  if (doorway.isDraining()) return unavailable('the node is shutting down')
  if (doorway.connections() >= doorway.connectionsMax) return unavailable('the node has no room for more connections')
  return undefined
}

function isSubprotocol(name: string): boolean {
  return SUBPROTOCOLS.includes(name as (typeof SUBPROTOCOLS)[number])
}

function bearerChallenge(error?: string): Record<string, string> {
  return { 'WWW-Authenticate': error === undefined ? 'Bearer' : `Bearer error="${error}"` }
}

function badHandshake(detail: string): Refusal {
  return { status: 400, code: 'bad_handshake', detail, headers: {} }
}

function unavailable(detail: string): Refusal {
  return { status: 503, code: 'unavailable', detail, headers: retryAfter() }
}

function notLoaded(): Refusal {
  return unavailable('the directory of clients is not loaded yet')
}

function retryAfter(): Record<string, string> {
  return { 'Retry-After': String(RETRY_AFTER_SECONDS) }
}

function refused(
  status: Refusal['status'],
  code: string,
  detail: string,
  headers: Readonly<Record<string, string>>,
): Judgement {
  return { accepted: false, refusal: { status, code, detail, headers } }
}

/**
 * The ordered checks of a handshake, each a small function that accepts or refuses. They never read the store, so
 * handshakes work while it is unavailable. A refusal is an HTTP response before the upgrade.
 */
import type { IncomingMessage } from 'node:http'
import { authenticateBearer } from '../auth/bearer-authentication.ts'
import type { Directory } from '../auth/directory.ts'
import { streamRefusal } from '../auth/stream-access.ts'
import type { AccessToken, TokenVerifier } from '../auth/token-verifier.ts'
import { BEARER_SUBPROTOCOL_PREFIX, SUBPROTOCOLS } from '../contract/channels.ts'
import { STREAM_SCOPE } from '../contract/scopes.ts'
import { insufficientScope, invalidToken, readBearerToken } from '../http/bearer.ts'
import { Problem } from '../http/problem.ts'
import { originForm, refuseHead } from '../http/request-head.ts'

/** Seconds after which a client may retry when it met a limit or the node was not ready. */
const RETRY_AFTER_SECONDS = 5
const RETRY_AFTER = { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } }

/** The state that the checks read. */
export interface HandshakeContext {
  readonly directory: Directory
  readonly verifier: TokenVerifier
  connectionsPerClientMax(): number
  connectionsMax(): number
  connections(): number
  connectionsOfClient(clientId: string): number
  isDraining(): boolean
}

/** The checks of the request itself: head, path, then upgrade. */
export function refuseRequest(request: IncomingMessage): Problem | undefined {
  return refuseHead(request) ?? refusePath(request) ?? refuseUpgrade(request)
}

/** The verified token of the request, or the refusal. */
export async function authenticate(
  request: IncomingMessage,
  context: HandshakeContext,
): Promise<AccessToken | Problem> {
  const { directory, verifier } = context
  return authenticateBearer(credentials(request), { directory, verifier, retryAfterSeconds: RETRY_AFTER_SECONDS })
}

/**
 * Checks access, then capacity. To be called in the tick in which the connection is opened, so that no access is
 * revoked and no capacity is used twice in between.
 */
export function refuseAdmission(token: AccessToken, context: HandshakeContext): Problem | undefined {
  return refuseAccess(token, context) ?? refuseCapacity(token, context)
}

/** The subprotocol to select of those a client offers; false when none is known (the base protocol is spoken then). */
export function selectSubprotocol(offered: ReadonlySet<string>): string | false {
  for (const name of offered) if (isSubprotocol(name)) return name
  return false
}

function refusePath(request: IncomingMessage): Problem | undefined {
  const path = originForm(request.url ?? '').split('?', 1)[0]
  if (path === '/') return undefined
  return new Problem('not_found', 'the stream is at /')
}

function refuseUpgrade(request: IncomingMessage): Problem | undefined {
  const { headers, method } = request
  const wanted = { headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' } }
  if (headers.upgrade?.toLowerCase() !== 'websocket') {
    return new Problem('upgrade_required', 'the stream is a WebSocket', wanted)
  }
  if (headers['sec-websocket-version'] !== '13') {
    return new Problem('upgrade_required', 'Sec-WebSocket-Version must be 13', wanted)
  }
  if (method !== 'GET') return badHandshake('the handshake must be a GET request')
  // RFC 6455 section 4.2.1: 16 bytes in base64.
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')) {
    return badHandshake('Sec-WebSocket-Key must be 16 bytes in base64')
  }
  return refuseSubprotocols(headers['sec-websocket-protocol'])
}

/**
 * Clients offer one or two. Without a limit, a head full of names takes tens of milliseconds, before any token is
 * checked.
 */
const SUBPROTOCOLS_MAX = 16

function refuseSubprotocols(header: string | undefined): Problem | undefined {
  if (header === undefined) return undefined
  if (header.split(',', SUBPROTOCOLS_MAX + 1).length > SUBPROTOCOLS_MAX) {
    return badHandshake(`Sec-WebSocket-Protocol must not list more than ${SUBPROTOCOLS_MAX} names`)
  }
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
function credentials(request: IncomingMessage): string | Problem {
  const { authorization } = request.headers
  if (authorization !== undefined) return readBearerToken(authorization)
  const names = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  const entry = names.find((name) => name.startsWith(BEARER_SUBPROTOCOL_PREFIX))
  return entry === undefined ? readBearerToken(undefined) : entry.slice(BEARER_SUBPROTOCOL_PREFIX.length)
}

function refuseAccess(token: AccessToken, context: HandshakeContext): Problem | undefined {
  const refusal = streamRefusal(context.directory, token)
  switch (refusal) {
    case undefined:
      return undefined
    case 'not-loaded':
      return notLoaded()
    case 'revoked':
      return invalidToken('the token is not valid: it has been revoked')
    case 'scope':
      return insufficientScope(`the token lacks the scope ${STREAM_SCOPE}`, STREAM_SCOPE)
    case 'disabled':
      return new Problem('disabled', 'the client or its customer is disabled')
    case 'not-allowed':
      return new Problem('not_allowed', 'the customer is not on the streaming allow list')
  }
}

function refuseCapacity(token: AccessToken, context: HandshakeContext): Problem | undefined {
  if (context.connectionsOfClient(token.clientId) >= context.connectionsPerClientMax()) {
    const detail = `the client has ${context.connectionsPerClientMax()} connections already, which is its limit`
    return new Problem('too_many_connections', detail, RETRY_AFTER)
  }
  if (context.isDraining()) return unavailable('the node is shutting down')
  if (context.connections() >= context.connectionsMax())
    return unavailable('the node has reached its limit of connections')
  return undefined
}

function isSubprotocol(name: string): boolean {
  return SUBPROTOCOLS.includes(name as (typeof SUBPROTOCOLS)[number])
}

function badHandshake(detail: string): Problem {
  return new Problem('bad_handshake', detail)
}

/** This node cannot take the connection now; another one, or this one later, may. */
export function unavailable(detail: string): Problem {
  return new Problem('unavailable', detail, RETRY_AFTER)
}

function notLoaded(): Problem {
  return unavailable('the directory of clients is not loaded yet')
}

/**
 * The ordered handshake checks, each a small function that accepts or refuses. They never read the store, so handshakes
 * work while it is unavailable. A refusal is an HTTP response before the upgrade.
 */
import type { IncomingMessage } from 'node:http'
import { authenticateBearer } from '../../access/clients/bearer-authentication.ts'
import type { Directory } from '../../access/clients/directory.ts'
import { streamRefusal } from '../../access/clients/stream-access.ts'
import type { AccessToken, TokenVerifier } from '../../access/clients/token-verifier.ts'
import { BEARER_SUBPROTOCOL_PREFIX, SUBPROTOCOLS } from '../../contract/channels.ts'
import { STREAM_SCOPE } from '../../contract/scopes.ts'
import { reserveOf } from '../../platform/base/shared-pool.ts'
import { insufficientScope, invalidToken, readBearerToken } from '../../platform/http/bearer.ts'
import { Problem } from '../../platform/http/problem.ts'
import { originForm, refuseHead } from '../../platform/http/request-head.ts'
import {
  badHandshake,
  HANDSHAKE_RETRY_SECONDS,
  handshakeUnavailable,
  offeredSubprotocols,
  refuseUpgrade,
} from '../../platform/http/websocket-handshake.ts'

const RETRY_AFTER = { headers: { 'Retry-After': String(HANDSHAKE_RETRY_SECONDS) } }

const STALE = 'this node cannot know which tokens were revoked: connect to another'

/** The state read by the checks. */
export interface HandshakeContext {
  readonly directory: Directory
  readonly verifier: TokenVerifier
  /** Whether it is not known what was revoked. */
  isDirectoryStale(): boolean
  connectionsPerClientMax(): number
  connectionsMax(): number
  connections(): number
  /** The connections of a customer or client. */
  connectionsOf(holderId: string): number
  isDraining(): boolean
}

/** The request checks: head, path, then upgrade. */
export function refuseRequest(request: IncomingMessage): Problem | undefined {
  return (
    refuseHead(request) ?? refusePath(request) ?? refuseUpgrade(request, 'the stream') ?? refuseSubprotocols(request)
  )
}

/** The request's verified token, or the refusal. */
export async function authenticate(
  request: IncomingMessage,
  context: HandshakeContext,
): Promise<AccessToken | Problem> {
  const { directory, verifier } = context
  const token = credentials(request)
  // Before the token is verified: its key or its client may have been made meanwhile, and a 401 would blame the client.
  if (!(token instanceof Problem) && context.isDirectoryStale()) return handshakeUnavailable(STALE)
  return authenticateBearer(token, { directory, verifier, retryAfterSeconds: HANDSHAKE_RETRY_SECONDS })
}

/**
 * Checks access, then capacity. Must be called in the tick in which the connection is opened, so that no access is
 * revoked and no capacity is used twice in between.
 */
export function refuseAdmission(token: AccessToken, context: HandshakeContext): Problem | undefined {
  return refuseAccess(token, context) ?? refuseCapacity(token, context)
}

/** The subprotocol to select from the client's offer. False when none is known (the base protocol is then used). */
export function selectSubprotocol(offered: ReadonlySet<string>): string | false {
  for (const name of offered) if (isSubprotocol(name)) return name
  return false
}

function refusePath(request: IncomingMessage): Problem | undefined {
  const path = originForm(request.url ?? '').split('?', 1)[0]
  if (path === '/') return undefined
  return new Problem('not_found', 'the stream is at /')
}

function refuseSubprotocols(request: IncomingMessage): Problem | undefined {
  const names = offeredSubprotocols(request)
  if (names instanceof Problem) return names
  const carriesToken = names.some((name) => name.startsWith(BEARER_SUBPROTOCOL_PREFIX))
  if (carriesToken && !names.some(isSubprotocol)) {
    return badHandshake(`a ${BEARER_SUBPROTOCOL_PREFIX} entry needs ${SUBPROTOCOLS.join(' or ')} beside it`)
  }
  return undefined
}

/** The token from the Authorization header, else from the `bearer.` subprotocol entry (browsers cannot set headers). */
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
  const connectionsMax = context.connectionsMax()
  const perClientMax = context.connectionsPerClientMax()
  const ofClient = context.connectionsOf(token.clientId)
  if (ofClient >= perClientMax) {
    const detail = `the client has ${perClientMax} connections already, which is its limit`
    return new Problem('too_many_connections', detail, RETRY_AFTER)
  }
  const full = context.directory
    .plansOf(token)
    .find(({ plan, holderId }) => context.connectionsOf(holderId) >= (plan.connectionsMax ?? Number.POSITIVE_INFINITY))
  if (full !== undefined) {
    const { connectionsMax: most, name } = full.plan
    const detail = `the ${full.holder} has ${most} connections already, which is the limit of the plan ${name}`
    return new Problem('too_many_connections', detail, RETRY_AFTER)
  }
  if (context.isDraining()) return handshakeUnavailable('the node is shutting down')
  // Without a reserve where the operator lets one client have more than a quarter.
  const reserve = ofClient === 0 || 4 * perClientMax > connectionsMax ? 0 : reserveOf(connectionsMax)
  if (context.connections() >= connectionsMax - reserve)
    return handshakeUnavailable('the node has reached its connection limit')
  return undefined
}

function isSubprotocol(name: string): boolean {
  return SUBPROTOCOLS.includes(name as (typeof SUBPROTOCOLS)[number])
}

function notLoaded(): Problem {
  return handshakeUnavailable('the client directory is not loaded yet')
}

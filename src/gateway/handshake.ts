/**
 * Who may open the stream: the ordered checks of a handshake, each a small function that lets pass or refuses. They
 * read memory only, so the store being down refuses nobody. A refusal is an HTTP answer before the upgrade.
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

/** Seconds after which a client that met a limit, or a node that is not ready, may be tried again. */
const RETRY_AFTER_SECONDS = 5
const RETRY_AFTER = { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } }

export interface Doorway {
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

/** Who asks: the verified token that the request carries, or why there is none. */
export async function authenticate(request: IncomingMessage, doorway: Doorway): Promise<AccessToken | Problem> {
  const { directory, verifier } = doorway
  return authenticateBearer(credentials(request), { directory, verifier, retryAfterSeconds: RETRY_AFTER_SECONDS })
}

/**
 * Whether who asks may come in now: access, then room. To be asked in the same turn as the connection is opened, so
 * that nothing is taken away and no place is given twice in between.
 */
export function refuseAdmission(token: AccessToken, doorway: Doorway): Problem | undefined {
  return refuseAccess(token, doorway) ?? refuseCapacity(token, doorway)
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

/** Clients offer one or two. Without a limit, a head full of names costs tens of milliseconds, and no token. */
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

function refuseAccess(token: AccessToken, doorway: Doorway): Problem | undefined {
  const refusal = streamRefusal(doorway.directory, token)
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

function refuseCapacity(token: AccessToken, doorway: Doorway): Problem | undefined {
  if (doorway.connectionsOfClient(token.clientId) >= doorway.connectionsPerClientMax()) {
    const detail = `the client has ${doorway.connectionsPerClientMax()} connections already, which is its limit`
    return new Problem('too_many_connections', detail, RETRY_AFTER)
  }
  if (doorway.isDraining()) return unavailable('the node is shutting down')
  if (doorway.connections() >= doorway.connectionsMax()) return unavailable('the node has no room for more connections')
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

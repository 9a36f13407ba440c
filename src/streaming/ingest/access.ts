/**
 * The checks on a request to the ingest listener, in order: request, token, access, capacity. They read memory only.
 * The same access check decides about an open connection after every directory change.
 */
import type { IncomingMessage } from 'node:http'
import { authenticateBearer } from '../../access/clients/bearer-authentication.ts'
import type { Directory } from '../../access/clients/directory.ts'
import { publishRefusal } from '../../access/clients/publish-access.ts'
import type { AccessToken, TokenVerifier } from '../../access/clients/token-verifier.ts'
import { PUBLISH_SUBPROTOCOL, type PublishCloseCause } from '../../contract/publish-codes.ts'
import { PUBLISH_SCOPE } from '../../contract/scopes.ts'
import type { SharedPool } from '../../platform/base/shared-pool.ts'
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

export interface AccessContext {
  readonly directory: Directory
  readonly verifier: TokenVerifier
  /** Connected publishers by client, including POST /publish. */
  readonly publishers: Pick<SharedPool, 'refusal' | 'shareMax'>
  /** Why nothing is accepted from its client now. Undefined otherwise. */
  closedReason(token: AccessToken): string | undefined
}

/** A handshake's problem besides its token. */
export function refuseRequest(request: IncomingMessage): Problem | undefined {
  return refuseHead(request) ?? refusePath(request) ?? refuseUpgrade(request, 'publishing') ?? refuseProtocol(request)
}

/** A request's verified token, or the refusal. */
export async function authenticate(
  { headers }: IncomingMessage,
  { directory, verifier }: AccessContext,
): Promise<AccessToken | Problem> {
  const authentication = { directory, verifier, retryAfterSeconds: HANDSHAKE_RETRY_SECONDS }
  return authenticateBearer(readBearerToken(headers.authorization), authentication)
}

/**
 * Checks access, then capacity. Must be called in the tick in which the publisher is admitted.
 * @param isCounted whether it is among the publishers already
 */
export function refuseAdmission(token: AccessToken, context: AccessContext, isCounted = false): Problem | undefined {
  switch (publishRefusal(context.directory, token)) {
    case undefined:
      return refuseCapacity(token, context, isCounted)
    case 'not-loaded':
      return handshakeUnavailable('the client directory is not loaded yet')
    case 'revoked':
      return invalidToken('the token is not valid: it has been revoked')
    case 'scope':
      return insufficientScope(`the token lacks the scope ${PUBLISH_SCOPE}`, PUBLISH_SCOPE)
    case 'disabled':
      return new Problem('disabled', 'the client or its customer is disabled')
  }
}

/** Why a token's connection has to be closed by now, if there is a reason. */
export function closeCauseOf(directory: Directory, token: AccessToken): PublishCloseCause | undefined {
  const refusal = publishRefusal(directory, token)
  if (refusal === undefined) return undefined
  return refusal === 'revoked' ? 'tokenRevoked' : 'revoked'
}

function refuseCapacity(
  token: AccessToken,
  { publishers, closedReason }: AccessContext,
  isCounted: boolean,
): Problem | undefined {
  const { clientId } = token
  const reason = closedReason(token)
  if (reason !== undefined) return handshakeUnavailable(reason)
  switch (isCounted ? undefined : publishers.refusal(clientId)) {
    case undefined:
      return undefined
    case 'share':
      return handshakeUnavailable(
        `the client has ${publishers.shareMax} publishers, a quarter of the node's limit (ingest.connections_max)`,
      )
    case 'pool':
      return handshakeUnavailable('the node has reached its publisher limit (ingest.connections_max)')
  }
}

function refusePath({ url = '' }: IncomingMessage): Problem | undefined {
  if (originForm(url).split('?', 1)[0] === '/') return undefined
  return new Problem('not_found', 'publishers connect to /')
}

function refuseProtocol(request: IncomingMessage): Problem | undefined {
  const names = offeredSubprotocols(request)
  if (names instanceof Problem) return names
  return names.includes(PUBLISH_SUBPROTOCOL)
    ? undefined
    : badHandshake(`Sec-WebSocket-Protocol must list ${PUBLISH_SUBPROTOCOL}`)
}

/**
 * The stream's endpoint. It takes its listener's `upgrade` event, runs the checks in `handshake`, and passes accepted
 * connections to this process's hub. Memory and time for peers without a verified token are bounded. It watches the
 * directory, so that revoked access ends open connections, and plans bound them, within a second. A change visits only
 * the connections that it can affect.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Directory } from '../../access/clients/directory.ts'
import type { DirectoryCurrency } from '../../access/clients/directory-currency.ts'
import { streamRefusal } from '../../access/clients/stream-access.ts'
import type { AccessToken, TokenVerifier } from '../../access/clients/token-verifier.ts'
import type { CloseCause } from '../../contract/stream-codes.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { LogLimit } from '../../platform/base/log-limit.ts'
import { Problem } from '../../platform/http/problem.ts'
import { answerRefusal, type HandshakePeer, PendingHandshakes } from '../../platform/http/websocket-handshake.ts'
import { authenticate, type HandshakeContext, refuseAdmission, refuseRequest } from './handshake.ts'
import type { Hub } from './hub.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { OtherConnections } from './session-index.ts'
import { SessionServer } from './session-server.ts'

/** Handshake settings; each is the setting `stream.*` with the same name. */
export interface GatewaySettings {
  readonly inboundBytesMax: number
  readonly connectionsPerClientMax: number
  readonly connectionsMax: number
}

export interface GatewayOptions {
  readonly hub: Hub
  /** Connections at other processes that have the same limits. */
  readonly others?: OtherConnections | undefined
  readonly directory: Directory
  /** Absent: the directory is never stale. */
  readonly currency?: Pick<DirectoryCurrency, 'isStale'>
  readonly verifier: TokenVerifier
  readonly clock: Clock
  readonly log: Log
  readonly metrics: GatewayMetrics
  readonly settings: GatewaySettings
}

export interface Gateway {
  /** Handles an upgrade request. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, peer: HandshakePeer): void
  /** Runs the checks from the token on for a request without upgrade. Undefined when all pass. */
  check(request: IncomingMessage): Promise<Problem | undefined>
  /** Refuses new connections and closes the open ones, spread over `seconds`. Resolves when none is left. */
  drain(seconds: number): Promise<void>
  /** Cuts the remaining connections. */
  stop(): void
}

/** An upgrade request. `head` has the bytes that arrived after its headers. */
interface Arrival {
  readonly request: IncomingMessage
  readonly socket: Socket
  readonly head: Buffer
  readonly clientAddress: string
}

export function createGateway(options: GatewayOptions): Gateway {
  const { hub, others, directory, verifier, log, metrics, settings, clock } = options
  const pending = new PendingHandshakes()
  let draining = false
  const context: HandshakeContext = {
    directory,
    verifier,
    isDirectoryStale: () => options.currency?.isStale === true,
    // Functions, because a reload may change both.
    connectionsPerClientMax: () => settings.connectionsPerClientMax,
    connectionsMax: () => settings.connectionsMax,
    connections: () => hub.sessions.size + (others?.total ?? 0),
    connectionsOf: (holderId) => hub.useOf(holderId).connections,
    isDraining: () => draining,
  }
  const server = new SessionServer({ hub, clock, log, inboundBytesMax: settings.inboundBytesMax })
  const logLimit = new LogLimit(clock)
  // Peers without a token can cause any number of these.
  const noteError = ({ code }: NodeJS.ErrnoException) => {
    const passed = logLimit.admit('broken handshake')
    if (passed !== undefined) log.debug({ reason: code, ...passed }, 'a handshake was aborted')
  }
  const causeOf = ({ token }: { readonly token: AccessToken }) => revocationCause(directory, token)
  const endWatch = directory.onChange((affected) => hub.applyAccess(causeOf, affected))

  function noteRefusal({ status, code }: Problem, clientAddress: string): void {
    const passed = logLimit.admit(code)
    if (passed !== undefined) log.info({ status, code, client_address: clientAddress, ...passed }, 'handshake refused')
  }

  async function decide(arrival: Arrival, holder: string): Promise<void> {
    const { request, socket } = arrival
    const check = () => authenticate(request, context)
    const identity = refuseRequest(request) ?? (await pending.hold(request, holder, check))
    if (socket.destroyed) return
    const refusal = identity instanceof Problem ? identity : refuseAdmission(identity, context)
    metrics.handshakes.inc({ status: String(refusal?.status ?? 101) })
    if (refusal !== undefined) {
      noteRefusal(refusal, arrival.clientAddress)
      answerRefusal(socket, refusal, clock)
    } else {
      server.open({ ...arrival, token: identity as AccessToken }, () => socket.off('error', noteError))
    }
  }

  return {
    upgrade(request, socket, head, { address, holder }) {
      socket.on('error', noteError)
      decide({ request, socket: socket as Socket, head, clientAddress: address }, holder).catch((error) => {
        log.error({ err: error }, 'a handshake failed')
        answerRefusal(socket, new Problem('internal', 'an error on our side. Quote request_id'), clock)
      })
    },
    async check(request) {
      const identity = await authenticate(request, context)
      return identity instanceof Problem ? identity : refuseAdmission(identity, context)
    },
    drain(seconds) {
      draining = true
      return hub.drain(seconds)
    },
    stop() {
      draining = true
      endWatch()
      hub.stop()
    },
  }
}

/**
 * The cause for which an open connection has to be closed, if there is one: after `tokenRevoked` clients get a new
 * token, after `revoked` they stop.
 */
function revocationCause(directory: Directory, token: AccessToken): CloseCause | undefined {
  const refusal = streamRefusal(directory, token)
  if (refusal === undefined) return undefined
  return refusal === 'revoked' ? 'tokenRevoked' : 'revoked'
}

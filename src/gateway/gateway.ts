/**
 * The stream's endpoint: takes the `upgrade` event of the public listener, runs the checks of `handshake`, and passes
 * accepted connections to the hub. Memory and time of peers without a verified token are bounded. It watches the
 * directory, so that revoked access ends open connections within a second; a change visits only the sessions that it can
 * affect.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type RawData, type Server, type ServerOptions, WebSocket, WebSocketServer } from 'ws'
import type { Directory } from '../auth/directory.ts'
import { streamRefusal } from '../auth/stream-access.ts'
import type { AccessToken, TokenVerifier } from '../auth/token-verifier.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { LogLimit } from '../base/log-limit.ts'
import type { CloseCause } from '../contract/stream-codes.ts'
import { Problem } from '../http/problem.ts'
import { answerRefusal, PendingHandshakes } from '../http/websocket-handshake.ts'
import { authenticate, type HandshakeContext, refuseAdmission, refuseRequest, selectSubprotocol } from './handshake.ts'
import type { Hub } from './hub.ts'
import type { GatewayMetrics } from './metrics.ts'
import { CLOSE_MILLISECONDS_MAX, Transport } from './outbox.ts'
import type { Session } from './session.ts'

/** Settings of the handshake; each is the setting `stream.*` of the same name. */
export interface GatewaySettings {
  readonly inboundBytesMax: number
  readonly connectionsPerClientMax: number
  readonly connectionsMax: number
}

export interface GatewayOptions {
  readonly hub: Hub
  readonly directory: Directory
  readonly verifier: TokenVerifier
  readonly clock: Clock
  readonly log: Log
  readonly metrics: GatewayMetrics
  readonly settings: GatewaySettings
}

export interface Gateway {
  /** Handles an upgrade request. `clientAddress`: the peer's, as the listener determined it. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, clientAddress: string): void
  /** Runs the checks from the token on for a request without upgrade; undefined when all pass. */
  check(request: IncomingMessage): Promise<Problem | undefined>
  /** Refuses new connections and closes the open ones, spread over `seconds`; resolves when none is left. */
  drain(seconds: number): Promise<void>
  /** Cuts the remaining connections. */
  stop(): void
}

/** An upgrade request; `head` has the bytes that arrived after its headers. */
interface Arrival {
  readonly request: IncomingMessage
  readonly socket: Socket
  readonly head: Buffer
  readonly clientAddress: string
}

export function createGateway(options: GatewayOptions): Gateway {
  const { hub, directory, log, metrics, settings, clock } = options
  const pending = new PendingHandshakes()
  let draining = false
  const context: HandshakeContext = {
    directory,
    verifier: options.verifier,
    // Functions, because a reload may change both.
    connectionsPerClientMax: () => settings.connectionsPerClientMax,
    connectionsMax: () => settings.connectionsMax,
    connections: () => hub.sessions.size,
    connectionsOfClient: (clientId) => hub.connectionsOfClient(clientId),
    isDraining: () => draining,
  }
  const server = createWebSocketServer(settings.inboundBytesMax)
  const listeners = createListeners(log)
  const logLimit = new LogLimit(options.clock)
  // Peers without a token can cause any number of these.
  const noteError = ({ code }: NodeJS.ErrnoException) => {
    const passed = logLimit.admit('broken handshake')
    if (passed !== undefined) log.debug({ reason: code, ...passed }, 'a handshake was aborted')
  }
  const endWatch = directory.onChange((affected) =>
    hub.closeWhere(({ token }) => revocationCause(directory, token), affected),
  )

  function noteRefusal({ status, code }: Problem, clientAddress: string): void {
    const passed = logLimit.admit(code)
    if (passed !== undefined) log.info({ status, code, client_address: clientAddress, ...passed }, 'handshake refused')
  }

  async function decide(arrival: Arrival): Promise<void> {
    const { request, socket } = arrival
    const identity = refuseRequest(request) ?? (await pending.hold(request, () => authenticate(request, context)))
    if (socket.destroyed) return
    const refusal = identity instanceof Problem ? identity : refuseAdmission(identity, context)
    metrics.handshakes.inc({ status: String(refusal?.status ?? 101) })
    if (refusal !== undefined) {
      noteRefusal(refusal, arrival.clientAddress)
      answerRefusal(socket, refusal, clock)
    } else accept(server, listeners, options, identity as AccessToken, arrival, () => socket.off('error', noteError))
  }

  return {
    upgrade(request, socket, head, clientAddress) {
      socket.on('error', noteError)
      decide({ request, socket: socket as Socket, head, clientAddress }).catch((error) => {
        log.error({ err: error }, 'a handshake failed')
        answerRefusal(socket, new Problem('internal', 'an error on our side; quote request_id'), clock)
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
      server.close()
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

/** Frames of one message; more closes with 1008. Known clients send one. */
const FRAGMENTS_MAX = 64
/**
 * Socket reads that one frame may take; more closes with 1008. A read costs about 200 bytes however short it is:
 * without this limit, a message of 64 KiB that arrives byte by byte and never ends would hold megabytes. The limit
 * grows with `stream.inbound_bytes_max`: a mean of 64 bytes per read is far below what any network delivers.
 */
const READS_MAX = 1_024
const READ_BYTES_MEAN = 64

/** Options that are missing in the type declarations. */
interface UndeclaredOptions {
  readonly closeTimeout: number
  readonly maxFragments: number
  readonly maxBufferedChunks: number
}

/** A WebSocket with its session, so that all of them share their listeners: listeners of each would take memory. */
class SessionSocket extends WebSocket {
  session: Session | undefined
}

type SessionSocketServer = Server<typeof SessionSocket>

function createWebSocketServer(inboundBytesMax: number): SessionSocketServer {
  const options: ServerOptions<typeof SessionSocket> & UndeclaredOptions = {
    WebSocket: SessionSocket,
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // The session writes a pong only when its outbox is not blocked, so that pings cannot pile up replies.
    autoPong: false,
    maxPayload: inboundBytesMax,
    maxFragments: FRAGMENTS_MAX,
    maxBufferedChunks: Math.max(READS_MAX, Math.ceil(inboundBytesMax / READ_BYTES_MEAN)),
    closeTimeout: CLOSE_MILLISECONDS_MAX,
    handleProtocols: selectSubprotocol,
  }
  return new WebSocketServer(options)
}

/** The listeners of all WebSockets; `this` is the WebSocket, which has a session by then. */
function createListeners(log: Log) {
  const sessionOf = (webSocket: WebSocket) => (webSocket as SessionSocket).session as Session
  const fieldsOf = ({ id, token }: Session) => ({ connection: id, client_id: token.clientId })
  return {
    message(this: WebSocket, data: RawData, isBinary: boolean) {
      sessionOf(this).receive({ data: data as Buffer, isBinary })
    },
    ping(this: WebSocket, data: Buffer) {
      sessionOf(this).receiveControl(data)
    },
    pong(this: WebSocket) {
      sessionOf(this).receiveControl(undefined)
    },
    /** A protocol error of the peer: ws has closed with its code (1002, 1007, 1008, 1009). */
    error(this: WebSocket, error: Error) {
      log.info({ ...fieldsOf(sessionOf(this)), err: error }, 'connection error')
    },
    close(this: WebSocket, code: number) {
      sessionOf(this).end()
      log.info({ ...fieldsOf(sessionOf(this)), code }, 'connection closed')
    },
  }
}

function accept(
  server: SessionSocketServer,
  listeners: ReturnType<typeof createListeners>,
  options: GatewayOptions,
  token: AccessToken,
  { request, socket, head, clientAddress }: Arrival,
  onTaken: () => void,
): void {
  const { hub, log } = options
  socket.setNoDelay(true)
  socket.setKeepAlive(true)
  server.handleUpgrade(request, socket, head, (webSocket) => {
    // From now on the WebSocket has an error listener.
    onTaken()
    const session = hub.open(new Transport(webSocket, socket, options.clock, clientAddress), token)
    webSocket.session = session
    webSocket.on('message', listeners.message)
    webSocket.on('ping', listeners.ping)
    webSocket.on('pong', listeners.pong)
    webSocket.on('error', listeners.error)
    webSocket.on('close', listeners.close)
    const fields = { connection: session.id, client_id: token.clientId, client_address: clientAddress }
    log.info(fields, 'connection opened')
  })
}

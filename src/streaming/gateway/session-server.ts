/**
 * Finishes the WebSocket handshake for accepted connections and connects each socket with its session. The memory a
 * peer can make `ws` hold is bounded.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type RawData, type Server, type ServerOptions, WebSocket, WebSocketServer } from 'ws'
import type { AccessToken } from '../../access/clients/token-verifier.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { selectSubprotocol } from './handshake.ts'
import type { Hub } from './hub.ts'
import { CLOSE_MILLISECONDS_MAX, Transport } from './outbox.ts'
import type { Session } from './session.ts'

/** Frames in one message; more closes with 1008. Known clients send one. */
const FRAGMENTS_MAX = 64
/**
 * Socket reads that one frame may take; more closes with 1008. A read costs about 200 bytes however short it is.
 * Without this limit, a message up to 64 KiB that arrives byte by byte and never ends would hold megabytes. The limit
 * grows with `stream.inbound_bytes_max`: it allows a mean as low as 64 bytes per read, far below what any network
 * delivers.
 */
const READS_MAX = 1_024
const READ_BYTES_MEAN = 64

/** Options missing from the type declarations. */
interface UndeclaredOptions {
  readonly closeTimeout: number
  readonly maxFragments: number
  readonly maxBufferedChunks: number
}

/** A WebSocket with its session, so that all share their listeners. Separate listeners would take memory. */
class SessionSocket extends WebSocket {
  session: Session | undefined

  /** `ws` calls it too, to answer the peer's close frame or a protocol error. */
  override close(code?: number, data?: string | Buffer): void {
    if (this.readyState === this.OPEN) this.session?.peerCloses(code, data === undefined ? 0 : Buffer.byteLength(data))
    super.close(code, data)
  }
}

type SessionSocketServer = Server<typeof SessionSocket>

/** A connection accepted by the handshake. `head` has the bytes that arrived after its request's headers. */
export interface AcceptedConnection {
  readonly token: AccessToken
  readonly clientAddress: string
  readonly request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>
  readonly socket: Socket
  readonly head: Buffer
}

export interface SessionServerOptions {
  readonly hub: Pick<Hub, 'open'>
  readonly clock: Clock
  readonly log: Log
  /** The setting `stream.inbound_bytes_max`. */
  readonly inboundBytesMax: number
}

export class SessionServer {
  readonly #options: SessionServerOptions
  readonly #server: SessionSocketServer
  readonly #listeners: ReturnType<typeof createListeners>

  constructor(options: SessionServerOptions) {
    this.#options = options
    this.#server = createWebSocketServer(options.inboundBytesMax)
    this.#listeners = createListeners(options.log)
  }

  /**
   * Opens the session. Undefined when the handshake failed. `onTaken` is called when socket errors are handled here.
   */
  open({ token, clientAddress, request, socket, head }: AcceptedConnection, onTaken: () => void): Session | undefined {
    const { hub, log, clock } = this.#options
    socket.setNoDelay(true)
    socket.setKeepAlive(true)
    let opened: Session | undefined
    this.#server.handleUpgrade(request as IncomingMessage, socket, head, (webSocket) => {
      // From now on the WebSocket has an error listener.
      onTaken()
      const session = hub.open(new Transport(webSocket, socket, clock, clientAddress), token)
      const listeners = this.#listeners
      webSocket.session = session
      webSocket.on('message', listeners.message)
      webSocket.on('ping', listeners.ping)
      webSocket.on('pong', listeners.pong)
      webSocket.on('error', listeners.error)
      webSocket.on('close', listeners.close)
      const fields = { connection: session.id, client_id: token.clientId, client_address: clientAddress }
      log.info(fields, 'connection opened')
      opened = session
    })
    return opened
  }
}

function createWebSocketServer(inboundBytesMax: number): SessionSocketServer {
  const options: ServerOptions<typeof SessionSocket> & UndeclaredOptions = {
    WebSocket: SessionSocket,
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // The session writes a pong only when its outbox is not blocked, so pings cannot pile up replies.
    autoPong: false,
    maxPayload: inboundBytesMax,
    maxFragments: FRAGMENTS_MAX,
    maxBufferedChunks: Math.max(READS_MAX, Math.ceil(inboundBytesMax / READ_BYTES_MEAN)),
    closeTimeout: CLOSE_MILLISECONDS_MAX,
    handleProtocols: selectSubprotocol,
  }
  return new WebSocketServer(options)
}

/** All WebSockets' listeners. `this` is the WebSocket, which has a session by then. */
function createListeners(log: Log) {
  const sessionOf = (webSocket: WebSocket) => (webSocket as SessionSocket).session as Session
  const fieldsOf = ({ id, token }: Session) => ({ connection: id, client_id: token.clientId })
  return {
    message(this: WebSocket, data: RawData, isBinary: boolean) {
      sessionOf(this).receive({ data: data as Buffer, isBinary })
    },
    ping(this: WebSocket, data: Buffer) {
      sessionOf(this).receivePing(data)
    },
    pong(this: WebSocket, data: Buffer) {
      sessionOf(this).receivePong(data)
    },
    /** The peer's protocol error: ws has closed with its code (1002, 1007, 1008, 1009). */
    error(this: WebSocket, error: Error) {
      log.info({ ...fieldsOf(sessionOf(this)), err: error }, 'connection error')
    },
    close(this: WebSocket, code: number) {
      sessionOf(this).end()
      log.info({ ...fieldsOf(sessionOf(this)), code }, 'connection closed')
    },
  }
}

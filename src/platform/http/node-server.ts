/**
 * Node's HTTP server for a listener, plain or over TLS (1.2 and later), HTTP/1.1 only: all its size and time limits,
 * and its event listeners. A failed TLS handshake ends only its connection.
 */
import { createServer, IncomingMessage, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Throttle } from '../base/throttle.ts'
import type { Connections } from './connections.ts'
import { HEAD_FIELDS_MAX } from './request-head.ts'
import { type TicketChain, ticketKeysAt, untilNextPeriod } from './session-tickets.ts'

/** Certificate and key, the session tickets' keys, and whether clients need a certificate too. */
export interface TlsContext extends SecureContextOptions {
  readonly requestCert?: boolean
  readonly tickets: TicketChain
}

export interface NodeServerOptions {
  /** Largest request head. */
  readonly headerBytesMax: number
  /** Longest time for sending a whole request. A TLS handshake may take a fifth of it. */
  readonly requestMilliseconds: number
  /** Certificate and key. Absent: no TLS. */
  readonly tls: TlsContext | undefined
  readonly connections: Connections
  readonly log: Log
  readonly clock: Clock
}

/** Time between two log lines about connections that could not be accepted. */
const ACCEPT_LOG_MILLISECONDS = 60_000

/** Longest time for sending a head, which even a slow client sends at once. */
const HEAD_MILLISECONDS_MAX = 10_000
/** Longer than the 60 s used by load balancers, so the balancer closes idle connections. */
const KEEP_ALIVE_MILLISECONDS = 72_000
/** A connection without any traffic for this long during a request or its answer is closed. */
const STALLED_MILLISECONDS = 60_000
const CHECKING_MILLISECONDS = 1_000
/** Node's default differs between processes with different arguments, and a session is only resumed in its own context. */
const SESSION_ID_CONTEXT = 'tidegate'

export function createNodeServer(options: NodeServerOptions, handle: RequestListener): Server {
  const { requestMilliseconds, tls, connections, log } = options
  keepNoParsers()
  const limits = {
    IncomingMessage: PlainUnlessWebSocket,
    maxHeaderSize: options.headerBytesMax,
    requestTimeout: requestMilliseconds,
    headersTimeout: Math.min(HEAD_MILLISECONDS_MAX, requestMilliseconds),
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    connectionsCheckingInterval: Math.min(CHECKING_MILLISECONDS, requestMilliseconds),
    // `refuseHead` checks it: Node's own answer is not a problem document.
    requireHostHeader: false,
  }
  const server = tls === undefined ? createServer(limits) : tlsServer(options, tls, limits)
  // One more than allowed, so an excess is seen and rejected. Further ones are not stored.
  server.maxHeadersCount = HEAD_FIELDS_MAX + 1
  server.setTimeout(STALLED_MILLISECONDS)
  surviveAcceptErrors(server, options)
  connections.watch(server)
  server.on('request', handle)
  // Requests with `Expect` reach the routes like any other: checks without a body precede `100 Continue`.
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // Scanners and old clients cause these continually.
  server.on('tlsClientError', (error: NodeJS.ErrnoException) => {
    log.debug({ reason: error.code ?? error.message }, 'TLS handshake failed')
  })
  return server
}

/**
 * Without descriptors or memory (EMFILE, ENFILE, ENOBUFS) a connection cannot be accepted, but the next one may be. Any
 * other error without a listener ends the process.
 */
function surviveAcceptErrors(server: Server, { log, clock }: NodeServerOptions): void {
  const throttle = new Throttle(clock, ACCEPT_LOG_MILLISECONDS)
  server.on('error', (error: NodeJS.ErrnoException) => {
    if (error.syscall === 'accept') {
      throttle.run((suppressed) => log.error({ code: error.code, suppressed }, 'a connection could not be accepted'))
    } else if (server.listenerCount('error') === 1) throw error
  })
}

/**
 * Node keeps up to 1,000 parsers from closed connections for reuse, each with the head that it was reading: 1,000
 * connections cut 500 KB into a head left 500 MB that was never freed (measured with Node 20, where creating a parser
 * takes no measurable time). The list is not a public API. Where it does not exist, nothing is changed.
 */
function keepNoParsers(): void {
  const common = process.getBuiltinModule('_http_common') as { readonly parsers?: { max: number } } | undefined
  if (common?.parsers !== undefined) common.parsers.max = 0
}

/** The servers over TLS, with their tickets' current chains. */
const served = new WeakMap<Server, { readonly tickets: TicketChain; readonly clock: Clock }>()

function tlsServer({ requestMilliseconds, clock }: NodeServerOptions, tls: TlsContext, limits: ServerOptions): Server {
  const server = createTlsServer({
    ...limits,
    ...secureOptions(tls, clock),
    handshakeTimeout: Math.ceil(requestMilliseconds / 5),
  })
  served.set(server, { tickets: tls.tickets, clock })
  let timer: Timer | undefined
  const rotateLater = () => {
    timer = clock.schedule(untilNextPeriod(clock.wallInstant().milliseconds), () => {
      const tickets = served.get(server)?.tickets ?? tls.tickets
      server.setTicketKeys(ticketKeysAt(tickets, clock.wallInstant().milliseconds))
      rotateLater()
    })
  }
  rotateLater()
  server.on('close', () => timer?.cancel())
  return server
}

function secureOptions({ tickets, ...context }: TlsContext, clock: Clock) {
  const ticketKeys = ticketKeysAt(tickets, clock.wallInstant().milliseconds)
  return { ...context, ticketKeys, sessionIdContext: SESSION_ID_CONTEXT }
}

/** Replaces the certificate and the tickets' keys for new connections. */
export function replaceCertificate(server: Server, context: TlsContext): void {
  const known = served.get(server)
  if (known === undefined) throw new Error('the server was not created for TLS')
  const { clock } = known
  served.set(server, { tickets: context.tickets, clock })
  ;(server as TlsServer).setSecureContext(secureOptions(context, clock))
}

/**
 * Requests treated as upgrades: WebSocket handshakes, and CONNECT, after which the connection is no longer HTTP. Node
 * passes every request that offers any upgrade to an `upgrade` listener, so a client that offers HTTP/2 in plain text
 * (`h2c`, as Java's does with its first request) would never reach its route. RFC 9110 section 7.8 allows a server to
 * ignore the offer and answer normally.
 */
class PlainUnlessWebSocket extends IncomingMessage {
  // The value set by Node's parser. The base class's constructor sets it first, before a private member in this class
  // would exist.
  declare _offersUpgrade: boolean | null

  get upgrade(): boolean {
    if (this._offersUpgrade !== true) return false
    return this.method === 'CONNECT' || this.headers.upgrade?.toLowerCase() === 'websocket'
  }

  set upgrade(offersUpgrade: boolean | null) {
    this._offersUpgrade = offersUpgrade
  }
}

/**
 * Whether a request's connection must end with its answer: after an ignored offer, the parser reads no further request.
 */
export function endsConnection(request: IncomingMessage): boolean {
  return request.headers.upgrade !== undefined
}

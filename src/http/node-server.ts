/**
 * The runtime's HTTP server under a listener, plain or over TLS: its limits of size and time in one place, and who is
 * handed what. TLS 1.2 and later, HTTP/1.1 only. Faults of TLS handshakes end their connection and nothing else.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Throttle } from '../base/throttle.ts'
import type { Connections } from './connections.ts'
import { HEAD_FIELDS_MAX } from './request-head.ts'
import { PlainUnlessWebSocket } from './upgrade.ts'

export interface NodeServerOptions {
  /** Largest head of a request. */
  readonly headerBytesMax: number
  /** Longest a client may take to send a whole request; a fifth of it for a TLS handshake. */
  readonly requestMilliseconds: number
  /** Certificate and key; absent = no TLS. */
  readonly tls: SecureContextOptions | undefined
  readonly connections: Connections
  readonly log: Log
  readonly clock: Clock
}

/** Between two lines of the log about connections that could not be accepted. */
const ACCEPT_LOG_MILLISECONDS = 60_000

/** Longest a client may take to send a head, which even a slow one sends in one go. */
const HEAD_MILLISECONDS_MAX = 10_000
/** Longer than a balancer's 60 s, so that it is the balancer who closes an idle connection. */
const KEEP_ALIVE_MILLISECONDS = 72_000
/** How long a peer may take nothing of an answer. */
const STALLED_MILLISECONDS = 60_000
const CHECKING_MILLISECONDS = 1_000

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
    // We check it ourselves: the runtime's answer has no document.
    requireHostHeader: false,
  }
  const server =
    tls === undefined
      ? createServer(limits)
      : createTlsServer({
          ...limits,
          ...tls,
          handshakeTimeout: Math.ceil(requestMilliseconds / 5),
        })
  // One more than is allowed, so that too many are seen and refused; what is beyond is never even collected.
  server.maxHeadersCount = HEAD_FIELDS_MAX + 1
  server.setTimeout(STALLED_MILLISECONDS)
  surviveAcceptErrors(server, options)
  connections.watch(server)
  server.on('request', handle)
  // Expectations reach the routes like any request: the checks that need no body come before `100 Continue`.
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // Scanners and old clients cause these all day long.
  server.on('tlsClientError', (error: NodeJS.ErrnoException) => {
    log.debug({ reason: error.code ?? error.message }, 'TLS handshake failed')
  })
  return server
}

/**
 * Without descriptors or memory (EMFILE, ENFILE, ENOBUFS) a connection cannot be accepted; the next one may be. Any other
 * error that nobody listens for ends the process.
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
 * The runtime keeps up to 1,000 parsers of closed connections for the next ones, each with the head that it was reading:
 * 1,000 connections that were cut 500 KB into a head left 500 MB that nothing gave back (measured with Node 20, in which a
 * new parser takes no time that could be measured). The list has no public name; where it is not there, nothing happens.
 */
function keepNoParsers(): void {
  const common = process.getBuiltinModule('_http_common') as { readonly parsers?: { max: number } } | undefined
  if (common?.parsers !== undefined) common.parsers.max = 0
}

/** Puts another certificate in place, for connections that come from now on. */
export function replaceCertificate(server: Server, context: SecureContextOptions): void {
  ;(server as TlsServer).setSecureContext(context)
}

/**
 * The HTTP server for both listeners: fastify with problem documents as errors, strict JSON bodies, request ids, size
 * and time limits, 405 with Allow, one metric sample and one log line per request (a limited number for rejected ones).
 * Every error is a problem document that names field and rule. Neither a URL's query nor a header reaches the log. It
 * imports no product module: `translate` maps their errors. The hooks for every request are synchronous: an asynchronous
 * one costs microseconds, and there are ten.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { runFor } from '../base/caller.ts'
import { type Clock, createSystemClock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { LogLimit } from '../base/log-limit.ts'
import type { MetricsRegistry } from '../base/metrics.ts'
import { NO_HOLDER, SHARED_POOLS } from '../base/shared-pool.ts'
import { Throttle } from '../base/throttle.ts'
import { TickBudget } from '../base/tick-budget.ts'
import { type ClientAddress, createClientAddress } from './client-address.ts'
import { Connections, type CutReason, type Upgrade } from './connections.ts'
import { allowOrigins } from './cors.ts'
import { readJson } from './json-body.ts'
import { createNodeServer, endsConnection, type TlsContext } from './node-server.ts'
import { invalidRequest, PROBLEM_MEDIA_TYPE, Problem, problemDocument } from './problem.ts'
import { QueryFaults, queryValues } from './query-values.ts'
import { writeJson } from './raw-json.ts'
import { originForm, refuseHead } from './request-head.ts'
import { type RequestMetrics, requestMetrics } from './request-metrics.ts'
import { traceRequests } from './request-spans.ts'
import { RouteMethods } from './route-methods.ts'
import { compileOnFirstUse } from './schema-compiler.ts'
import { securityHeaders } from './security-headers.ts'
import { UNREAD_LIMITS, UnreadAnswers, type UnreadLimits } from './unread-answers.ts'
import { validationErrors } from './validation.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's address: the peer's, or the one named by a trusted proxy. */
    clientAddress: string
    /** The address as holder in shared pools. Empty when many clients have it. */
    holder: string
    /** A JSON body's text: its numbers have digits that the parsed value may have lost. */
    bodyText: string
  }
  interface FastifyContextConfig {
    /** Requested every few seconds by monitoring: successes are logged at debug level. */
    isProbe?: true
    /** For the API description: the schema for a body that the handler validates itself. */
    describedBody?: object
  }
}

/** Maps an error unknown in this folder to a problem, or returns undefined when it is a bug. */
export type TranslateError = (error: unknown) => Problem | undefined

export interface HttpServerOptions {
  /** The listener's name in logs and metrics. */
  readonly listener: 'public' | 'operator' | 'ingest' | 'stream'
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** Largest request head. More is 431. */
  readonly headerBytesMax: number
  /** Longest time for sending a whole request. More is 408. */
  readonly requestMilliseconds: number
  /** Maps the product modules' errors. */
  readonly translate: TranslateError
  /** Certificate and key. Absent: plain HTTP. */
  readonly tls?: TlsContext
  /** How client addresses are determined. Absent: the peers' addresses, without a trusted proxy. */
  readonly clientAddress?: ClientAddress
  /** Browser origins that may read answers. Absent: none. */
  readonly corsOrigins?: readonly string[]
  /** Limits for answers that clients do not read. Absent: `UNREAD_LIMITS`. */
  readonly limits?: UnreadLimits
  /** Connections other than streams. Absent: the public listener's number. */
  readonly connectionsMax?: number
  /** Bytes in unfinished and unanswered requests, on all connections. Absent: the operator listener's number. */
  readonly unfinishedBytesMax?: number
  /** Handles WebSocket handshakes. Absent: routes answer them, and the connection ends with the answer. */
  readonly upgrade?: Upgrade
  /** Absent = the system's. */
  readonly clock?: Clock
}

/** Largest request body, where its route has no limit. More is 413. */
export const BODY_BYTES_MAX = 1_048_576

/** A request's query until it is parsed. */
const NO_QUERY = Object.freeze({})
/** The requests' share in a tick, without the reading of their heads: about twelve books from memory. */
const TICK_MILLISECONDS = 1
/** Time between two log lines about cut connections. */
const CUT_LOG_MILLISECONDS = 60_000

export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { clock = createSystemClock(), clientAddress = createClientAddress([]) } = options
  const observed = requestMetrics(options.metrics)
  const logLimit = new LogLimit(clock)
  const connections = createConnections({ ...options, clientAddress }, observed, clock, logLimit)
  const methods = new RouteMethods()
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    genReqId: newId,
    // A client's `X-Request-Id` is ignored: ids in the log are ours and unique.
    requestIdHeader: false,
    // A draining server answers the received requests. /readyz has notified the load balancer.
    return503OnClosing: false,
    routerOptions: { querystringParser: () => NO_QUERY },
    rewriteUrl: ({ url }) => withoutUselessQuery(originForm(url ?? '/'), methods),
    serverFactory: (handle) => createNodeServer({ ...options, tls: options.tls, connections, clock }, handle),
    forceCloseConnections: 'idle',
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        // Only the first error is reported: collecting them all lets a small request take minutes.
        allErrors: false,
        verbose: true,
        // The API description's tests check the schemas themselves.
        validateSchema: false,
      },
      onCreate: compileOnFirstUse,
    },
    frameworkErrors: (error, request, reply) => sendProblem(request, reply, frameworkProblem(error)),
    clientErrorHandler: (error, socket) => connections.answerFault(error, socket),
  })
  traceRequests(app, options.listener)
  shareTicks(app)
  app.addHook('preClose', async () => connections.cutHandshakes())
  learnMethods(app, methods)
  answerErrors(app, options, methods)
  readQueries(app)
  new UnreadAnswers({ limits: UNREAD_LIMITS, clock, ...options }).watch(app)
  readJsonBodies(app)
  observeRequests(app, options, observed, logLimit)
  startAnswers(app, clientAddress, connections)
  allowOrigins(app, options.corsOrigins ?? [], (url) => methods.has(url))
  return app
}

/**
 * A flood of requests does not delay the process's other work, such as the stream. Requests without time left in this
 * tick are answered in the next ones, in the order they came.
 */
function shareTicks(app: FastifyInstance): void {
  // The processor's time, also in tests with another clock.
  const budget = new TickBudget(createSystemClock(), TICK_MILLISECONDS)
  app.addHook('onRequest', (_request, _reply, done) => {
    if (budget.hasTime()) return done()
    budget.queue(() => {
      done()
      return false
    })
  })
}

function createConnections(
  options: HttpServerOptions & { readonly clientAddress: ClientAddress },
  observed: RequestMetrics,
  clock: Clock,
  logLimit: LogLimit,
): Connections {
  const { listener, log, upgrade } = options
  const throttles = {
    connections: new Throttle(clock, CUT_LOG_MILLISECONDS),
    unfinished_bytes: new Throttle(clock, CUT_LOG_MILLISECONDS),
  } satisfies Record<CutReason, Throttle>
  for (const reason of Object.keys(throttles)) observed.cuts.inc({ listener, reason }, 0)
  // An alert needs a sample before the first internal error, whose own series begins at 1.
  observed.requests.inc({ listener, method: 'none', route: 'none', status: 500 }, 0)
  const connections = new Connections({
    clock,
    connectionsMax: options.connectionsMax ?? SHARED_POOLS.public_connections.size,
    unfinishedBytesMax: options.unfinishedBytesMax ?? SHARED_POOLS.operator_unfinished_bytes.size,
    holderOf: options.clientAddress.holderOf,
    onAnswer({ status, code }, requestId) {
      observed.requests.inc({ listener, method: 'none', route: 'none', status })
      const passed = logLimit.admit('broken')
      if (passed !== undefined)
        log.debug({ listener, status, code, request_id: requestId, ...passed }, 'broken request answered')
    },
    onCut(reason, count) {
      observed.cuts.inc({ listener, reason }, count)
      throttles[reason].run(() => log.warn({ listener, reason }, 'connections cut to keep a limit'))
    },
    ...(upgrade === undefined ? {} : { upgrade }),
  })
  observed.listeners.set(listener, connections)
  return connections
}

/** The problem for an error in a handler, in fastify, or in validation. `undefined`: our bug. */
export function problemOf(
  error: unknown,
  { routeOptions }: FastifyRequest,
  translate: TranslateError,
): Problem | undefined {
  if (error instanceof Problem) return error
  if (!isFastifyError(error)) return translate(error)
  if (error.validation !== undefined) return invalidRequest(validationErrors(error.validation, error.validationContext))
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', `body: must not be over ${routeOptions.bodyLimit} bytes`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupported_media_type', 'Content-Type: is not supported by this operation')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_request', 'Content-Length: does not match the body')
    case 'ECONNRESET':
      // The client is gone, but the log must show that it was not our failure.
      return new Problem('invalid_request', 'body: the client closed the connection')
    default:
      return translate(error)
  }
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error
}

function frameworkProblem(error: FastifyError): Problem {
  if (error.code === 'FST_ERR_BAD_URL') return new Problem('invalid_request', 'URL: is not validly percent-encoded')
  return new Problem('not_found', 'there is nothing at this path')
}

function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): void {
  const { headers } = problem.extras
  reply
    .status(problem.status)
    // Errors in fastify itself occur before any hook.
    .headers({ ...securityHeaders(request.raw.socket), 'x-request-id': request.id, ...headers })
    .type(PROBLEM_MEDIA_TYPE)
    .send(writeJson(problemDocument(problem, request.id)))
}

/**
 * A query is parsed only where a route's schema has one, and after every check that needs only the head: parsing half a
 * megabyte takes milliseconds. A route with its own validator parses its query itself.
 */
function readQueries(app: FastifyInstance): void {
  const read = async (request: FastifyRequest): Promise<void> => {
    const faults = new QueryFaults()
    request.query = queryValues(request.url, faults).plain()
    faults.throwIfAny()
  }
  app.addHook('onRoute', (route) => {
    if (route.schema?.querystring === undefined || route.validatorCompiler !== undefined) return
    const others = [route.preValidation ?? []].flat()
    // The route for HEAD is copied from the one for GET and has the hook already.
    if (!others.includes(read)) route.preValidation = [read, ...others]
  })
}

/** Only JSON in UTF-8, without Content-Encoding: a decompressed body's size has no bound. An empty body is no body. */
function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.decorateRequest('bodyText', '')
  app.addHook('preParsing', ({ headers }, _reply, _payload, done) => {
    if (headers['content-encoding'] !== undefined && hasBody(headers)) {
      throw new Problem('unsupported_media_type', 'Content-Encoding: is not supported')
    }
    const charset = /^application\/json\s*;.*charset="?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1]
    if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
      throw new Problem('unsupported_media_type', 'Content-Type: charset must be utf-8')
    }
    done()
  })
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined
    const reading = readJson(body)
    if (!reading.ok) throw invalidRequest([reading.error])
    request.bodyText = reading.text
    return reading.value
  })
  // So that a missing body's errors name the missing members.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined && request.routeOptions.schema?.body !== undefined) request.body = {}
    done()
  })
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Removes the query when the path does not exist: the router would parse it, and half a megabyte takes tens of
 * milliseconds. A percent-encoded path may be equal to an existing one and keeps its query.
 */
function withoutUselessQuery(url: string, methods: RouteMethods): string {
  const end = url.indexOf('?')
  if (end < 0 || methods.has(url)) return url
  const path = url.slice(0, end)
  return path.includes('%') ? url : path
}

function learnMethods(app: FastifyInstance, methods: RouteMethods): void {
  app.addHook('onRoute', (route) => methods.add(route.url, route.method))
}

function answerErrors(
  app: FastifyInstance,
  { listener, log, translate }: HttpServerOptions,
  methods: RouteMethods,
): void {
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error, request, translate)
    if (problem === undefined) {
      const { method, id } = request
      log.error({ listener, method, route: request.routeOptions.url, request_id: id, err: error }, 'request failed')
    }
    sendProblem(request, reply, problem ?? new Problem('internal', 'an error on our side. Quote request_id'))
  })
  // Not in fastify's not-found handler, which runs after the body has been read and validated.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (!request.is404) return done()
    const allowed = methods.at(request.url)
    if (allowed.length === 0) throw new Problem('not_found', 'there is nothing at this path')
    throw methodNotAllowed(allowed)
  })
}

/** 405 with a resource's methods. */
export function methodNotAllowed(allowed: readonly string[]): Problem {
  const list = allowed.join(', ')
  return new Problem('method_not_allowed', `this resource supports ${list}`, { headers: { allow: list } })
}

/** The header fields for every answer, and the checks before the path's own. */
function startAnswers(app: FastifyInstance, clientAddress: ClientAddress, connections: Connections): void {
  app.decorateRequest('clientAddress', '')
  app.decorateRequest('holder', '')
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request
    request.clientAddress = clientAddress(raw)
    request.holder = clientAddress.holderOf(request.clientAddress)
    reply.headers(securityHeaders(raw.socket)).header('x-request-id', request.id)
    // A client that waits for `100 Continue` may send the body or not, so the next bytes could be either.
    if (endsConnection(raw) || awaitsContinue(request)) reply.header('connection', 'close')
    const refusal = refuseHead(raw)
    if (refusal !== undefined) throw refusal
    if (request.holder !== NO_HOLDER) connections.hold(raw, request.holder)
    done()
  })
  // The guard has set the client.
  app.addHook('preParsing', ({ raw, answeredClient }, _reply, _payload, done) => {
    if (answeredClient !== NO_HOLDER) connections.hold(raw, answeredClient)
    done()
  })
  // The body is read in socket events, which belong to no request.
  app.addHook('preValidation', ({ answeredClient }, _reply, done) => runFor(answeredClient, done))
  // Every check that needs no body has passed.
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (awaitsContinue(request)) {
      if (!endsConnection(request.raw)) reply.removeHeader('connection')
      reply.raw.writeContinue()
    }
    done()
  })
}

function awaitsContinue({ headers }: FastifyRequest): boolean {
  return headers.expect?.toLowerCase() === '100-continue'
}

function observeRequests(
  app: FastifyInstance,
  { listener, log }: HttpServerOptions,
  observed: RequestMetrics,
  logLimit: LogLimit,
): void {
  app.addHook('onResponse', (request, reply, done) => {
    observe(request, reply)
    done()
  })
  const observe = (request: FastifyRequest, reply: FastifyReply): void => {
    const { method, id, clientAddress: client_address } = request
    // The route's pattern, never the URL, which may contain a secret.
    const route = request.routeOptions.url ?? 'none'
    const status = reply.statusCode
    observed.requests.inc({ listener, method, route, status })
    observed.seconds.observe({ listener, route }, reply.elapsedTime / 1000)
    const passed = status >= 400 && status < 500 ? logLimit.admit(status) : {}
    if (passed === undefined) return
    const milliseconds = Math.round(reply.elapsedTime)
    const fields = { listener, method, route, status, request_id: id, client_address, milliseconds, ...passed }
    // Every console page reads many times a minute.
    const isRead = listener === 'operator' && ['GET', 'HEAD'].includes(request.method)
    const isQuiet = (isRead || request.routeOptions.config.isProbe === true) && status < 400
    log[isQuiet ? 'debug' : 'info'](fields, 'request answered')
  }
}

/**
 * The HTTP server under both listeners: fastify with our problems instead of its errors, strict JSON bodies, request
 * ids, limits of size and time, 405 with Allow, one log line and one count a request. It promises that every error is a
 * problem document that names field and rule, and that neither a URL's query nor a header reaches the log. It knows no
 * room: what the errors of rooms mean is told to it.
 */
import type { Socket } from 'node:net'
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { Counter, type MetricsRegistry } from '../base/metrics.ts'
import { readJson } from './json-body.ts'
import { invalidRequest, PROBLEM_MEDIA_TYPE, Problem, problemDocument, problemResponse } from './problem.ts'
import { RouteMethods } from './route-methods.ts'
import { endsConnection, PlainUnlessWebSocket } from './upgrade.ts'
import { validationErrors } from './validation.ts'

/** Turns an error that this folder does not know into a problem, when it is one. */
export type TranslateError = (error: unknown) => Problem | undefined

export interface HttpServerOptions {
  /** Which listener this is, in logs and metrics. */
  readonly listener: 'public' | 'operator'
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** Largest head of a request; more is 431. */
  readonly headerBytesMax: number
  /** Longest a client may take to send a whole request; more is 408. */
  readonly requestMilliseconds: number
  /** What an error of a room below stands for; `undefined`: nothing, it is a bug. */
  readonly translate: TranslateError
}

/** Largest body of a request; more is 413. */
const BODY_BYTES_MAX = 1_048_576

export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: options.requestMilliseconds,
    genReqId: newId,
    // A draining server finishes what arrived; the balancer was told by /readyz.
    return503OnClosing: false,
    http: {
      IncomingMessage: PlainUnlessWebSocket,
      maxHeaderSize: options.headerBytesMax,
      headersTimeout: options.requestMilliseconds,
      connectionsCheckingInterval: Math.min(1_000, options.requestMilliseconds),
    },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: true,
        verbose: true,
      },
    },
    frameworkErrors: (error, request, reply) => sendProblem(request, reply, frameworkProblem(error)),
    clientErrorHandler: answerClientError,
  })
  readJsonBodies(app)
  answerErrors(app, options)
  observeRequests(app, options)
  return app
}

/** The problem that an error of a handler, of fastify, or of validation stands for; `undefined`: a bug of ours. */
export function problemOf(error: unknown, translate: TranslateError): Problem | undefined {
  if (error instanceof Problem) return error
  if (!isFastifyError(error)) return translate(error)
  if (error.validation !== undefined) return invalidRequest(validationErrors(error.validation, error.validationContext))
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', `body: must not be over ${BODY_BYTES_MAX} bytes`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupported_media_type', 'Content-Type: is not one that this resource takes')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_request', 'Content-Length: does not match the body')
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
  reply
    .status(problem.status)
    .headers({ 'x-request-id': request.id, ...problem.extras.headers })
    .type(PROBLEM_MEDIA_TYPE)
    .send(JSON.stringify(problemDocument(problem, request.id)))
}

/** Only JSON, only UTF-8; an empty body is none. */
function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    const charset = /;\s*charset="?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
    if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
      throw new Problem('unsupported_media_type', 'Content-Type: charset must be utf-8')
    }
    if (body.length === 0) return undefined
    const reading = readJson(body)
    if (!reading.ok) throw invalidRequest([reading.error])
    return reading.value
  })
  // So that a missing body is answered with the members that are missing.
  app.addHook('preValidation', async (request) => {
    if (request.body === undefined && request.routeOptions.schema?.body !== undefined) request.body = {}
  })
}

function answerErrors(app: FastifyInstance, { listener, log, translate }: HttpServerOptions): void {
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error, translate)
    if (problem === undefined) {
      const { method, id } = request
      log.error({ listener, method, route: request.routeOptions.url, request_id: id, err: error }, 'request failed')
    }
    sendProblem(request, reply, problem ?? new Problem('internal', 'an error on our side; quote request_id'))
  })
  const methods = new RouteMethods()
  app.addHook('onRoute', (route) => methods.add(route.url, route.method))
  app.setNotFoundHandler(async (request) => {
    const allowed = methods.at(request.url)
    if (allowed.length === 0) throw new Problem('not_found', 'there is nothing at this path')
    throw methodNotAllowed(allowed)
  })
}

/** 405 with the methods that a resource has. */
export function methodNotAllowed(allowed: readonly string[]): Problem {
  const list = allowed.join(', ')
  return new Problem('method_not_allowed', `this resource takes ${list}`, { headers: { allow: list } })
}

function observeRequests(app: FastifyInstance, { listener, log, metrics }: HttpServerOptions): void {
  const count = requestCounter(metrics)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    if (endsConnection(request.raw)) reply.header('connection', 'close')
  })
  app.addHook('onResponse', async (request, reply) => {
    const { method, id } = request
    // The route's pattern, never the URL: what a client put into it may be a secret.
    const route = request.routeOptions.url ?? 'none'
    const status = reply.statusCode
    count.inc({ listener, method, route, status })
    const milliseconds = Math.round(reply.elapsedTime)
    log.info({ listener, method, route, status, request_id: id, milliseconds }, 'request answered')
  })
}

/** One metric for all listeners of a process: the first makes it. */
function requestCounter(metrics: MetricsRegistry): Counter {
  const name = 'tidegate_http_requests'
  const present = metrics.getSingleMetric(name)
  if (present instanceof Counter) return present
  return new Counter({
    name,
    help: 'Requests answered, by listener, method, pattern of the route and status',
    labelNames: ['listener', 'method', 'route', 'status'],
    registers: [metrics],
  })
}

/** What arrives before there is a request: a head too large, too slow, or not HTTP. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || socket.destroyed) {
    socket.destroy()
    return
  }
  socket.end(problemResponse(clientErrorProblem(error.code), newId()))
}

function clientErrorProblem(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('headers_too_large', 'the head of the request is too large')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request_timeout', 'the request did not arrive in time')
  return new Problem('invalid_request', 'this is not HTTP/1.1')
}

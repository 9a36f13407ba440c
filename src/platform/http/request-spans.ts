/**
 * A span for each request, while an OpenTelemetry SDK is registered: method, route, status and request id. It contains
 * neither the URL nor a header, and does not continue a client's trace: each request is the root of one. Probes have
 * none.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isTracing, type RequestSpan, startRequestSpan } from '../base/tracing.ts'

/** Adds the hooks, before any other hook that starts asynchronous work. Without an SDK it adds nothing. */
export function traceRequests(app: FastifyInstance, listener: string): void {
  if (!isTracing()) return
  const spans = new WeakMap<FastifyRequest, RequestSpan>()
  app.addHook('onRequest', (request, _reply, done) => {
    const { method, id, routeOptions } = request
    if (routeOptions.config?.isProbe === true) return done()
    const route = routeOptions.url ?? 'none'
    const span = startRequestSpan(`${method} ${route}`, {
      'http.request.method': method,
      'http.route': route,
      'tidegate.listener': listener,
      'tidegate.request_id': id,
    })
    spans.set(request, span)
    span.run(done)
  })
  // The body is read in socket events, which do not belong to the span.
  app.addHook('preValidation', (request, _reply, done) => {
    const span = spans.get(request)
    if (span === undefined) done()
    else span.run(done)
  })
  app.addHook('onResponse', async (request, { statusCode }) => {
    const errorType = statusCode >= 500 ? String(statusCode) : undefined
    spans.get(request)?.end({ 'http.response.status_code': statusCode }, errorType)
  })
}

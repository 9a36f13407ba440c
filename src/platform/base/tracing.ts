/**
 * Traces, through the OpenTelemetry API alone: an SDK registered by the operator before the program starts (`node
 * --import`) receives the spans and sends them where it likes. Without one nothing is recorded, and a caller pays one
 * look-up, or nothing where it asks once (`updateTracer`, `isTracing`). A span has names, counts and outcomes. It has
 * only an error's name, and never a message, a statement's text, an address, a token or an amount.
 */
import {
  context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { programVersion } from './version.ts'

const NAME = 'tidegate'
/** Shortest time between two traced book updates: an SDK costs microseconds for each span. */
const UPDATES_MILLISECONDS = 1_000

type Attributes = Readonly<Record<string, string | number | boolean>>

/** The registered SDK's tracer, or undefined when there is none. */
function registeredTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider()
  // The provider in this copy of the API, when no copy has one registered.
  if (provider instanceof ProxyTracerProvider && provider.getDelegateTracer(NAME) === undefined) return undefined
  return provider.getTracer(NAME, programVersion())
}

/** Whether an SDK is registered. */
export function isTracing(): boolean {
  return registeredTracer() !== undefined
}

function fail(span: Span, errorType: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute('error.type', errorType)
}

/** Runs `work` in a span. Spans started by it are children. Errors are noted by name and rethrown. */
export function inSpan<Result>(name: string, attributes: Attributes, work: () => Promise<Result>): Promise<Result> {
  const tracer = registeredTracer()
  if (tracer === undefined) return work()
  return tracer.startActiveSpan(name, { attributes: { ...attributes } }, async (span) => {
    try {
      return await work()
    } catch (error) {
      fail(span, error instanceof Error ? error.name : 'unknown')
      throw error
    } finally {
      span.end()
    }
  })
}

/** Records a span for work that has just ended, as a child of the current one. */
export function recordSpan(name: string, attributes: Attributes, tookMilliseconds: number, errorName?: string): void {
  const endMilliseconds = Date.now()
  const span = registeredTracer()?.startSpan(name, {
    attributes: { ...attributes },
    startTime: endMilliseconds - tookMilliseconds,
  })
  if (span === undefined) return
  if (errorName !== undefined) fail(span, errorName)
  span.end(endMilliseconds)
}

/** The span for a request, whose parts run in different events. */
export interface RequestSpan {
  /** Runs a part. Spans started by it are children of the request's. */
  run(part: () => void): void
  /** @param errorType why it failed. Undefined: it did not */
  end(attributes: Attributes, errorType: string | undefined): void
}

/** Starts the span for a request to a server, the root of a trace. Only while `isTracing`. */
export function startRequestSpan(name: string, attributes: Attributes): RequestSpan {
  const tracer = registeredTracer() ?? trace.getTracer(NAME)
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes: { ...attributes } }, ROOT_CONTEXT)
  const ofSpan = trace.setSpan(ROOT_CONTEXT, span)
  return {
    run: (part) => context.with(ofSpan, part),
    end(ending, errorType) {
      span.setAttributes({ ...ending })
      if (errorType !== undefined) fail(span, errorType)
      span.end()
    },
  }
}

/** A book update's times: wall clock, milliseconds. */
export interface TracedUpdate {
  readonly market: string
  /** When the source's message arrived. */
  readonly receivedMilliseconds: number
  /** By the clock in the committing process, as the time before. */
  readonly committedMilliseconds: number
  /** When the commit had reached this process. */
  readonly arrivedMilliseconds: number
  /** When it had been written to the sockets. */
  readonly writtenMilliseconds: number
}

/**
 * Returns the function that records a book update, at most one per second: a span from its arrival at the source to the
 * write, with one child until the commit, one for the commit's way to this process, and one from there. Undefined
 * without an SDK, so a frame's path has nothing to call.
 */
export function updateTracer(): ((update: TracedUpdate) => void) | undefined {
  const tracer = registeredTracer()
  if (tracer === undefined) return undefined
  let lastMilliseconds = Number.NEGATIVE_INFINITY
  return ({ market, receivedMilliseconds, writtenMilliseconds, ...update }) => {
    if (writtenMilliseconds - lastMilliseconds < UPDATES_MILLISECONDS) return
    lastMilliseconds = writtenMilliseconds
    // A commit's time can be ahead of the clock. It comes from another clock if another process committed it.
    const committed = Math.min(Math.max(update.committedMilliseconds, receivedMilliseconds), writtenMilliseconds)
    const arrived = Math.min(Math.max(update.arrivedMilliseconds, committed), writtenMilliseconds)
    const attributes = { 'tidegate.market': market }
    const whole = tracer.startSpan('market update', { attributes, startTime: receivedMilliseconds }, ROOT_CONTEXT)
    const inWhole = trace.setSpan(ROOT_CONTEXT, whole)
    tracer.startSpan('commit', { startTime: receivedMilliseconds }, inWhole).end(committed)
    tracer.startSpan('bus', { startTime: committed }, inWhole).end(arrived)
    tracer.startSpan('fan-out and write', { startTime: arrived }, inWhole).end(writtenMilliseconds)
    whole.end(writtenMilliseconds)
  }
}

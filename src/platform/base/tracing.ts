/**
 * Traces, through the API of OpenTelemetry alone: an SDK that the operator registers before the program starts
 * (`node --import`) receives the spans and sends them where it likes. Without one nothing is recorded, and a caller pays one
 * look-up, or nothing where it asks once (`updateTracer`, `isTracing`). A span has names, counts and outcomes, and of an
 * error its name only: never a message, a statement's text, an address, a token or an amount.
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
/** Shortest time between two traced updates of the books: an SDK costs microseconds for each span. */
const UPDATES_MILLISECONDS = 1_000

type Attributes = Readonly<Record<string, string | number | boolean>>

/** The tracer of the registered SDK; undefined when there is none. */
function registeredTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider()
  // The provider of this copy of the API, when no copy has one registered.
  if (provider instanceof ProxyTracerProvider && provider.getDelegateTracer(NAME) === undefined) return undefined
  return provider.getTracer(NAME, programVersion())
}

/** Whether an SDK is registered. */
export function isTracing(): boolean {
  return registeredTracer() !== undefined
}

function fail(span: Span, errorName: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute('error.type', errorName)
}

/** Runs `work` in a span; spans that it starts are children of it. Errors are noted by name and rethrown. */
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

/** Records a span of work that has just ended, as a child of the current one. */
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

/** The span of a request, whose parts run in different events. */
export interface RequestSpan {
  /** Runs a part: spans that it starts are children of the request's. */
  run(part: () => void): void
  end(attributes: Attributes, isFailed: boolean): void
}

/** Starts the span of a request to a server, the root of a trace; only while `isTracing`. */
export function startRequestSpan(name: string, attributes: Attributes): RequestSpan {
  const tracer = registeredTracer() ?? trace.getTracer(NAME)
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes: { ...attributes } }, ROOT_CONTEXT)
  const ofSpan = trace.setSpan(ROOT_CONTEXT, span)
  return {
    run: (part) => context.with(ofSpan, part),
    end(ending, isFailed) {
      span.setAttributes({ ...ending })
      if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}

/** The times of an update of a book: wall clock, milliseconds. */
export interface TracedUpdate {
  readonly market: string
  /** When the message of the source arrived. */
  readonly receivedMilliseconds: number
  /** By the clock of the process that committed it, as the time before. */
  readonly committedMilliseconds: number
  /** When the commit had reached this process. */
  readonly arrivedMilliseconds: number
  /** When it had been written to the sockets. */
  readonly writtenMilliseconds: number
}

/**
 * Returns what records an update of a book, at most one per second: a span from its arrival at the source to the write,
 * with a child until the commit, one for the way of the commit to this process, and one from there. Undefined without
 * an SDK, so that the path of a frame has nothing to call.
 */
export function updateTracer(): ((update: TracedUpdate) => void) | undefined {
  const tracer = registeredTracer()
  if (tracer === undefined) return undefined
  let lastMilliseconds = Number.NEGATIVE_INFINITY
  return ({ market, receivedMilliseconds, writtenMilliseconds, ...update }) => {
    if (writtenMilliseconds - lastMilliseconds < UPDATES_MILLISECONDS) return
    lastMilliseconds = writtenMilliseconds
    // The time of a commit can be ahead of the clock, and is of another clock if another process committed it.
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

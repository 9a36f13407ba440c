/** Without an SDK nothing is recorded and nothing changes; with one, errors are noted by their name only. */
import { type Span, type SpanOptions, SpanStatusCode, trace } from '@opentelemetry/api'
import { afterEach, describe, expect, it } from 'vitest'
import { inSpan, isTracing, recordSpan, startRequestSpan, updateTracer } from '../../../src/platform/base/tracing.ts'

/** Start and end of the spans that have both. */
const times = new Map<Recorded, readonly [start: number, end: number]>()

interface Recorded {
  readonly name: string
  readonly attributes: Record<string, unknown>
  status?: number
  ended: boolean
}

afterEach(() => trace.disable())

/** Registers a provider that keeps its spans. */
function register(): Recorded[] {
  const spans: Recorded[] = []
  const startSpan = (name: string, options: SpanOptions = {}): Span => {
    const recorded: Recorded = { name, attributes: {}, ended: false }
    const start = options.startTime as number | undefined
    spans.push(recorded)
    const span = {
      setAttribute: (key: string, value: unknown) => void Object.assign(recorded.attributes, { [key]: value }),
      setAttributes: (more: object) => void Object.assign(recorded.attributes, more),
      setStatus: ({ code }: { code: number }) => void Object.assign(recorded, { status: code }),
      end: (end?: number) => {
        recorded.ended = true
        if (start !== undefined && end !== undefined) times.set(recorded, [start, end])
      },
      spanContext: () => ({ traceId: '', spanId: '', traceFlags: 1 }),
    }
    return span as unknown as Span
  }
  const startActiveSpan = (name: string, _options: object, work: (span: Span) => unknown) => work(startSpan(name))
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan }) as never })
  return spans
}

describe('without an SDK', () => {
  it('tracing without an SDK runs work as it is, and updates have no tracing function to call', async () => {
    expect([isTracing(), updateTracer()]).toEqual([false, undefined])
    expect(await inSpan('work', {}, async () => 7)).toBe(7)
    await expect(inSpan('work', {}, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    expect(() => recordSpan('work', {}, 5)).not.toThrow()
  })
})

describe('with an SDK', () => {
  it('a failed span has the name of the error, and not its message', async () => {
    const spans = register()
    await expect(inSpan('work', {}, () => Promise.reject(new RangeError('a secret')))).rejects.toThrow('a secret')
    recordSpan('statement', {}, 5, 'StatementFailed')
    expect(spans).toEqual([
      { name: 'work', attributes: { 'error.type': 'RangeError' }, status: SpanStatusCode.ERROR, ended: true },
      { name: 'statement', attributes: { 'error.type': 'StatementFailed' }, status: SpanStatusCode.ERROR, ended: true },
    ])
  })

  it('a failed request has its status as the error, and one that the client got wrong has none', () => {
    const spans = register()
    startRequestSpan('GET /', {}).end({ 'http.response.status_code': 404 }, undefined)
    startRequestSpan('GET /', {}).end({ 'http.response.status_code': 503 }, '503')
    expect(spans).toEqual([
      { name: 'GET /', attributes: { 'http.response.status_code': 404 }, ended: true },
      {
        name: 'GET /',
        attributes: { 'http.response.status_code': 503, 'error.type': '503' },
        status: SpanStatusCode.ERROR,
        ended: true,
      },
    ])
  })

  it('tracing with an SDK records one update per second, with its parts', () => {
    const spans = register()
    const record = updateTracer()
    for (const milliseconds of [10_000, 10_400, 10_999, 11_000])
      record?.({
        market: 'BTCUSD',
        receivedMilliseconds: milliseconds - 2,
        committedMilliseconds: milliseconds + 50,
        arrivedMilliseconds: milliseconds - 1,
        writtenMilliseconds: milliseconds,
      })
    expect(spans.map(({ name }) => name)).toEqual(
      Array(2).fill(['market update', 'commit', 'bus', 'fan-out and write']).flat(),
    )
    expect(spans.every(({ ended }) => ended)).toBe(true)
  })

  it.each([
    ['committed here', { committed: 1_002, arrived: 1_002 }, [1_000, 1_002, 1_002, 1_005]],
    ['committed elsewhere', { committed: 1_001, arrived: 1_004 }, [1_000, 1_001, 1_004, 1_005]],
    ['committed by a clock that is ahead', { committed: 1_900, arrived: 1_004 }, [1_000, 1_005, 1_005, 1_005]],
    ['committed by a clock that is late', { committed: 200, arrived: 1_004 }, [1_000, 1_000, 1_004, 1_005]],
  ])('the parts of an update are consecutive: %s', (_title, { committed, arrived }, [from, ...ends]) => {
    const spans = register()
    updateTracer()?.({
      market: 'BTCUSD',
      receivedMilliseconds: 1_000,
      committedMilliseconds: committed,
      arrivedMilliseconds: arrived,
      writtenMilliseconds: 1_005,
    })
    const [whole, ...parts] = spans.map((span) => times.get(span))
    expect(whole).toEqual([1_000, 1_005])
    expect(parts).toEqual(ends.map((end, index) => [index === 0 ? from : ends[index - 1], end]))
  })
})

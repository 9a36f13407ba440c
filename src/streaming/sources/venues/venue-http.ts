/**
 * HTTP requests to venues: `fetchText` performs one GET request, and `VenueRequests` is one venue's request queue.
 *
 * A response body is never larger than a limit. A queue runs one request at a time, within the rate and a time limit,
 * and `Retry-After` delays every queued request. Nothing throws: every failure is returned as a problem. There are no
 * addresses here.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { withTimeLimit } from '../../../platform/base/time-limit.ts'
import { TokenBucket } from '../../../platform/base/token-bucket.ts'
import type { Fetched, VenueProtocol } from './venue.ts'

/** Largest response body. A full book is about 5 MiB, a large venue's list of all pairs about 20. */
const BODY_BYTES_MAX = 64 * 1024 * 1024
/** Longest part from a response quoted in a problem. */
const PROBLEM_CHARACTERS_MAX = 200
/** Measured from the moment at which a request leaves the queue. */
const REQUEST_MILLISECONDS_MAX = 10_000
/** Queued requests for one venue: a snapshot for each pair, and lists. */
const WAITING_MAX = 10_000
/** Longest `Retry-After` honoured. Venues document bans up to three days, but the address may change earlier. */
const RETRY_AFTER_MILLISECONDS_MAX = 86_400_000

/**
 * Performs a GET request. Any status other than 200 is a problem: `HTTP 429`, for example, then the response's
 * beginning, and the time to wait where the venue sent one.
 */
export async function fetchText(url: string, signal: AbortSignal): Promise<Fetched<string>> {
  try {
    const response = await fetch(url, { signal, redirect: 'error', headers: { accept: 'application/json' } })
    const text = await readLimited(response)
    if (text === undefined) return { problem: `a response with more than ${BODY_BYTES_MAX} bytes` }
    if (response.status === 200) return { value: text }
    const problem = `HTTP ${response.status} ${text.slice(0, PROBLEM_CHARACTERS_MAX)}`.trimEnd()
    const retryAfterMilliseconds = readRetryAfter(response.headers)
    return retryAfterMilliseconds === undefined ? { problem } : { problem, retryAfterMilliseconds }
  } catch (error) {
    return { problem: describeError(error) }
  }
}

async function readLimited(response: Response): Promise<string | undefined> {
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ''
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength
    if (bytes > BODY_BYTES_MAX) return undefined
    text += decoder.decode(chunk as Uint8Array, { stream: true })
  }
  return text + decoder.decode()
}

/** Seconds, or a date, which is compared with the response's date (RFC 9110, 10.2.3). */
function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1000
  const milliseconds = Date.parse(value) - Date.parse(headers.get('date') ?? '')
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds)
}

/** `fetch` puts the reason for a failed connection into `cause`. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message
}

/** One venue's request queue. Requests run one after another. */
export class VenueRequests {
  readonly #clock: Clock
  readonly #rate: TokenBucket
  #waiting = 0
  #last: Promise<void> = Promise.resolve()
  /** Monotonic time before which no request is sent, because of a `Retry-After`. */
  #resumeMilliseconds = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, { perSecond, burst }: VenueProtocol<unknown>['httpRate']) {
    this.#clock = clock
    this.#rate = new TokenBucket(clock, perSecond, burst)
  }

  /**
   * Runs the request when those queued before it have ended. The signal passed to it aborts with `signal`, or when the
   * time limit is reached.
   */
  async run<Value>(
    request: (signal: AbortSignal) => Promise<Fetched<Value>>,
    signal: AbortSignal,
  ): Promise<Fetched<Value>> {
    if (this.#waiting >= WAITING_MAX) return { problem: `${WAITING_MAX} requests are already queued` }
    this.#waiting += 1
    const before = this.#last
    let release: () => void = () => undefined
    this.#last = new Promise((resolve) => {
      release = resolve
    })
    await before
    try {
      await this.#wait(this.#resumeMilliseconds - this.#clock.monotonicMilliseconds(), signal)
      while (!signal.aborted) {
        const delayMilliseconds = this.#rate.take()
        if (delayMilliseconds === 0) break
        await this.#wait(delayMilliseconds, signal)
      }
      if (signal.aborted) return { problem: 'the request was cancelled' }
      const fetched = await this.#within(request, signal)
      const retryAfter = 'problem' in fetched ? fetched.retryAfterMilliseconds : undefined
      if (retryAfter !== undefined) {
        const milliseconds = Math.min(retryAfter, RETRY_AFTER_MILLISECONDS_MAX)
        this.#resumeMilliseconds = this.#clock.monotonicMilliseconds() + milliseconds
      }
      return fetched
    } finally {
      this.#waiting -= 1
      release()
    }
  }

  #wait(delayMilliseconds: number, signal: AbortSignal): Promise<void> {
    if (delayMilliseconds <= 0 || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = this.#clock.schedule(delayMilliseconds, () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      })
      const onAbort = (): void => {
        timer.cancel()
        resolve()
      }
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  async #within<Value>(
    request: (signal: AbortSignal) => Promise<Fetched<Value>>,
    signal: AbortSignal,
  ): Promise<Fetched<Value>> {
    const own = new AbortController()
    const onAbort = (): void => own.abort()
    signal.addEventListener('abort', onAbort, { once: true })
    const answered = request(own.signal).catch((error: unknown) => ({ problem: describeError(error) }))
    try {
      return await withTimeLimit(this.#clock, REQUEST_MILLISECONDS_MAX, answered, () => {
        own.abort()
        return { problem: `no answer within ${REQUEST_MILLISECONDS_MAX / 1000} s` }
      })
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}

/**
 * HTTP requests to venues: one text by its address, and the queue that keeps one venue's requests apart. It promises
 * that an answer is never larger than a limit, that one request at a time is under way and no more than the venue takes a
 * second, that none lasts longer than a limit, and that a venue which asks for patience (`Retry-After`) gets it for every request that waits. It never
 * throws: what goes wrong is a problem that can be shown. It knows no venue's addresses.
 */
import type { Clock } from '../base/clock.ts'
import { withTimeLimit } from '../base/time-limit.ts'
import { TokenBucket } from '../base/token-bucket.ts'
import type { Fetched, VenueProtocol } from './venue.ts'

/** Largest answer; a full book is about 5 MiB, a list of all pairs of a large venue about 20. */
const BODY_BYTES_MAX = 64 * 1024 * 1024
/** Longest part of a venue's answer that goes into a problem. */
const PROBLEM_CHARACTERS_MAX = 200
/** From the moment a request leaves the queue. */
const REQUEST_MILLISECONDS_MAX = 10_000
/** Requests of a venue that wait: a snapshot a pair, and lists. */
const WAITING_MAX = 10_000
/** However long a venue asks for; bans of three days are on record, but an address may change before. */
const PATIENCE_MILLISECONDS_MAX = 86_400_000

/**
 * The text behind an address, as GET. Anything but a status of 200 is a problem that begins `HTTP 429` and goes on with
 * the begin of what the venue says, with the time to wait where the venue gives one.
 */
export async function fetchText(url: string, signal: AbortSignal): Promise<Fetched<string>> {
  try {
    const response = await fetch(url, { signal, redirect: 'error', headers: { accept: 'application/json' } })
    const text = await readLimited(response)
    if (text === undefined) return { problem: `an answer of more than ${BODY_BYTES_MAX} bytes` }
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

/** Seconds, or a date, which is measured from the date of the answer. RFC 9110, 10.2.3. */
function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1000
  const milliseconds = Date.parse(value) - Date.parse(headers.get('date') ?? '')
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds)
}

/** What `fetch` says of a failed connection stands in its cause. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message
}

/** The requests of one venue, one after the other. */
export class VenueRequests {
  readonly #clock: Clock
  readonly #rate: TokenBucket
  #waiting = 0
  #last: Promise<void> = Promise.resolve()
  /** By the monotonic clock: when the venue wants to be asked again. */
  #resumeMilliseconds = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, { perSecond, burst }: VenueProtocol<unknown>['httpRate']) {
    this.#clock = clock
    this.#rate = new TokenBucket(clock, perSecond, burst)
  }

  /** Makes the request when its turn has come; the signal given to it ends it when `signal` does, or the time is over. */
  async run<Value>(
    request: (signal: AbortSignal) => Promise<Fetched<Value>>,
    signal: AbortSignal,
  ): Promise<Fetched<Value>> {
    if (this.#waiting >= WAITING_MAX) return { problem: `${WAITING_MAX} requests wait already` }
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
      if (signal.aborted) return { problem: 'the request is not wanted any more' }
      const fetched = await this.#within(request, signal)
      const patience = 'problem' in fetched ? fetched.retryAfterMilliseconds : undefined
      if (patience !== undefined) {
        const milliseconds = Math.min(patience, PATIENCE_MILLISECONDS_MAX)
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

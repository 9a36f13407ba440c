/**
 * The REST API, typed from the service's OpenAPI document. A request is repeated when that is safe. Reads are safe, and
 * so are writes that the service recognises by their `ref_id` and writes without a second effect. Errors are thrown, as
 * `ApiProblem` where the service answered.
 */
import {
  ClientCredentials,
  type Credentials,
  retryAfterSeconds,
  type TokenSource,
  TokenUnavailable,
} from '../credentials.ts'
import { reasonOf, TidegateError } from '../errors.ts'
import { type CustomerEvent, checkAfter, type EventOptions, EventsExpired } from '../events/event.ts'
import { PLATFORM, type Platform, sleep, withDeadline } from '../platform.ts'
import type {
  Answer,
  Candle,
  Item,
  ListPath,
  MarketOptions,
  Method,
  OrderBook,
  PathOf,
  Problem,
  Request,
  RequestArguments,
  Ticker,
  Trade,
} from './operations.ts'
import { ApiProblem } from './problem.ts'
import { isRecordOf } from './same-record.ts'

/** A credentials file's client, or a base address with your own tokens. */
export type RestOptions =
  | {
      readonly credentials: Credentials
      /** The scopes to request. Default: all scopes in the credentials. */
      readonly scopes?: readonly string[]
    }
  | { readonly url: string; readonly authenticate: TokenSource }

/** A request as sent. */
interface Sent {
  readonly method: Method
  readonly path: string
  readonly url: string
  readonly body: unknown
  readonly signal: AbortSignal | undefined
}

/** An attempt that may be repeated. */
class Retryable extends Error {
  /** The error to throw after the last attempt. */
  readonly failure: Error
  /** The service may have carried out the request. */
  readonly isUncertain: boolean
  readonly retryAfterSeconds: number
  /** The service rejected the token, so nothing was carried out. */
  readonly isOfToken: boolean

  constructor(failure: Error, isUncertain: boolean, seconds = 0, isOfToken = false) {
    super()
    this.failure = failure
    this.isUncertain = isUncertain
    this.retryAfterSeconds = seconds
    this.isOfToken = isOfToken
  }
}

type Market = '/v2/markets/{market}'

const ATTEMPTS_MAX = 4
const ANSWER_MILLISECONDS_MAX = 30_000
/** If the service asks for a longer wait, the error is thrown instead. */
const RETRY_AFTER_SECONDS_MAX = 60
const TOO_MANY_REQUESTS = 429
const UNAVAILABLE = [502, 503, 504]
/**
 * Requests that may be repeated without a `ref_id`, because a repetition finds the record already in the requested
 * state.
 */
const REPEATABLE = ['/v2/orchestration/orchestrations/{id}/cancel']

export class RestClient {
  readonly #url: string
  readonly #tokens: TokenSource
  readonly #platform: Platform

  constructor(options: RestOptions, platform: Platform = PLATFORM) {
    const { url, tokens } = serviceOf(options, platform)
    this.#url = url
    this.#tokens = tokens
    this.#platform = platform
  }

  get<P extends PathOf<'get'>>(path: P, ...request: RequestArguments<Request<P, 'get'>>): Promise<Answer<P, 'get'>> {
    return this.#request('get', path, request[0])
  }

  /** A request with a `ref_id` in its body, and a cancellation, are safe to repeat. The client repeats them itself. */
  post<P extends PathOf<'post'>>(
    path: P,
    ...request: RequestArguments<Request<P, 'post'>>
  ): Promise<Answer<P, 'post'>> {
    return this.#request('post', path, request[0])
  }

  put<P extends PathOf<'put'>>(path: P, ...request: RequestArguments<Request<P, 'put'>>): Promise<Answer<P, 'put'>> {
    return this.#request('put', path, request[0])
  }

  delete<P extends PathOf<'delete'>>(
    path: P,
    ...request: RequestArguments<Request<P, 'delete'>>
  ): Promise<Answer<P, 'delete'>> {
    return this.#request('delete', path, request[0])
  }

  /** A market's book: the stream's view at this depth, with the cursor and digest which `tidegate.v1` has for it. */
  orderBook(market: string, options: MarketOptions<`${Market}/order-book`> = {}): Promise<OrderBook> {
    return this.#ofMarket('/v2/markets/{market}/order-book', market, options)
  }

  /** A market's last trades, the newest first. `before` takes a trade's cursor. */
  async trades(market: string, options: MarketOptions<`${Market}/trades`> = {}): Promise<Trade[]> {
    return (await this.#ofMarket('/v2/markets/{market}/trades', market, options)).items
  }

  ticker(market: string, options: { readonly signal?: AbortSignal } = {}): Promise<Ticker> {
    return this.#ofMarket('/v2/markets/{market}/ticker', market, options)
  }

  /** A market's candles, the earliest first. */
  async candles(market: string, options: MarketOptions<`${Market}/candles`>): Promise<Candle[]> {
    return (await this.#ofMarket('/v2/markets/{market}/candles', market, options)).items
  }

  /** All records in a list, page by page as the loop proceeds. `query.limit` is the page size. */
  async *list<P extends ListPath>(path: P, ...request: RequestArguments<Request<P, 'get'>>): AsyncGenerator<Item<P>> {
    const { query, ...rest } = (request[0] ?? {}) as { query?: object }
    let cursor: string | undefined
    do {
      const page = await this.#request<Page<Item<P>>>('get', path, {
        ...rest,
        query: { ...query, page_cursor: cursor },
      })
      yield* page.items
      cursor = page.next_page_cursor
    } while (cursor !== undefined)
  }

  /**
   * The customer's events in order, each once, by polling. After the first answer, an unavailable service is waited for.
   * Throws `EventsExpired` when events after `after` are no longer kept.
   */
  async *events({ after, signal, pollSeconds = 5 }: PolledEventOptions = {}): AsyncGenerator<CustomerEvent> {
    checkAfter(after)
    const withSignal = signal === undefined ? {} : { signal }
    let last = after
    // The list's start and its next page. A page may have no visible event and still be followed by others.
    let start = after
    let cursor: string | undefined
    let hasWorked = false
    // The loop has just begun, and no event was visible.
    let isWithoutEvent = false
    while (true) {
      let items: readonly CustomerEvent[] = []
      let isMore = false
      try {
        const next = cursor === undefined ? {} : { page_cursor: cursor }
        const query =
          start === undefined
            ? { order: 'DESC' as const, limit: 1, ...next }
            : { after: String(start), limit: 1_000, ...next }
        const page = await this.get('/v2/events', { query, ...withSignal })
        const [newest] = page.items
        cursor = start === undefined && newest !== undefined ? undefined : page.next_page_cursor
        isMore = cursor !== undefined
        hasWorked = true
        isWithoutEvent = start === undefined && newest === undefined
        if (start !== undefined) items = page.items
        else if (!isMore) last = newest?.sequence ?? 0
      } catch (error) {
        if (error instanceof ApiProblem && error.code === 'events_expired') {
          const oldest = Number(error.meta.oldest_sequence)
          if (!isWithoutEvent) throw new EventsExpired(oldest)
          // Those that are no longer kept are from before the loop.
          last = oldest - 1
          isWithoutEvent = false
        } else if (!hasWorked || !isTemporary(error)) throw error
      }
      for (const event of items) {
        yield event
        last = event.sequence
      }
      if (isMore) continue
      if (cursor === undefined) start = last
      await sleep(this.#platform, pollSeconds * 1_000, signal)
    }
  }

  #ofMarket<P extends PathOf<'get'> & `${Market}/${string}`>(
    path: P,
    market: string,
    { signal, ...query }: { readonly signal?: AbortSignal },
  ): Promise<Answer<P, 'get'>> {
    return this.#request('get', path, { path: { market }, query, signal })
  }

  async #request<A>(method: Method, path: string, request: object | undefined): Promise<A> {
    const {
      path: names,
      query,
      body,
      signal,
    } = (request ?? {}) as {
      path?: Record<string, string>
      query?: Record<string, unknown>
      body?: unknown
      signal?: AbortSignal
    }
    const sent: Sent = { method, path, url: `${this.#url}${filled(path, names)}${searchOf(query)}`, body, signal }
    let isUncertain = false
    let hasNewToken = false
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.#attempt(sent)) as A
      } catch (error) {
        const existing = isUncertain ? recordOfEarlierAttempt(error, sent) : undefined
        if (existing !== undefined) return existing as A
        if (!(error instanceof Retryable)) throw error
        // One more attempt, whenever it happens: this token may have been revoked, and a new one is not.
        if (error.isOfToken && hasNewToken) throw error.failure
        hasNewToken ||= error.isOfToken
        isUncertain ||= error.isUncertain
        const hasOneEffect = method !== 'post' || REPEATABLE.includes(path) || refIdOf(body) !== undefined
        const isSafe = hasOneEffect || !error.isUncertain
        const isPatient = error.retryAfterSeconds <= RETRY_AFTER_SECONDS_MAX
        if (!isSafe || !isPatient || attempt >= ATTEMPTS_MAX) throw error.failure
        const backoff = this.#platform.random() * 2 ** attempt
        await sleep(this.#platform, (error.retryAfterSeconds + backoff) * 1_000, signal)
      }
    }
  }

  /** Throws `Retryable` where another attempt may succeed. */
  async #attempt({ method, path, url, body, signal }: Sent): Promise<unknown> {
    signal?.throwIfAborted()
    const operation = `${method.toUpperCase()} ${path}`
    const token = await this.#token(signal)
    let response: Response
    let answer: unknown
    try {
      const init: RequestInit = {
        method: method.toUpperCase(),
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
      }
      ;[response, answer] = await withDeadline(this.#platform, ANSWER_MILLISECONDS_MAX, signal, async (both) => {
        const given = await this.#platform.fetch(url, { ...init, signal: both })
        return [given, contentOf(given, await given.text())]
      })
    } catch (error) {
      signal?.throwIfAborted()
      const text = `${operation}: ${this.#url} did not answer: ${reasonOf(error)}. Check the address and the service`
      throw new Retryable(new TidegateError('UNREACHABLE', text, { cause: error }), true)
    }
    if (response.ok) return answer
    const problem = new ApiProblem(operation, problemOf(response, answer))
    const { status } = response
    if (status === 401) {
      this.#tokens.discard(token)
      throw new Retryable(problem, false, 0, true)
    }
    if (status === TOO_MANY_REQUESTS) throw new Retryable(problem, false, retryAfterSeconds(response.headers))
    if (UNAVAILABLE.includes(status)) throw new Retryable(problem, true, retryAfterSeconds(response.headers))
    throw problem
  }

  async #token(signal: AbortSignal | undefined): Promise<string> {
    try {
      return await this.#tokens.token(signal)
    } catch (error) {
      if (!(error instanceof TokenUnavailable)) throw error
      const failure = new TidegateError('UNREACHABLE', `${error.message}. Check the address and the service`)
      throw new Retryable(failure, false, error.retryAfterSeconds)
    }
  }
}

export interface PolledEventOptions extends EventOptions {
  /** The time between two polls when there are no more events. Default: 5. */
  readonly pollSeconds?: number
}

/** Whether the service may answer the same request later. */
function isTemporary(error: unknown): boolean {
  if (error instanceof ApiProblem) return error.status === TOO_MANY_REQUESTS || UNAVAILABLE.includes(error.status)
  return error instanceof TidegateError && error.code === 'UNREACHABLE'
}

interface Page<I> {
  readonly items: readonly I[]
  readonly next_page_cursor?: string
}

function serviceOf(options: RestOptions, platform: Platform): { url: string; tokens: TokenSource } {
  if ('url' in options) return { url: checked(options.url), tokens: options.authenticate }
  const { credentials, scopes = credentials.scopes ?? [] } = options
  if (scopes.length === 0) {
    throw new TidegateError('INVALID_ARGUMENT', 'the credentials name no scopes: pass those that you need as `scopes`')
  }
  return { url: checked(credentials.base_url), tokens: new ClientCredentials(credentials, scopes, platform) }
}

function checked(url: string): string {
  if (/^https?:/.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '')
  throw new TidegateError(
    'INVALID_ARGUMENT',
    `the address of the API is '${url}': it must begin with https:// or http://`,
  )
}

/** The path with its names in braces replaced by values. */
function filled(path: string, names: Record<string, string> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_match, name: string) => {
    const value = names[name]
    if (value === undefined || value === '') throw new TidegateError('INVALID_ARGUMENT', `${path} needs path.${name}`)
    return encodeURIComponent(value)
  })
}

function searchOf(query: Record<string, unknown> = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each))
  }
  return search.size === 0 ? '' : `?${search}`
}

/** An answer's JSON. An error may come from something between the client and the service, and then be plain text. */
function contentOf({ ok }: Response, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (ok) throw error
    return undefined
  }
}

/** An answer's problem, or a made-up one where something between the client and the service has answered. */
function problemOf({ status, statusText, url }: Response, answer: unknown): Problem {
  if (typeof answer === 'object' && answer !== null && 'code' in answer) return answer as Problem
  const detail = `the answer from ${url} is not the service's: ${statusText}`
  return { type: 'about:blank', title: statusText, status, detail, code: 'unavailable', request_id: 'none' }
}

/** The `ref_id` of the record to create. The service creates no second record with it. */
function refIdOf(body: unknown): unknown {
  const { ref_id, account } = (body ?? {}) as { ref_id?: unknown; account?: { ref_id?: unknown } }
  return ref_id ?? account?.ref_id
}

/**
 * After an attempt without an answer, `already_exists` may be about the record created by that attempt. If the existing
 * record has every requested member, it is the answer. Undefined for any other error.
 */
function recordOfEarlierAttempt(error: unknown, { path, body }: Sent): unknown {
  if (!(error instanceof ApiProblem) || error.code !== 'already_exists') return undefined
  const { existing } = error.meta
  const requested = path === '/v2/identity/accounts' ? (body as { account: object }).account : body
  if (existing === undefined || !isRecordOf(existing, requested)) return undefined
  return path === '/v2/orchestration/rules' ? { rule: existing } : existing
}

/**
 * The REST requests for `verify --rest`: books at random moments and depths, with and without entity tags, trades, and
 * candles whose time is over. Answers that ask for a wait are obeyed. A refusal ends the check with one sentence.
 */
import { EXTENDED_DEPTHS } from '../../../contract/channels.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import { membersOf, parseJson } from '../../../platform/base/json-value.ts'
import { pause, withDeadline } from '../../../platform/base/time-limit.ts'
import { fetchToken, type TokenCredentials } from '../stream/access-token.ts'
import { levelsOf } from './kept-books.ts'
import type { RestChecker } from './rest-checker.ts'

export interface RestRequestsOptions {
  readonly credentials: TokenCredentials & { readonly base_url: string }
  readonly markets: readonly string[]
  readonly checker: RestChecker
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  /** Ends the requests. */
  readonly stop: AbortSignal
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

const SCOPE = 'exchange:read_marketdata'
const ANSWER_MILLISECONDS_MAX = 10_000
/** The time between a market's requests. Large books take longer to compare. */
const PAUSE_MILLISECONDS = { shortest: 20, longest: 400, perLevel: 0.02 }
/** Trades and candles are requested once in this number of rounds. */
const TRADES_ROUNDS = 5
const CANDLES_ROUNDS = 20
const LIMIT = 200
/** With which a token endpoint refuses every later request too. */
const FINAL_STATUSES = [400, 401, 403]

export class RestRequests {
  readonly #options: RestRequestsOptions
  #token = ''

  constructor(options: RestRequestsOptions) {
    this.#options = options
  }

  /** Throws where the client may not read the REST view. */
  async begin(): Promise<void> {
    const refusal = await this.#requestToken()
    if (refusal !== undefined) throw new Error(`--rest needs the scope ${SCOPE}: ${refusal.reason}`)
  }

  /** Why there is no new token. The earlier one stays then. */
  async #requestToken(): Promise<{ readonly reason: string; readonly status?: number } | undefined> {
    const { credentials, clock, stop } = this.#options
    const token = await fetchToken({ credentials, scope: SCOPE, clock, stop })
    if (typeof token !== 'string') return token
    this.#token = token
    return undefined
  }

  /** Resolves when the signal has ended all requests. */
  async run(): Promise<void> {
    await Promise.all(this.#options.markets.map((market) => this.#follow(market)))
  }

  async #follow(market: string): Promise<void> {
    const { clock, random, stop } = this.#options
    /** Depths below the market's own, known from its first whole book. */
    let depths: readonly number[] = []
    let levels = 0
    for (let round = 1; !stop.aborted; round++) {
      const depth = depths[Math.floor(random() * (depths.length + 1))] ?? 0
      const book = membersOf(await this.#compareBook(market, depth))
      if (depth === 0 && typeof book.depth === 'number') {
        const published = book.depth
        depths = EXTENDED_DEPTHS.filter((one) => published === 0 || one < published)
        levels = [book.bids, book.asks].flatMap((side) => levelsOf(side) ?? []).length
      }
      if (round % TRADES_ROUNDS === 0) await this.#compareTrades(market)
      if (round % CANDLES_ROUNDS === 0) await this.#compareCandles(market)
      const { shortest, longest, perLevel } = PAUSE_MILLISECONDS
      await pause(clock, shortest + random() * (longest - shortest) + levels * perLevel, stop)
    }
  }

  /** The book in the answer. Undefined: none was sent, or the stream has none. */
  async #compareBook(market: string, depth: number): Promise<unknown> {
    const { checker } = this.#options
    const awaited = checker.expectBook(market)
    if (awaited === undefined) return undefined
    const path = `order-book${depth === 0 ? '' : `?depth=${depth}`}`
    const answer = await this.#get(market, path)
    if (answer?.status !== 200) {
      checker.forgetBook(market, awaited)
      return undefined
    }
    if (!checker.onBook(market, depth, answer.body, awaited)) return undefined
    const tag = answer.headers.get('etag')
    const again = await this.#get(market, path, tag ?? undefined)
    if (again !== undefined) checker.onTagged(market, tag, again.status, again.headers.get('etag'))
    return answer.body
  }

  async #compareTrades(market: string): Promise<void> {
    const answer = await this.#get(market, `trades?limit=${LIMIT}`)
    if (answer?.status === 200) this.#options.checker.onTrades(market, answer.body)
  }

  async #compareCandles(market: string): Promise<void> {
    const { checker } = this.#options
    const minutes = checker.minutesOf(market)
    if (minutes === undefined) return
    const query = new URLSearchParams({ interval: '1m', limit: String(LIMIT), ...minutes })
    const answer = await this.#get(market, `candles?${query}`)
    if (answer?.status === 200) checker.onCandles(market, answer.body, minutes)
  }

  /** The answer, after the wait that it asks for. Undefined: none in time, or stopped. */
  async #get(market: string, path: string, tag?: string): Promise<Answer | undefined> {
    const { credentials, checker, clock, stop } = this.#options
    const url = `${credentials.base_url}/v2/markets/${encodeURIComponent(market)}/${path}`
    const tagged = tag === undefined ? {} : { 'if-none-match': tag }
    const headers = { authorization: `Bearer ${this.#token}`, ...tagged }
    const late = () => new Error('no answer in time')
    let answer: Answer
    try {
      answer = await withDeadline({ clock, milliseconds: ANSWER_MILLISECONDS_MAX, stop, late }, async (signal) => {
        const response = await fetch(url, { headers, redirect: 'error', signal })
        return { status: response.status, headers: response.headers, body: parseJson(await response.text()) }
      })
    } catch {
      // The stream's connection reports an unreachable service.
      return undefined
    }
    checker.onStatus(market, path.replace(/\?.*/, ''), answer.status)
    if (answer.status === 401) {
      // Any other refusal may pass, and the next answer 401 asks again.
      const refusal = await this.#requestToken()
      if (FINAL_STATUSES.includes(refusal?.status ?? 0)) throw new Error(`--rest needs a new token: ${refusal?.reason}`)
    }
    if (answer.status === 403)
      throw new Error(`${url} answered 403: ${membersOf(answer.body).detail ?? 'the client may not read it'}`)
    const seconds = Number(answer.headers.get('retry-after') ?? 0) || 0
    if (answer.status === 429 || answer.status === 503) await pause(clock, Math.max(1, seconds) * 1_000, stop)
    return answer
  }
}

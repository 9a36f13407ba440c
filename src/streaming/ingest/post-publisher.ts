/**
 * `POST /publish`: messages as lines in a body (NDJSON). One client's requests are one publisher, whose lines stay for
 * 15 seconds after its last message. A body is read as fast as its messages are accepted. Only one socket read and one
 * unfinished line wait. It never keeps a body.
 */
import type { Readable } from 'node:stream'
import type { AccessToken } from '../../access/clients/token-verifier.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import type { TickBudget } from '../../platform/base/tick-budget.ts'
import { Problem } from '../../platform/http/problem.ts'
import { handshakeUnavailable } from '../../platform/http/websocket-handshake.ts'
import { LARGE_MESSAGE_BYTES } from '../sources/publication/large-message.ts'
import type { PublishedMessage } from '../sources/publication/message.ts'
import { type IngestMarkets, readMessage } from './ingest-markets.ts'
import type { Publisher } from './publisher.ts'
import { SILENCE_MILLISECONDS } from './publisher-connection.ts'

/** Problems listed in an answer. */
const PROBLEMS_MAX = 100
const LINE_END = '\n'.charCodeAt(0)

interface LineProblem {
  readonly line: number
  readonly market?: string
  readonly message: string
}

export interface PostAnswer {
  readonly accepted: readonly { readonly market: string; readonly epoch?: string; readonly seq?: number }[]
  readonly problems: readonly LineProblem[]
  /** Problems beyond the listed ones. Absent: none. */
  readonly omitted_problems?: number
}

export interface PostHost {
  readonly clock: Clock
  readonly markets: IngestMarkets
  readonly budget: TickBudget
  /** The setting `ingest.message_bytes_max`. */
  readonly lineBytesMax: number
  readonly bodyBytesMax: number
  countBytes(bytes: number): void
}

/** What one request has met so far. */
interface PostState {
  line: number
  readonly markets: Set<string>
  /** Those the client may publish, as known at the last line. */
  permitted: ReadonlySet<string>
  /** Markets with accepted lines: `permitted` without the failed ones. */
  mayPublish: ReadonlySet<string>
  /** Markets with a problem: their further lines are ignored. */
  readonly failed: Set<string>
  readonly problems: LineProblem[]
  omitted: number
}

export class PostPublisher implements Publisher {
  readonly id = newId()
  readonly description = 'POST /publish'
  readonly #host: PostHost
  readonly #onSilent: () => void
  #token: AccessToken
  #mayPublish: ReadonlySet<string>
  /** The request whose message is being delivered. */
  #current: PostState | undefined
  #onReleased: (() => void)[] = []
  #isHeld = false
  /** The answer to requests in progress, when its lines have ended. */
  #refusal: Problem | undefined
  #silence: Timer | undefined

  /** @param onSilent called when its lines have ended after 15 seconds without a message */
  constructor(host: PostHost, token: AccessToken, mayPublish: ReadonlySet<string>, onSilent: () => void) {
    this.#host = host
    this.#token = token
    this.#mayPublish = mayPublish
    this.#onSilent = onSilent
    this.#noteMessage()
  }

  /** The last request's token. */
  get token(): AccessToken {
    return this.#token
  }

  renew(token: AccessToken, mayPublish: ReadonlySet<string>): void {
    this.#token = token
    this.permit(mayPublish)
  }

  permit(mayPublish: ReadonlySet<string>): void {
    if (mayPublish === this.#mayPublish) return
    const removed = [...this.#mayPublish].filter((market) => !mayPublish.has(market))
    this.#mayPublish = mayPublish
    this.#host.markets.leave(this, 'the client may not publish the market any more', removed)
  }

  /** Takes a body's lines. Throws a `Problem` when it cannot be read to its end. */
  async take(body: Readable): Promise<PostAnswer> {
    const may = { permitted: this.#mayPublish, mayPublish: this.#mayPublish }
    const state: PostState = { line: 0, markets: new Set(), ...may, failed: new Set(), problems: [], omitted: 0 }
    try {
      await this.#takeLines(body, state)
    } finally {
      // A refused body's remainder is discarded.
      body.resume()
    }
    const accepted = [...this.#host.markets.acceptedOf(state.markets)]
    return {
      accepted: accepted.map(([market, position]) => ({ market, ...position })),
      problems: state.problems,
      ...(state.omitted === 0 ? {} : { omitted_problems: state.omitted }),
    }
  }

  async #takeLines(body: Readable, state: PostState): Promise<void> {
    for await (const line of linesOf(body, this.#host)) {
      state.line++
      if (line.length === 0) continue
      const message = line.length > LARGE_MESSAGE_BYTES ? await this.#readInParts(line) : undefined
      // Checked again after each wait, because another request from the client may have run meanwhile.
      while (this.#mustWait()) await this.#nextChance()
      this.#deliver(state, line.length, message ?? readMessage(line))
    }
    // The answer states what was accepted, so it follows the last line's wait for the other line.
    while (this.#isHeld) {
      await this.#nextChance()
      // Throws where the wait ended with the publisher.
      this.#mustWait()
    }
  }

  async #readInParts(line: Buffer): Promise<PublishedMessage> {
    const parts = this.#host.markets.readInParts(line)
    for (;;) {
      while (this.#mustWait()) await this.#nextChance()
      const { done, value } = parts.next()
      if (done === true) return value
    }
  }

  /** Whether no message may be taken now, and no part of one be read. */
  #mustWait(): boolean {
    if (this.#refusal !== undefined) throw this.#refusal
    return this.#isHeld || !this.#host.budget.hasTime()
  }

  requestSnapshot(market: string, reason: string): void {
    this.#note(market, `a SNAPSHOT is needed: ${reason}`)
  }

  reject(market: string | undefined, message: string): void {
    this.#note(market, message)
  }

  waits(market: string): void {
    this.#note(market, 'a SNAPSHOT is needed')
  }

  released(): void {
    this.#isHeld = false
    for (const resolve of this.#onReleased.splice(0)) resolve()
  }

  /** Ends its lines at once. Requests in progress are refused, by default so that they are repeated. */
  end(reason: string, refusal = handshakeUnavailable(reason)): void {
    this.#refusal = refusal
    this.#silence?.cancel()
    this.#host.markets.leave(this, reason)
    this.released()
  }

  /** Resolves when the next line can perhaps be taken. */
  #nextChance(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isHeld) this.#onReleased.push(resolve)
      else {
        this.#host.budget.queue(() => {
          resolve()
          return false
        })
      }
    })
  }

  #deliver(state: PostState, bytes: number, message: PublishedMessage): void {
    this.#host.countBytes(bytes)
    this.#noteMessage()
    if (state.permitted !== this.#mayPublish) {
      state.permitted = this.#mayPublish
      state.mayPublish = without(this.#mayPublish, state.failed)
    }
    this.#current = state
    const delivery = this.#host.markets.deliver(this, message, state.mayPublish)
    this.#current = undefined
    if (delivery.kind === 'broken') this.#add(state, undefined, delivery.reason)
    else if (delivery.market !== undefined && state.mayPublish.has(delivery.market)) state.markets.add(delivery.market)
    this.#isHeld = delivery.kind === 'held'
  }

  #note(market: string | undefined, message: string): void {
    if (this.#current !== undefined) this.#add(this.#current, market, message)
  }

  #add(state: PostState, market: string | undefined, message: string): void {
    if (market !== undefined && state.failed.has(market)) return
    if (market !== undefined && state.mayPublish.has(market)) {
      state.failed.add(market)
      state.mayPublish = without(state.mayPublish, state.failed)
    }
    if (state.problems.length >= PROBLEMS_MAX) state.omitted++
    else state.problems.push({ line: state.line, ...(market === undefined ? {} : { market }), message })
  }

  #noteMessage(): void {
    this.#silence?.cancel()
    this.#silence = this.#host.clock.schedule(SILENCE_MILLISECONDS, () => {
      // While a line waits for the other one, nothing more is read.
      if (this.#isHeld) return this.#noteMessage()
      this.end('nothing received for 15 seconds')
      this.#onSilent()
    })
  }
}

function without(markets: ReadonlySet<string>, failed: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...markets].filter((market) => !failed.has(market)))
}

/** A body's lines, without their ends. A last line needs none. */
async function* linesOf(body: Readable, { lineBytesMax, bodyBytesMax }: PostHost): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  let bytes = 0
  let bodyBytes = 0
  // A destroyed request could not be answered.
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bodyBytes += chunk.length
    if (bodyBytes > bodyBytesMax) throw new Problem('body_too_large', `body: must not be over ${bodyBytesMax} bytes`)
    let start = 0
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
      parts.push(chunk.subarray(start, end))
      bytes += end - start
      refuseLong(bytes, lineBytesMax)
      yield trimmed(parts, bytes)
      parts = []
      bytes = 0
      start = end + 1
    }
    if (start === chunk.length) continue
    parts.push(chunk.subarray(start))
    bytes += chunk.length - start
    refuseLong(bytes, lineBytesMax)
  }
  if (bytes > 0) yield trimmed(parts, bytes)
}

function refuseLong(bytes: number, bytesMax: number): void {
  if (bytes > bytesMax) throw new Problem('body_too_large', `a line must not be over ${bytesMax} bytes`)
}

function trimmed(parts: readonly Buffer[], bytes: number): Buffer {
  const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, bytes)
  return line.at(-1) === '\r'.charCodeAt(0) ? line.subarray(0, -1) : line
}

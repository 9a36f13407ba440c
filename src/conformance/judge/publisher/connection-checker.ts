/**
 * Checks everything but answers on one connection: each message's form, its market, and the heartbeats. It opens
 * nothing and reads no clock: the caller passes times.
 */
import { isObject, membersOf, parseJson } from '../../../platform/base/json-value.ts'
import { type MessageProblem, readMessage } from './message.ts'
import { PublicationLine } from './publication-line.ts'
import type { PublishedMarket } from './published-market.ts'
import type { ReportBroken } from './rules.ts'

/** What a pull reads, and the default of `ingest.message_bytes_max`. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024

export interface ConnectionCheckerOptions {
  readonly markets: ReadonlyMap<string, PublishedMarket>
  readonly report: ReportBroken
  /** Longest time between two heartbeats. */
  readonly heartbeatMilliseconds: number
  /** Whether this connection sees every message. */
  readonly isMain: boolean
  /** The rule broken by messages for an unexpected market. */
  readonly unexpected: 'message-unrequested' | 'market-unknown'
}

export class ConnectionChecker {
  readonly #options: ConnectionCheckerOptions
  readonly #lines = new Map<string, PublicationLine>()
  readonly #ignored = new Set<string>()
  /** While heartbeats are expected: the time of the last one, or of the beginning. */
  #heartbeatMilliseconds: number | undefined
  messages = 0
  bytes = 0

  constructor(options: ConnectionCheckerOptions) {
    this.#options = options
  }

  /** The messages of a market which is expected now. */
  line(market: string): PublicationLine | undefined {
    return this.#lines.get(market)
  }

  /** Expects messages for a market from now on. */
  open(market: PublishedMarket): PublicationLine {
    const line = new PublicationLine(market, this.#options.isMain, this.#options.report)
    this.#lines.set(market.symbol, line)
    return line
  }

  /** Expects no more messages for a market. */
  close(market: string): void {
    this.#lines.delete(market)
  }

  /** Ignores a market whose subscription was answered wrongly. */
  ignore(market: string): void {
    this.#ignored.add(market)
  }

  /** Expects heartbeats from now on, or not. */
  expectHeartbeats(nowMilliseconds: number | undefined): void {
    this.#heartbeatMilliseconds = nowMilliseconds
  }

  /** Reports an overdue heartbeat. */
  checkHeartbeat(nowMilliseconds: number): void {
    const last = this.#heartbeatMilliseconds
    if (last === undefined || nowMilliseconds - last <= this.#options.heartbeatMilliseconds) return
    this.#heartbeatMilliseconds = nowMilliseconds
    const seconds = ((nowMilliseconds - last) / 1000).toFixed(1)
    this.#options.report('heartbeat-missing', undefined, `none for ${seconds} s`)
  }

  take(text: string, nowMilliseconds: number): void {
    this.messages++
    const bytes = Buffer.byteLength(text)
    this.bytes += bytes
    if (bytes > MESSAGE_BYTES_MAX) {
      const detail = `the message has ${bytes} bytes, and the service reads at most ${MESSAGE_BYTES_MAX}`
      this.#options.report('message-malformed', undefined, detail, text)
    }
    this.checkHeartbeat(nowMilliseconds)
    const value = parseJson(text)
    const message =
      value === undefined
        ? malformed('is not JSON')
        : isObject(value)
          ? readMessage(value)
          : malformed('is not an object')
    if (message.type === 'problem') {
      this.#takeProblem(message, value, text)
    } else if (message.type === 'heartbeat') {
      if (this.#heartbeatMilliseconds !== undefined) this.#heartbeatMilliseconds = nowMilliseconds
      for (const book of message.books) this.#options.markets.get(book.market)?.compareDigest(book, text)
    } else {
      const line = this.#lines.get(message.market)
      const hasPrev = membersOf(membersOf(value).stream).prev !== undefined
      if (line !== undefined) line.take(message, hasPrev, text)
      else if (!this.#ignored.has(message.market))
        this.#options.report(this.#options.unexpected, message.market, `a message of ${message.market}`, text)
    }
  }

  #takeProblem(problem: MessageProblem, value: unknown, text: string): void {
    const { stream } = membersOf(value)
    const { epoch, seq } = membersOf(stream)
    const { market, isSnapshot, special } = problem
    this.#options.report(special ?? 'message-malformed', market, problem.text, text)
    if (market !== undefined) this.#lines.get(market)?.skip(epoch, seq, isSnapshot)
  }
}

function malformed(rule: string): MessageProblem {
  return { type: 'problem', market: undefined, isSnapshot: false, text: `the message ${rule}`, special: undefined }
}

/**
 * One market's messages on one connection: which comes first, and whether any is left out. The market, which all
 * connections share, compares their content.
 */
import type { PublicationMessage } from './message.ts'
import type { NumberedMessage, Position, PublishedMarket } from './published-market.ts'
import type { PublisherRuleName, ReportBroken } from './rules.ts'

/** Where the messages may begin. */
interface Start {
  /** They may continue after it. Undefined: only a SNAPSHOT may come first. */
  readonly position: Position | undefined
  /** What is broken when they continue elsewhere. */
  readonly broken: PublisherRuleName
}

export class PublicationLine {
  readonly market: PublishedMarket
  readonly #report: ReportBroken
  readonly #isMain: boolean
  /** Undefined once the first message has arrived. */
  #start: Start | undefined
  #last: Position | undefined
  #timeMilliseconds = 0
  /** Numbered messages on this connection. */
  numbered = 0
  snapshots = 0

  /** @param isMain whether it sees every message: what it leaves out comes on no connection */
  constructor(market: PublishedMarket, isMain: boolean, report: ReportBroken) {
    this.market = market
    this.#isMain = isMain
    this.#report = report
    this.#start = { position: undefined, broken: 'snapshot-missing' }
  }

  /** This connection's last message. */
  get last(): Position | undefined {
    return this.#last
  }

  /** Whether the first message has arrived since `begin`. */
  get hasBegun(): boolean {
    return this.#start === undefined
  }

  /** The next message continues after `position`, or is a SNAPSHOT. */
  begin(position: Position | undefined, broken: PublisherRuleName): void {
    this.#start = { position, broken: position === undefined ? 'snapshot-missing' : broken }
    this.#last = position
    this.#timeMilliseconds = 0
  }

  /** @param hasPrev whether the message names its predecessor itself */
  take(message: PublicationMessage, hasPrev: boolean, text: string): void {
    if (message.type === 'SNAPSHOT') {
      this.#takeSnapshot(message.epoch, message.seq, message.prev, text)
      this.market.takeSnapshot(message, text)
    } else if (message.type === 'LOST') {
      this.#start = undefined
      this.market.distrust()
    } else {
      this.#takeNumbered(message, hasPrev, text)
    }
  }

  /** Counts a malformed message, so the next one does not seem to follow a gap. */
  skip(epoch: unknown, seq: unknown, isSnapshot: boolean): void {
    this.market.distrust()
    if (typeof epoch !== 'string' || typeof seq !== 'number' || !Number.isSafeInteger(seq)) return
    this.#start = undefined
    this.#last = { epoch, seq }
    this.market.skip(epoch, seq)
    if (isSnapshot) this.snapshots++
    else this.numbered++
  }

  #takeSnapshot(epoch: string, seq: number, prev: number | undefined, text: string): void {
    const last = this.#last
    this.snapshots++
    if (last?.epoch === epoch && this.#start === undefined && seq > last.seq && prev !== last.seq) {
      this.#say('snapshot-skips', `the SNAPSHOT has the state after message ${seq}, the last one was ${last.seq}`, text)
    }
    this.#start = undefined
    this.#last = { epoch, seq }
  }

  #takeNumbered(message: NumberedMessage, hasPrev: boolean, text: string): void {
    const { epoch, seq, timeMilliseconds } = message
    this.numbered++
    const isNext = this.#isNext(message, hasPrev, text)
    this.#start = undefined
    if (!isNext) return
    if (timeMilliseconds < this.#timeMilliseconds) {
      this.#say('time-backwards', `by ${this.#timeMilliseconds - timeMilliseconds} ms in message ${seq}`, text)
    }
    this.#timeMilliseconds = timeMilliseconds
    this.#last = { epoch, seq }
    this.market.takeNumbered(message, this.#isMain, text)
  }

  /** Whether the message can be applied. Reports one which is not the next. */
  #isNext(message: NumberedMessage, hasPrev: boolean, text: string): boolean {
    const { epoch, seq, prev } = message
    const start = this.#start
    const last = this.#last
    if (last === undefined) {
      this.#say(start?.broken ?? 'snapshot-missing', `message ${seq} comes first instead of a SNAPSHOT`, text)
      this.#last = { epoch, seq }
      return false
    }
    if (epoch !== last.epoch) {
      this.#say('epoch-without-snapshot', `message ${seq} is the first in the epoch ${epoch}`, text)
      this.#last = { epoch, seq }
      return false
    }
    if (seq <= last.seq) {
      const isSame = this.market.takeNumbered(message, this.#isMain, text)
      if (isSame) this.#say('number-repeated', `message ${seq} after message ${last.seq}`, text)
      return false
    }
    if (prev === last.seq) return true
    const isFirst = start !== undefined
    const name = isFirst ? start.broken : hasPrev ? 'prev-wrong' : 'numbers-skipped'
    this.#say(name, `message ${seq}${hasPrev ? ` with prev ${prev}` : ''} follows message ${last.seq}`, text)
    this.market.distrust()
    return true
  }

  #say(name: PublisherRuleName, detail: string, text: string): void {
    this.#report(name, this.market.symbol, detail, text)
  }
}

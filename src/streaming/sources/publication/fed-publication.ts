/**
 * One market fed by a publication: its reader and its listener. It delivers the reader's events in order, even where a
 * listener requests a new book during its call. It reports instrument changes, and calls nothing after `end`.
 */
import type { Instrument, MarketEvent } from '../../market/event.ts'
import type { FollowedPosition, FollowedPublication, SourceMarket } from '../source.ts'
import type { HeartbeatBook, PublicationMessage, PublicationProblem } from './message.ts'
import { PublicationReader } from './publication-reader.ts'
import type { PublicationStep } from './publication-step.ts'

/** The callbacks for the publication's owner. */
export interface FedPublicationOptions {
  readonly source: SourceMarket
  /** A SNAPSHOT is needed, or the messages after the reader's position, if it still has a book. */
  readonly onRequest: (reason: string) => void
  /** Whether the publisher can be asked for the messages after a position. */
  readonly resumes?: boolean
  /** A message breaks a rule, or the market does not accept it. */
  readonly onProblem: (problem: string) => void
  /** Called with each event before the listener. */
  readonly onEvent?: (event: MarketEvent) => void
}

export class FedPublication {
  readonly #options: FedPublicationOptions
  readonly reader: PublicationReader
  /** Events that a listener caused during its call. The reader causes a few at a time. */
  #pending: MarketEvent[] = []
  #isDelivering = false
  #isEnded = false
  #instrument: Instrument | undefined
  #isConnected = true

  constructor(options: FedPublicationOptions) {
    this.#options = options
    const { source, resumes } = options
    this.reader = new PublicationReader({ market: source.market, ...(resumes === undefined ? {} : { resumes }) })
  }

  get source(): SourceMarket {
    return this.#options.source
  }

  /** The last published instrument. Unknown without a connection, except that a simulated market stays simulated. */
  get instrument(): Instrument | undefined {
    const { instrument } = this.reader
    return this.#isConnected || instrument?.simulated === true ? instrument : undefined
  }

  get followed(): FollowedPosition | undefined {
    return followedBy(this.reader)
  }

  /** Continues a publication followed by another process. Returns false where its end position is unknown. */
  takeOver(followed: FollowedPublication | undefined): boolean {
    if (followed !== undefined) this.reader.takeOver(followed)
    return followed !== undefined
  }

  take(message: PublicationMessage): void {
    this.#isConnected = true
    this.#handle(this.reader.take(message))
  }

  refuse(problem: PublicationProblem): void {
    this.#handle(this.reader.refuse(problem))
  }

  compare(book: HeartbeatBook): void {
    this.#handle(this.reader.compare(book))
  }

  rebuild(reason: string): void {
    this.#handle(this.reader.rebuild(reason))
  }

  /** The publisher failed. It sends a SNAPSHOT by itself when it works again. */
  lose(reason: string): void {
    this.#deliver(this.reader.lose(reason))
  }

  /** The publisher continues after the reader's position. */
  resume(): void {
    this.#isConnected = true
    this.#deliver(this.reader.resume())
    this.#noteInstrument()
  }

  disconnect(reason: string): void {
    this.#isConnected = false
    this.#deliver(this.reader.disconnect(reason))
    this.#noteInstrument()
  }

  end(): void {
    this.#isEnded = true
    this.#pending = []
  }

  #handle({ events, request, problem }: PublicationStep): void {
    if (problem !== undefined && (request !== undefined || events.length > 0)) this.#options.onProblem(problem)
    this.#deliver(events)
    this.#noteInstrument()
    if (request !== undefined && !this.#isEnded) this.#options.onRequest(request)
  }

  #deliver(events: readonly MarketEvent[]): void {
    for (const event of events) this.#pending.push(event)
    if (this.#isDelivering) return
    this.#isDelivering = true
    try {
      for (let event = this.#pending.shift(); event !== undefined; event = this.#pending.shift()) {
        if (this.#isEnded) return
        this.#options.onEvent?.(event)
        this.#options.source.listener(event)
      }
    } finally {
      this.#isDelivering = false
    }
  }

  #noteInstrument(): void {
    const before = this.#instrument
    const now = this.instrument
    this.#instrument = now
    const isSame = before?.state === now?.state && before?.reason === now?.reason
    if ((isSame && before?.simulated === now?.simulated) || this.#isEnded) return
    this.#options.source.onInstrument?.()
  }
}

/** How far a reader has followed its publication; undefined before the first SNAPSHOT. */
export function followedBy({ position, needsSnapshot }: PublicationReader): FollowedPosition | undefined {
  return position === undefined ? undefined : { position: `${position.epoch}.${position.seq}`, hasBook: !needsSnapshot }
}

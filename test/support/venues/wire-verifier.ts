/** Compares a client's books and executions on the documented stream with the venues' history. */
import { type SampleBook, type SampleClient, sortedLevels } from '../sample-client.ts'
import type { BookMessage, DataMessage, Reply, SampleExecution } from '../sample-messages.ts'
import { Waiters } from '../waiters.ts'
import type { LevelText, PlainLevels } from './plain-book.ts'
import { SymbolVerifier, type VenueHistory } from './venue-history.ts'

export class WireVerifier {
  /** By market. */
  readonly verifiers: ReadonlyMap<string, SymbolVerifier>
  readonly #byVenueSymbol: ReadonlyMap<string, SymbolVerifier>
  readonly #waiters = new Waiters()

  /** `venueSymbols`: by market. */
  constructor(venueSymbols: ReadonlyMap<string, string>, history: VenueHistory) {
    this.verifiers = new Map([...venueSymbols].map(([market, symbol]) => [market, new SymbolVerifier(symbol, history)]))
    this.#byVenueSymbol = new Map([...this.verifiers.values()].map((verifier) => [verifier.symbol, verifier]))
  }

  get problems(): string[] {
    return [...this.verifiers.values()].flatMap((verifier) => verifier.problems)
  }

  /** For the client's options. */
  readonly onMessage = (message: Reply | DataMessage, client: SampleClient): void => {
    if (!('channel' in message)) return
    if (message.channel === 'market_data') {
      const { market } = message.payload as unknown as BookMessage
      this.verifiers.get(market)?.look(bookLevels(client.book(market)))
    } else if (message.channel === 'execution_data') {
      const { market, price, amount, executed_at } = message.payload as unknown as SampleExecution
      this.verifiers.get(market)?.execute(price, amount, Date.parse(executed_at))
    }
    this.#waiters.notify()
  }

  /** Resolves as soon as the condition holds. It is checked after every message. */
  until(what: string, isMet: () => boolean, limitMilliseconds?: number): Promise<void> {
    return this.#waiters.until(what, isMet, limitMilliseconds)
  }

  /** Reports an awaited event other than a message. */
  notify(): void {
    this.#waiters.notify()
  }

  /** Waits until the client's book is the venue's current one, or an error was found. */
  async atRest(venueSymbol: string, limitMilliseconds?: number): Promise<void> {
    const verifier = this.#byVenueSymbol.get(venueSymbol)
    if (verifier === undefined) return
    try {
      await this.until(
        `${venueSymbol} as the venue has it`,
        () => verifier.isCurrent || this.problems.length > 0,
        limitMilliseconds,
      )
    } catch (error) {
      verifier.problems.push((error as Error).message)
      this.notify()
    }
  }
}

/** A client's book as sorted texts, best level first. */
export function bookLevels(book: SampleBook): PlainLevels {
  const side = (name: 'bids' | 'asks') =>
    sortedLevels(book, name).map(({ price, amount }): LevelText => [price, amount])
  return { bids: side('bids'), asks: side('asks') }
}

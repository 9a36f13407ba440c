/**
 * What test venues really had, message by message, and whether what came out at the other end is that: every book one
 * of the venue's, none earlier than the one before; every execution the next of its trades, unless it was said that
 * some are missing. Values are compared as texts without trailing zeros.
 */
import type { LevelText, PlainLevels } from './plain-book.ts'
import type { PlayedTrade, Script } from './script.ts'
import type { VenueServer } from './server.ts'

/**
 * How far back a book may be behind the one before it: two messages that change places lead through one, which no
 * checksum and no number can tell from the right order when the second repeats the first one's levels.
 */
const STEPS_BACK_MAX = 2
/** States that are remembered of a symbol: whoever is further behind is wrong. */
const STATES_MAX = 4_000

export class VenueHistory {
  readonly #depth: number
  readonly #symbols = new Map<string, { states: string[]; firstPlace: number; score?: Script }>()

  /** `depth`: levels a side that are compared. */
  constructor(depth: number) {
    this.#depth = depth
  }

  /** For the server's options. */
  readonly onPlayed = (score: Script): void => this.#remember(score)

  /** To be called before anyone connects: what the books are before the first message. */
  begin(server: VenueServer): void {
    for (const { score } of server.tracks.values()) this.#remember(score)
  }

  /** The book as it stands now. */
  now(symbol: string): string {
    return this.#of(symbol).states.at(-1) ?? ''
  }

  score(symbol: string): Script {
    return this.#of(symbol).score as Script
  }

  trades(symbol: string): readonly PlayedTrade[] {
    return this.score(symbol).trades
  }

  /** The first place at or behind `from` where the venue had this book; undefined when it never had. */
  place(symbol: string, state: string, from: number): number | undefined {
    const { states, firstPlace } = this.#of(symbol)
    const place = states.indexOf(state, Math.max(0, from - firstPlace))
    return place < 0 ? undefined : place + firstPlace
  }

  /** A book as text, cut to the compared depth. */
  text({ bids, asks }: PlainLevels): string {
    const side = (levels: readonly LevelText[]) =>
      levels
        .slice(0, this.#depth)
        .map(([price, amount]) => `${trimmed(price)}:${trimmed(amount)}`)
        .join(' ')
    return `${side(bids)} | ${side(asks)}`
  }

  #of(symbol: string): { states: string[]; firstPlace: number; score?: Script } {
    let entry = this.#symbols.get(symbol)
    if (entry === undefined) {
      entry = { states: [], firstPlace: 0 }
      this.#symbols.set(symbol, entry)
    }
    return entry
  }

  #remember(score: Script): void {
    const entry = this.#of(score.symbol)
    entry.score = score
    const state = this.text(score.levels(this.#depth))
    if (state === entry.states.at(-1)) return
    entry.states.push(state)
    if (entry.states.length < STATES_MAX * 2) return
    entry.firstPlace += STATES_MAX
    entry.states.splice(0, STATES_MAX)
  }
}

/** Judges the books and executions of one symbol, as they come out of one reader. */
export class SymbolVerifier {
  readonly problems: string[] = []
  readonly symbol: string
  /** Books that were found to be the venue's. */
  matched = 0
  executions = 0
  readonly #truth: VenueHistory
  #place = 0
  #state = ''
  /** Places in the venue's trades of which one is the next; undefined when it may be any behind the last. */
  #nextTrades: readonly number[] | undefined
  #lastTrade = -1

  constructor(symbol: string, truth: VenueHistory) {
    this.symbol = symbol
    this.#truth = truth
  }

  /** Whether the reader's last book is what the venue has now. */
  get isCurrent(): boolean {
    return this.#state === this.#truth.now(this.symbol)
  }

  /** The reader's last book, as text. */
  get state(): string {
    return this.#state
  }

  /** Place behind the last trade that the reader has; undefined when that is not known. */
  get tradesUpTo(): number | undefined {
    return this.#nextTrades?.length === 1 ? this.#nextTrades[0] : undefined
  }

  /** A whole message was applied: this is the book now. */
  look(levels: PlainLevels): void {
    this.#state = this.#truth.text(levels)
    const place = this.#truth.place(this.symbol, this.#state, Math.max(0, this.#place - STEPS_BACK_MAX))
    if (place === undefined) this.#problem(`a book that the venue did not have after the one before: ${this.#state}`)
    else {
      this.#place = place
      this.matched++
    }
  }

  execute(price: string, amount: string, executedAtMilliseconds: number): void {
    if (this.takes(price, amount, executedAtMilliseconds)) return
    this.executions++
    this.#problem(`${price} x ${amount} at ${executedAtMilliseconds} is not the next trade behind ${this.#lastTrade}`)
    this.#nextTrades = undefined
  }

  /** Whether this is the next execution; when it is, it is counted. */
  takes(price: string, amount: string, executedAtMilliseconds: number): boolean {
    const trades = this.#truth.trades(this.symbol)
    const isThis = (place: number) => {
      const trade = trades[place]
      return (
        trade !== undefined &&
        trimmed(trade.price) === trimmed(price) &&
        trimmed(trade.amount) === trimmed(amount) &&
        trade.executedAtMilliseconds === executedAtMilliseconds
      )
    }
    const candidates =
      this.#nextTrades ??
      Array.from({ length: trades.length - this.#lastTrade - 1 }, (_, index) => this.#lastTrade + 1 + index)
    const found = candidates.filter(isThis)
    if (found.length === 0) return false
    this.executions++
    this.#lastTrade = found[0] as number
    this.#nextTrades = found.map((place) => place + 1)
    return true
  }

  /** Executions are missing here, and the reader was told so; or it reads anew. */
  missed(): void {
    this.#nextTrades = undefined
  }

  #problem(text: string): void {
    this.problems.push(`${this.symbol}: ${text}`)
  }
}

/** Without the zeros at the end of a fraction. */
export function trimmed(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

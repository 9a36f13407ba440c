/**
 * The test venues' history, message by message, and the comparison of a source's output with it: every book is one of
 * the venue's, none earlier than the one before. Every execution is the next of its trades, unless missing ones were
 * reported. Values are compared as texts without trailing zeros.
 */
import type { LevelText, PlainLevels } from './plain-book.ts'
import type { PlayedTrade, Script } from './script.ts'
import type { VenueServer } from './server.ts'

/**
 * How many states a book may step back from the one before. Two swapped messages lead through an earlier state. Neither
 * checksum nor number can distinguish this from the right order when the second repeats the first one's levels.
 */
const STEPS_BACK_MAX = 2
/** How many states are kept per symbol. An older book is an error. */
const STATES_MAX = 4_000

export class VenueHistory {
  readonly #depth: number
  readonly #symbols = new Map<string, { states: string[]; firstPlace: number; script?: Script }>()

  /** `depth`: levels per side in the comparison. */
  constructor(depth: number) {
    this.#depth = depth
  }

  /** For the server's options. */
  readonly onPlayed = (script: Script): void => this.#remember(script)

  /** Must be called before any client connects: records the books before the first message. */
  begin(server: VenueServer): void {
    for (const { script } of server.tracks.values()) this.#remember(script)
  }

  /** The current book. */
  now(symbol: string): string {
    return this.#of(symbol).states.at(-1) ?? ''
  }

  script(symbol: string): Script {
    return this.#of(symbol).script as Script
  }

  trades(symbol: string): readonly PlayedTrade[] {
    return this.script(symbol).trades
  }

  /** The first index at or after `from` where the venue had this book. Undefined if it never had. */
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

  #of(symbol: string): { states: string[]; firstPlace: number; script?: Script } {
    let entry = this.#symbols.get(symbol)
    if (entry === undefined) {
      entry = { states: [], firstPlace: 0 }
      this.#symbols.set(symbol, entry)
    }
    return entry
  }

  #remember(script: Script): void {
    const entry = this.#of(script.symbol)
    entry.script = script
    const state = this.text(script.levels(this.#depth))
    if (state === entry.states.at(-1)) return
    entry.states.push(state)
    if (entry.states.length < STATES_MAX * 2) return
    entry.firstPlace += STATES_MAX
    entry.states.splice(0, STATES_MAX)
  }
}

/** Compares one symbol's books and executions, as they come from one source or client, with the history. */
export class SymbolVerifier {
  readonly problems: string[] = []
  readonly symbol: string
  /** How many books were found in the venue's history. */
  matched = 0
  executions = 0
  readonly #history: VenueHistory
  #place = 0
  #state = ''
  /** Candidates for the next trade's index. Undefined when it may be any after the last. */
  #nextTrades: readonly number[] | undefined
  #lastTrade = -1

  constructor(symbol: string, history: VenueHistory) {
    this.symbol = symbol
    this.#history = history
  }

  /** Whether the last book is the venue's current one. */
  get isCurrent(): boolean {
    return this.#state === this.#history.now(this.symbol)
  }

  /** The last book, as text. */
  get state(): string {
    return this.#state
  }

  /** The index after the last trade. Undefined if it is not known. */
  get tradesUpTo(): number | undefined {
    return this.#nextTrades?.length === 1 ? this.#nextTrades[0] : undefined
  }

  /** Must be called after each complete message with the resulting book. */
  look(levels: PlainLevels): void {
    this.#state = this.#history.text(levels)
    const place = this.#history.place(this.symbol, this.#state, Math.max(0, this.#place - STEPS_BACK_MAX))
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

  /** Whether this is the next execution. If so, it is counted. */
  takes(price: string, amount: string, executedAtMilliseconds: number): boolean {
    const trades = this.#history.trades(this.symbol)
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

  /** Missing executions were reported, or the subscription starts again. */
  missed(): void {
    this.#nextTrades = undefined
  }

  #problem(text: string): void {
    this.problems.push(`${this.symbol}: ${text}`)
  }
}

/** Removes a fraction's trailing zeros. */
export function trimmed(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

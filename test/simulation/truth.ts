/**
 * The independent model: what the source of each market said, message by message, kept in plain maps of texts. From it the
 * checker knows the book at every commit time, which executions there were, and their order. It uses no code of the service
 * but the shapes of its messages.
 */
import { millisecondText } from '../../src/platform/base/clock.ts'
import { ASK, BID, type Execution, type LevelChange, type MarketEvent } from '../../src/streaming/market/event.ts'
import type { Commit } from '../../src/streaming/sequencing/bus.ts'
import { Random } from '../support/random.ts'

const LEVELS = 30
const CHANGES_MAX = 6
const PRICE_DECIMALS = 2
const AMOUNT_DECIMALS = 4
/** Commits of an earlier feed, which has ended, can be noted after those of the one that leads. */
const TIMES_KEPT = 1_000

/** Price and amount as the wire has them, best first. */
export type SideText = readonly (readonly [price: string, amount: string])[]

export interface BookText {
  readonly bids: SideText
  readonly asks: SideText
}

export const EMPTY_BOOK: BookText = { bids: [], asks: [] }

function decimal(value: number, decimals: number): string {
  const digits = String(value).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** A source: makes messages of a book that is never crossed, and knows the book that each leads to. */
export class ScriptedSource {
  #middle = 100_000
  #sides: [Map<number, number>, Map<number, number>] = [new Map(), new Map()]
  /** What was committed last; a source that is lost leaves it. */
  #committed: [Map<number, number>, Map<number, number>] = [new Map(), new Map()]
  /** Executions since the last commit. */
  #waiting: string[] = []
  isLost = true
  /** Whether a book of it was committed. */
  #hasBook = false

  snapshot(seed: number): MarketEvent {
    const random = new Random(seed)
    this.#middle += random.integer(201) - 100
    this.#sides = [new Map(), new Map()]
    this.isLost = false
    const levels: LevelChange[] = []
    for (let rank = 1; rank <= LEVELS; rank++) {
      if (random.chance(0.9)) levels.push(this.#set(BID, this.#middle - rank, 1 + random.integer(900)))
      if (random.chance(0.9)) levels.push(this.#set(ASK, this.#middle + rank, 1 + random.integer(900)))
    }
    return { type: 'snapshot', levels }
  }

  /** @param execution makes an amount that no other execution has */
  update(random: Random, execution: () => number): MarketEvent {
    const changes: LevelChange[] = random.chance(0.1) ? this.#moveMiddle(random.integer(11) - 5) : []
    for (let count = 1 + random.integer(CHANGES_MAX); count > 0; count--) changes.push(this.#change(random))
    const executions: Execution[] = []
    while (random.chance(0.3)) executions.push({ price: this.#middle, amount: execution() })
    for (const { amount } of executions) this.#waiting.push(decimal(Number(amount), AMOUNT_DECIMALS))
    return { type: 'update', changes, executions }
  }

  lost(): MarketEvent {
    this.#sides = [new Map(this.#committed[0]), new Map(this.#committed[1])]
    this.isLost = true
    return { type: 'lost', reason: 'the connection ended' }
  }

  /** What a commit must contain: the book after everything that was said, and every execution since the last one. */
  committed(withdraws: boolean): {
    /** Undefined before its first one: subscribers then keep the last book of an earlier feed. */
    readonly book: BookText | undefined
    readonly executions: readonly string[]
  } {
    this.#hasBook ||= !this.isLost
    if (withdraws) this.#sides = [new Map(), new Map()]
    this.#committed = [new Map(this.#sides[0]), new Map(this.#sides[1])]
    const executions = this.#waiting
    this.#waiting = []
    if (!this.#hasBook) return { book: undefined, executions }
    const side = (levels: Map<number, number>, sign: number): SideText =>
      [...levels]
        .sort(([left], [right]) => sign * (left - right))
        .map(([price, amount]) => [decimal(price, PRICE_DECIMALS), decimal(amount, AMOUNT_DECIMALS)])
    return { book: { bids: side(this.#sides[BID], -1), asks: side(this.#sides[ASK], 1) }, executions }
  }

  #change(random: Random): LevelChange {
    const side = random.chance(0.5) ? BID : ASK
    // Squared: most changes are near the top.
    const distance = 1 + Math.floor(random.next() ** 2 * LEVELS * 1.2)
    const price = side === BID ? this.#middle - distance : this.#middle + distance
    return random.chance(0.35) ? this.#remove(side, price) : this.#set(side, price, 1 + random.integer(900))
  }

  #moveMiddle(distance: number): LevelChange[] {
    this.#middle += distance
    const crossing: LevelChange[] = []
    for (const price of [...this.#sides[BID].keys()]) if (price >= this.#middle) crossing.push(this.#remove(BID, price))
    for (const price of [...this.#sides[ASK].keys()]) if (price <= this.#middle) crossing.push(this.#remove(ASK, price))
    return crossing
  }

  #set(side: typeof BID | typeof ASK, price: number, amount: number): LevelChange {
    this.#sides[side].set(price, amount)
    return { side, price, amount }
  }

  #remove(side: typeof BID | typeof ASK, price: number): LevelChange {
    this.#sides[side].delete(price)
    return { side, price, amount: 0 }
  }
}

/** Where an execution stands: misses take a place too. */
export interface ExecutionPlace {
  readonly epoch: string
  readonly place: number
}

/** Everything that was committed of one market, by any feed. */
export class MarketTruth {
  readonly market: string
  /** Feeds that run at once may commit at the same time. */
  readonly #books = new Map<string, BookText[]>()
  readonly #executions = new Map<string, ExecutionPlace>()
  readonly #counts = new Map<string, number>()
  executionsMade = 0

  constructor(market: string) {
    this.market = market
  }

  /** An amount that identifies the execution. */
  nextExecution(): number {
    return ++this.executionsMade
  }

  /** Compares a commit with what the source said, and notes it. */
  note(commit: Commit, source: ScriptedSource): BookText {
    const { book, executions } = source.committed(commit.withdraws === true)
    const found = commit.executions.map(({ amount }) => decimal(Number(amount), AMOUNT_DECIMALS))
    if (found.join() !== executions.join()) {
      throw new Error(`${this.market}: the executions ${executions} were committed as ${found}`)
    }
    const time = millisecondText(commit.milliseconds)
    // A gateway that lost messages may hold any earlier one.
    const possible = book === undefined ? [...new Set([...this.#books.values()].flat())] : [book]
    this.#books.set(time, [...(this.#books.get(time) ?? []), ...possible])
    let count = this.#counts.get(commit.epoch) ?? 0
    for (const [index, execution] of found.entries()) {
      if (index === commit.missedAt) count += 1
      this.#executions.set(execution, { epoch: commit.epoch, place: count++ })
    }
    if (commit.missedAt === found.length) count += 1
    this.#counts.set(commit.epoch, count)
    if (commit.executionNumber !== count) {
      throw new Error(
        `${this.market}: commit ${commit.version} counts ${commit.executionNumber} executions, not ${count}`,
      )
    }
    return book ?? EMPTY_BOOK
  }

  /** The books that a message of this time may lead to. */
  booksAt(time: string): readonly BookText[] {
    return this.#books.get(time) ?? []
  }

  /** Drops all but the last books: a message that is still to come is about one of them. */
  forget(): void {
    const times = [...this.#books.keys()]
    for (const time of times.slice(0, -TIMES_KEPT)) this.#books.delete(time)
  }

  execution(amount: string): ExecutionPlace {
    const place = this.#executions.get(amount)
    if (place === undefined) throw new Error(`${this.market}: there was no execution of ${amount}`)
    return place
  }

  executionCount(epoch: string): number {
    return this.#counts.get(epoch) ?? 0
  }
}

/**
 * What a test venue plays for one symbol, and the words for it. A score keeps the venue's own truth: its book and all
 * its trades, also of what was lost on the way out. It uses no code of the connectors.
 */
import { Random } from '../random.ts'
import type { PlainLevels } from './plain-book.ts'

/** One frame of a recording, and when, in milliseconds after its first. */
export interface ScoreFrame {
  readonly milliseconds: number
  readonly text: string
}

/** A frame on its way to everyone who is subscribed to this channel of the symbol. */
export interface Outgoing {
  readonly channel: string
  readonly text: string
  /** Whether a connector must notice when this frame is lost, or swapped with the next. */
  readonly isMissed: boolean
  /** It says nothing of the channel's matter, like a heartbeat: faults pass it by. */
  readonly isAside?: boolean
}

/** A trade that took place at the venue, whether anyone was told or not. */
export interface PlayedTrade {
  readonly id: number
  readonly price: string
  readonly amount: string
  readonly side: 'buy' | 'sell'
  readonly executedAtMilliseconds: number
}

export interface Score {
  readonly symbol: string
  readonly frames: readonly ScoreFrame[]
  /** Where later rounds begin: behind the frame that is the book's beginning, when there is one. */
  readonly repeatFrom: number
  /** The channel whose subscribers keep the recording going. */
  readonly bookChannel: string
  readonly trades: readonly PlayedTrade[]
  /** Takes a frame into the venue's own state; what goes out of it, with the numbers of this round (the first is 0). */
  play(frame: ScoreFrame, round: number): Outgoing | undefined
  /** The message that leads from the book at the end of the recording to the one that later rounds begin with. */
  rewind(round: number): Outgoing
  /** What a channel begins with for those who subscribe in the middle; nothing when it has no such beginning. */
  beginning(channel: string): string | undefined
  /** The book as it stands now, best level first. */
  levels(depth?: number): PlainLevels
  /** The frame, damaged so that a connector must notice. */
  corruptions(text: string): readonly string[]
}

/** Trades for recordings that have none: at seeded times on the best prices of the book as it then stands. */
export interface MadeTradesOptions {
  readonly seed: number
  /** Mean time between two messages of trades, in recorded milliseconds. */
  readonly everyMilliseconds: number
}

const MARK = '#trades '

/** The recording with places for messages of one to three trades between its frames. */
export function withTradePlaces(
  frames: readonly ScoreFrame[],
  { seed, everyMilliseconds }: MadeTradesOptions,
): ScoreFrame[] {
  const random = new Random(seed)
  const result: ScoreFrame[] = []
  let next = (frames[0]?.milliseconds ?? 0) + random.next() * 2 * everyMilliseconds
  for (const frame of frames) {
    for (; next < frame.milliseconds; next += random.next() * 2 * everyMilliseconds) {
      result.push({ milliseconds: next, text: MARK + (1 + random.integer(3)) })
    }
    result.push(frame)
  }
  return result
}

/** How many trades are to be made at this place; undefined when the frame is a recorded one. */
export function tradesWanted({ text }: ScoreFrame): number | undefined {
  return text.startsWith(MARK) ? Number(text.slice(MARK.length)) : undefined
}

/** Makes trades on the best prices, with numbers that follow one another. */
export class TradeMaker {
  readonly trades: PlayedTrade[] = []
  readonly #random: Random
  readonly #amountDecimals: number
  #nextId: number

  constructor(seed: number, firstId: number, amountDecimals: number) {
    this.#random = new Random(seed)
    this.#nextId = firstId
    this.#amountDecimals = amountDecimals
  }

  make(count: number, { bids, asks }: PlainLevels, executedAtMilliseconds: number): PlayedTrade[] {
    const made: PlayedTrade[] = []
    for (let index = 0; index < count; index++) {
      const side = this.#random.pick(['buy', 'sell'] as const)
      const [best] = side === 'buy' ? asks : bids
      if (best === undefined) continue
      // From one unit upwards, so that the smallest and the longest texts both come.
      const units = 1 + this.#random.integer(10 ** (1 + this.#random.integer(9)))
      const amount = unitsText(units, this.#amountDecimals)
      made.push({ id: this.#nextId++, price: best[0], amount, side, executedAtMilliseconds })
    }
    this.trades.push(...made)
    return made
  }
}

function unitsText(units: number, decimals: number): string {
  if (decimals === 0) return String(units)
  const digits = String(units).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** The first half of a frame: what nobody can read. */
export function torn(text: string): string {
  return text.slice(0, text.length >> 1)
}

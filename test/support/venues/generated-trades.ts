/** Generated trades for recordings without trades: their times and contents. */
import { Random } from '../random.ts'
import type { PlainLevels } from './plain-book.ts'
import type { PlayedTrade, ScriptFrame } from './script.ts'

/** At seeded times at the current book's best prices. */
export interface MadeTradesOptions {
  readonly seed: number
  /** Mean time between two trade messages, in recorded milliseconds. */
  readonly everyMilliseconds: number
}

const MARK = '#trades '

/** The recording with placeholders for messages with one to three trades between its frames. */
export function withTradePlaces(
  frames: readonly ScriptFrame[],
  { seed, everyMilliseconds }: MadeTradesOptions,
): ScriptFrame[] {
  const random = new Random(seed)
  const result: ScriptFrame[] = []
  let next = (frames[0]?.milliseconds ?? 0) + random.next() * 2 * everyMilliseconds
  for (const frame of frames) {
    for (; next < frame.milliseconds; next += random.next() * 2 * everyMilliseconds) {
      result.push({ milliseconds: next, text: MARK + (1 + random.integer(3)) })
    }
    result.push(frame)
  }
  return result
}

/** The number of trades to generate at this placeholder. Undefined when the frame is a recorded one. */
export function tradesWanted({ text }: ScriptFrame): number | undefined {
  return text.startsWith(MARK) ? Number(text.slice(MARK.length)) : undefined
}

/** Generates trades at the best prices, with consecutive numbers. */
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
      // From one unit upwards, so that the shortest and the longest texts both occur.
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

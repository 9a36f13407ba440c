/**
 * A reader of a market that lives in this process: it takes the levels of a view piece by piece, then the texts of the
 * UPDATE messages that everyone gets, and so holds what a customer holds. It reads its book back out of those texts,
 * with none of the server's objects. It promises to say when an UPDATE tells something it already holds, which no
 * UPDATE may. It judges nothing else.
 */
import { parseDecimal, type Scaled } from '../base/decimal.ts'
import { Book } from '../market/book.ts'
import { ASK, BID, type LevelChange, type MarketDefinition, type Side } from '../market/event.ts'
import { levelsBehind } from '../market/view.ts'
import { updateText } from './frame.ts'

interface WireLevel {
  readonly price: string
  readonly amount: string
}

export class ShadowReader {
  readonly #market: MarketDefinition
  readonly #book = new Book()

  constructor(market: MarketDefinition) {
    this.#market = market
  }

  /** Reads the levels out of the text of a message; true when every one of them changed what was held. */
  read(levels: readonly LevelChange[], isWanted: (level: LevelChange) => boolean = () => true): boolean {
    const changes = this.#fromWire(updateText(this.#market, 0, levels)).filter(isWanted)
    return this.#book.apply(changes).length === changes.length
  }

  /** Up to `countMax` levels of one side, from the first one worse than `price` (undefined: from the best). */
  levelsBehind(side: Side, price: number | undefined, countMax: number): LevelChange[] {
    return levelsBehind(this.#book, 0, side, price, countMax)
  }

  #fromWire(text: string): LevelChange[] {
    const { payload } = JSON.parse(text) as { payload: { bids: readonly WireLevel[]; asks: readonly WireLevel[] } }
    return [...this.#side(BID, payload.bids), ...this.#side(ASK, payload.asks)]
  }

  #side(side: Side, levels: readonly WireLevel[]): LevelChange[] {
    const { priceDecimals, amountDecimals } = this.#market
    return levels.map(({ price, amount }) => ({
      side,
      price: numberOf(parseDecimal(price, priceDecimals)),
      amount: scaledOf(parseDecimal(amount, amountDecimals)),
    }))
  }
}

function scaledOf(value: ReturnType<typeof parseDecimal>): Scaled {
  if (typeof value === 'string') throw new Error(`a message holds a number that is ${value}`)
  return value
}

function numberOf(value: ReturnType<typeof parseDecimal>): number {
  const scaled = scaledOf(value)
  if (typeof scaled !== 'number') throw new Error('a message holds a price beyond the safe integers')
  return scaled
}

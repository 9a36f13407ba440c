/**
 * A book's content, built from messages and checked against the API's rules: times increase, levels are sorted, only
 * existing levels are removed, the number of decimals stays, bids stay below asks. A message that breaks a rule throws
 * `Fault`, and the content must not be used afterwards. It knows no connection and no clock.
 */
import { digestOf } from './digest.ts'
import { decimalsOf, isBetter, type Level, SIDES, Side, type SideName, scaled } from './level.ts'
import { type BookMessage, Fault } from './messages.ts'

/** Called for every level in an update, with the level before it: undefined for a new one. */
type OnChange = (side: SideName, price: string, before: Level | undefined) => void

const GONE = '0'

export class BookContent {
  readonly bids = new Side('bids')
  readonly asks = new Side('asks')
  /** The last message's time: RFC 3339 with milliseconds. */
  time = ''
  /** How many decimals all prices and all amounts have. Undefined before the first level. */
  priceDecimals: number | undefined
  amountDecimals: number | undefined

  get isEmpty(): boolean {
    return this.bids.size + this.asks.size === 0
  }

  get size(): number {
    return this.bids.size + this.asks.size
  }

  get digest(): string {
    return digestOf(this.bids, this.asks)
  }

  replace(message: BookMessage): void {
    this.#advance(message.time)
    for (const side of SIDES) {
      const levels = message[side]
      checkOrder(side, levels)
      for (const level of levels) {
        this.#checkDecimals(level)
        if (isZero(level.amount)) throw new Fault(`a SNAPSHOT has no amount at ${level.price}`)
      }
      this[side].replace(levels)
    }
    this.#checkNotCrossed()
  }

  update(message: BookMessage, onChange: OnChange): void {
    this.#advance(message.time)
    for (const side of SIDES) {
      const levels = message[side]
      checkOrder(side, levels)
      for (const level of levels) {
        this.#checkDecimals(level)
        const before = this[side].at(level.price)
        onChange(side, level.price, before)
        if (!isZero(level.amount)) this[side].set(level)
        else if (before !== undefined) this[side].remove(level.price)
        else throw new Fault(`${level.price}, which an UPDATE removes from the ${side}, is not in the book`)
      }
    }
    this.#checkNotCrossed()
  }

  /** Times have a fixed width, so they compare as text. */
  #advance(time: string): void {
    if (time <= this.time) throw new Fault(`a message of ${time} arrived after one of ${this.time}`)
    this.time = time
  }

  #checkDecimals({ price, amount }: Level): void {
    this.priceDecimals ??= decimalsOf(price)
    if (decimalsOf(price) !== this.priceDecimals)
      throw new Fault(`the price ${price} has more or fewer decimals than before`)
    if (amount === GONE) return
    this.amountDecimals ??= decimalsOf(amount)
    if (decimalsOf(amount) !== this.amountDecimals)
      throw new Fault(`the amount ${amount} has more or fewer decimals than before`)
  }

  #checkNotCrossed(): void {
    const [bid, ask] = [this.bids.best, this.asks.best]
    if (bid === undefined || ask === undefined || isBetter('asks', bid.price, ask.price)) return
    throw new Fault(`the book is crossed: ${bid.price} bid, ${ask.price} asked`)
  }
}

/** Checks the venues named by each level in a message: their amounts must add up to the level's. */
export function checkVenues(message: BookMessage): void {
  for (const { price, amount, scaledAmount, venues } of [...message.bids, ...message.asks]) {
    if (isZero(amount)) continue
    if (venues === undefined) throw new Fault(`the level at ${price} does not name its venues`)
    // The service does not know the venues.
    if (venues.length === 0) continue
    const isWrong = venues.some((share) => isZero(share.amount) || decimalsOf(share.amount) !== decimalsOf(amount))
    const sum = venues.reduce((total, share) => total + scaled(share.amount), 0n)
    if (isWrong || sum !== scaledAmount || new Set(venues.map(({ venue }) => venue)).size < venues.length)
      throw new Fault(`the venues of the level at ${price} do not have its amount of ${amount}`)
  }
}

function checkOrder(side: SideName, levels: readonly Level[]): void {
  levels.reduce<Level | undefined>((before, level) => {
    if (before !== undefined && !isBetter(side, before.price, level.price))
      throw new Fault(`the ${side} of a message are not sorted: ${before.price}, then ${level.price}`)
    return level
  }, undefined)
}

function isZero(amount: string): boolean {
  return !/[1-9]/.test(amount)
}

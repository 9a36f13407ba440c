/**
 * One market's book: price text to amount text. A price is always the same text, because every price of a market has
 * the same number of decimals; so levels are found by text, and prices are compared as whole numbers, never as floats.
 */
export class Book {
  time = ''
  #sides = { bids: new Map(), asks: new Map() }

  /** Applies a SNAPSHOT or an UPDATE; throws when a sound service could not have sent it. */
  apply({ type, time, bids, asks }) {
    // Times have a fixed width, so text compares as time does.
    if (time <= this.time) throw new Error(`a book of ${time} came after one of ${this.time}`)
    this.time = time
    if (type === 'SNAPSHOT') this.#sides = { bids: new Map(), asks: new Map() }
    applyLevels(this.#sides.bids, bids)
    applyLevels(this.#sides.asks, asks)
  }

  /** The best bid and the best ask, as in `60000.10 x 0.5 60000.20 x 1.25`. */
  bestText() {
    const { bids, asks } = this.#sides
    const bid = best(bids, (left, right) => left > right)
    const ask = best(asks, (left, right) => left < right)
    if (bid !== undefined && ask !== undefined && scaled(bid) >= scaled(ask)) {
      throw new Error(`the book is crossed: ${bid} bid, ${ask} asked`)
    }
    return `${levelText(bids, bid)} ${levelText(asks, ask)}`
  }
}

function applyLevels(side, levels) {
  for (const { price, amount } of levels) {
    if (amount !== '0') side.set(price, amount)
    else if (!side.delete(price)) throw new Error(`${price} was removed, but was not there`)
  }
}

function best(side, isBetter) {
  let found
  for (const price of side.keys()) {
    if (found === undefined || isBetter(scaled(price), scaled(found))) found = price
  }
  return found
}

/** A price as a whole number of its last decimal. */
function scaled(price) {
  return BigInt(price.replace('.', ''))
}

function levelText(side, price) {
  return price === undefined ? '-' : `${price} x ${side.get(price)}`
}

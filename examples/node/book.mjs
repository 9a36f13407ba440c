/**
 * The order book of one market: a map from price text to amount text. All prices of a market have the same number of
 * decimals, so equal prices are equal texts. Prices are compared as integers, never as floating-point numbers.
 */
export class Book {
  time = ''
  #sides = { bids: new Map(), asks: new Map() }

  /** Applies a SNAPSHOT or an UPDATE. Throws an error if the message contradicts the book. */
  apply({ type, time, bids, asks }) {
    // Timestamps have a fixed width, so they can be compared as text.
    if (time <= this.time) throw new Error(`a book message of ${time} arrived after one of ${this.time}`)
    this.time = time
    if (type === 'SNAPSHOT') this.#sides = { bids: new Map(), asks: new Map() }
    applyLevels(this.#sides.bids, bids)
    applyLevels(this.#sides.asks, asks)
  }

  /** The best bid and the best ask, for example `60000.10 x 0.5 60000.20 x 1.25`. */
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
    else if (!side.delete(price)) throw new Error(`the removed level ${price} is not in the book`)
  }
}

function best(side, isBetter) {
  let found
  for (const price of side.keys()) {
    if (found === undefined || isBetter(scaled(price), scaled(found))) found = price
  }
  return found
}

/** Converts a price to an integer, in units of its last decimal. */
function scaled(price) {
  return BigInt(price.replace('.', ''))
}

function levelText(side, price) {
  return price === undefined ? '-' : `${price} x ${side.get(price)}`
}

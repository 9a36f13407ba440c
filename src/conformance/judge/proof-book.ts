/**
 * The book that `prove` rebuilds, with its digest. It shares no code with the book and the digest of the service: levels
 * are texts, and the digest is computed as docs/reference/extended-stream.md describes it, in arbitrary precision.
 */
import { BOOK_SIDES, type BookSide, ClientBook } from './client-book.ts'

export class ProofBook {
  readonly #book = new ClientBook()
  #sum = 0n

  /** Sets the amount of a level; exactly `0` removes it. */
  set(side: BookSide, price: string, amount: string): void {
    const before = this.#book.amount(side, price)
    if (before !== undefined) this.#sum -= levelHash(side, price, before)
    if (amount !== '0') {
      this.#sum += levelHash(side, price, amount)
      this.#book.set(side, price, amount)
    } else if (before !== undefined) this.#book.remove(side, price)
  }

  /** Levels of the side that has more. */
  get depth(): number {
    return Math.max(this.#book.size('bids'), this.#book.size('asks'))
  }

  /** The digest of the best `depth` levels per side; 0 = all. */
  digest(depth = 0): string {
    if (depth === 0 || this.depth <= depth) return text(this.#sum)
    let sum = 0n
    for (const side of BOOK_SIDES) {
      for (const { price, amount } of this.#book.top(side, depth)) sum += levelHash(side, price, amount)
    }
    return text(sum)
  }
}

const MASK = 2n ** 64n - 1n

function levelHash(side: BookSide, price: string, amount: string): bigint {
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(`${side === 'bids' ? 'bid' : 'ask'}|${price}|${amount}`)) {
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & MASK
  }
  hash = ((hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn) & MASK
  hash = ((hash ^ (hash >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK
  return hash ^ (hash >> 33n)
}

function text(sum: bigint): string {
  return BigInt.asUintN(64, sum).toString(16).padStart(16, '0')
}

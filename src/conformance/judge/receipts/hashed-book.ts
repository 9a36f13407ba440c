/** A book's hash as receipts state it, and whether its numbers have certain decimals. Pure. */
import { createHash } from 'node:crypto'
import { receiptRecord } from '../../../contract/receipt.ts'
import { BOOK_SIDES, type Decimals, type NaiveBook } from '../naive-book.ts'
import { fractionDigits } from '../stream/checker-forms.ts'

/** @param depth levels per side; 0 = all */
export function hashedBook(book: NaiveBook, depth = 0) {
  const hash = createHash('sha256')
  const found: Decimals[] = []
  for (const side of BOOK_SIDES) {
    for (const { price, amount } of book.levels(side, depth)) {
      hash.update(receiptRecord(side === 'bids' ? 'b' : 'a', price, amount))
      found.push({ price: fractionDigits(price), amount: fractionDigits(amount) })
    }
  }
  const hasDecimals = ({ price, amount }: Decimals) =>
    found.every((decimals) => decimals.price === price && decimals.amount === amount)
  return { sha256: hash.digest('base64url'), hasDecimals }
}

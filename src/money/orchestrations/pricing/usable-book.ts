/**
 * Checks whether prices may be made from a book, and computes its mid. A book that fails any check is not used. Pure.
 */
import type { PricingBook, PricingContext, PricingSettings } from './context.ts'

/** A book from which prices may be made: both sides have levels, and they do not cross. */
export interface UsableBook extends PricingBook {
  /** Best bid plus best ask: twice the mid, in the market's price units. */
  readonly doubleMid: bigint
}

/** The book, or the reason not to use it. */
export function usableBook(
  book: PricingBook | undefined,
  {
    settings,
    isSandbox,
  }: Pick<PricingContext, 'isSandbox'> & { readonly settings: Pick<PricingSettings, 'bookAgeSecondsMax'> },
): UsableBook | string {
  if (book === undefined) return 'there is no book'
  if (!book.isLive) return 'the book is not live'
  // When a clock was set back, an old book's age is small or negative, so a large negative age is also rejected.
  if (book.isSimulated && !isSandbox) return 'one of the book’s sources is a simulator or a recording'
  if (Math.abs(book.ageMilliseconds) > settings.bookAgeSecondsMax * 1000) {
    return `the book has not changed for more than ${settings.bookAgeSecondsMax} seconds`
  }
  const [bid] = book.bids
  const [ask] = book.asks
  if (bid === undefined || ask === undefined) return 'the book has no levels on one side'
  if (bid.price >= ask.price) return 'the book is crossed'
  if ([...book.bids, ...book.asks].some(({ price, amount }) => price <= 0n || amount <= 0n)) {
    return 'a book level has a price or an amount that is not above zero'
  }
  return { ...book, doubleMid: bid.price + ask.price }
}

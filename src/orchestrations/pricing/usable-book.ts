/**
 * Whether a book may set a price, and the middle of one that may. Pure; whatever is in doubt is a reason not to use it.
 */
import type { PricingBook, PricingContext } from './context.ts'

/** A book that may set a price: both sides have levels, and they do not cross. */
export interface UsableBook extends PricingBook {
  /** Best bid plus best ask: twice the mid, in units of the market's prices. */
  readonly doubleMid: bigint
}

/** The book, or why it must not be used. */
export function usableBook(
  book: PricingBook | undefined,
  { settings, isSandbox }: Pick<PricingContext, 'settings' | 'isSandbox'>,
): UsableBook | string {
  if (book === undefined) return 'there is no book'
  if (!book.isLive) return 'the book is not live'
  if (book.isSimulated && !isSandbox) return 'the book has a simulator or a recording among its sources'
  // A clock that was set back makes an old book look young, so a distance in either direction counts.
  if (Math.abs(book.ageMilliseconds) > settings.bookAgeSecondsMax * 1000) {
    return `the book has not changed for more than ${settings.bookAgeSecondsMax} seconds`
  }
  const [bid] = book.bids
  const [ask] = book.asks
  if (bid === undefined || ask === undefined) return 'the book has no levels on one side'
  if (bid.price >= ask.price) return 'the book is crossed'
  if ([...book.bids, ...book.asks].some(({ price, amount }) => price <= 0n || amount <= 0n)) {
    return 'the book has a level that is not above zero'
  }
  return { ...book, doubleMid: bid.price + ask.price }
}

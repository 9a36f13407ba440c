/** One level of a book: exact decimal text. */
export interface Level {
  readonly price: string
  readonly amount: string
}

/** A book's level: exact decimal text. */
export interface Level {
  readonly price: string
  readonly amount: string
}

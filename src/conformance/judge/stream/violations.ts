/** The rules which `verify` checks, by the names in its report. Pure. */
export const VIOLATIONS = {
  'message-malformed': 'every message is one JSON object as text',
  'message-unknown': 'a message is a reply to a request or a channel’s data',
  'channel-unknown': 'data is sent only on the four channels',
  'request-refused': 'a valid request succeeds',
  'field-missing': 'every payload field is present and has its type',
  'not-subscribed': 'a channel’s data is sent only after its subscription was acknowledged',
  'after-unsubscribe': 'no channel data is sent after its unsubscription was acknowledged',
  'update-before-snapshot': 'a subscription’s first book message is a SNAPSHOT',
  'snapshot-missing': 'a SNAPSHOT arrives while the check runs, else nothing was checked',
  'time-form':
    'times are UTC with Z, three fraction digits for the book and executions, nine for top of book and heartbeat',
  'time-order': 'every book message is strictly later than the previous one, and so is every top of book',
  'number-form': 'numbers are text: digits and a point, no sign, no exponent, no leading zero',
  'decimals-changed': 'a market’s prices all have the same number of decimals, and so do its amounts',
  'zero-amount': 'no amount is zero, except exactly "0" in an UPDATE, which removes the level',
  'crossed-book': 'after every message the best bid is below the best ask',
  'update-empty': 'an UPDATE contains at least one level',
  'price-repeated': 'a message contains a price at most once per side',
  'side-unsorted': 'bids descend, asks ascend',
  'unknown-level-removed': 'only a level the client has is removed',
  'amount-unchanged': 'only a level whose amount differs is sent',
  'top-levels': 'a top of book has at most one level per side',
  'top-not-best': 'a top of book equals the book’s best when it arrives',
  'top-unchanged': 'a top of book is sent only when its price or amount changed',
  'top-overdue': 'a top of book follows soon after the book’s best changed',
  'execution-malformed':
    'an execution has market, price, a positive amount and executed_at (in tidegate.v1 also id and venue), in their forms',
  'heartbeat-late': 'heartbeats are sent at their interval',
  'message-missing': 'with --save or --rest: each message names the cursor of the one before it',
  'heartbeat-differs': 'with --save or --rest: a heartbeat has the cursor and the digest of each book',
  'rest-malformed': 'with --rest: an answer has its documented members',
  'rest-book-differs':
    'with --rest: a book equals the stream’s at the same cursor or time in levels, digest and time, and is not old',
  'rest-entity-tag': 'with --rest: a book has a strong entity tag, with which an unchanged one is answered 304',
  'rest-trade-differs': 'with --rest: trades equal the executions with their cursors, and none is missing',
  'rest-candle-differs': 'with --rest: a closed, complete minute’s candle equals the one made from its executions',
  'rest-not-compared': 'with --rest: a book is compared while the check runs, else nothing was checked',
} as const

export type ViolationName = keyof typeof VIOLATIONS

export interface Violation {
  readonly name: ViolationName
  /** Absent when the violation belongs to no market. */
  readonly market?: string
  readonly detail: string
  /** Time of arrival, on the clock of the checker's caller. */
  readonly receivedAtMilliseconds: number
}

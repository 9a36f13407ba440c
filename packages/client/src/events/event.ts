/** A customer's events, and the error when they are no longer kept. */
import { TidegateError } from '../errors.ts'
import type { Item } from '../rest/operations.ts'

export type CustomerEvent = Item<'/v2/events'>

export interface EventOptions {
  /** The last processed sequence. Without it, events follow from now on. */
  readonly after?: number
  /** Ends the loop with its reason. */
  readonly signal?: AbortSignal
}

/**
 * The events after the given sequence are no longer kept. Read your objects again, then continue after
 * `oldestSequence - 1`.
 */
export class EventsExpired extends TidegateError {
  override name = 'EventsExpired'
  readonly oldestSequence: number

  constructor(oldestSequence: number) {
    super('EVENTS_EXPIRED', `the oldest event kept has the sequence ${oldestSequence}: read your objects again`)
    this.oldestSequence = oldestSequence
  }
}

export function checkAfter(after: number | undefined): void {
  if (after === undefined || (Number.isSafeInteger(after) && after >= 0)) return
  throw new TidegateError('INVALID_ARGUMENT', `after is ${after}: it must be a sequence, a whole number from 0 on`)
}

/**
 * Unanswered requests, for a connection whose answers contain only the request id. The oldest are dropped when there
 * are too many. Pure.
 */

export interface VenueRequest {
  readonly action: 'subscribe' | 'unsubscribe'
  readonly channel: 'book' | 'trades'
  readonly symbols: readonly string[]
}

/** Unanswered requests to keep. */
const UNANSWERED_MAX = 1_000

export class VenueRequests {
  readonly #unanswered = new Map<unknown, VenueRequest>()

  add(id: number | string, request: VenueRequest): void {
    this.#unanswered.set(id, request)
    if (this.#unanswered.size > UNANSWERED_MAX) this.take(this.#unanswered.keys().next().value)
  }

  /** Returns the request with this id once, and forgets it. */
  take(id: unknown): VenueRequest | undefined {
    const request = this.#unanswered.get(id)
    this.#unanswered.delete(id)
    return request
  }
}

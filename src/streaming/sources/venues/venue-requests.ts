/**
 * The requests of a connection whose answers contain only their id, until they are answered. The oldest are dropped when
 * too many are not answered. Pure.
 */

export interface VenueRequest {
  readonly action: 'subscribe' | 'unsubscribe'
  readonly channel: 'book' | 'trades'
  readonly symbols: readonly string[]
}

/** Unanswered requests that are kept. */
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

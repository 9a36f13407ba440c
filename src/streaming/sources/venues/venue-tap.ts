/**
 * What a raw recording listens to: everything that a connector receives from its venue, as text and before it is parsed, and
 * the requests that it sends. A tap must not throw and must not block.
 */
export interface VenueTap {
  /** A WebSocket was opened; connections of a feed are numbered 1, 2, 3 … */
  opened(connection: number): void
  /** A request was sent. Keep-alives are not reported: they depend on the time. */
  sent(connection: number, text: string): void
  received(connection: number, text: string): void
  /** The connection, or the attempt to connect, has ended. */
  closed(connection: number, reason: string): void
  /** An HTTP request was answered. `url` is complete. */
  answered(url: string, answer: HttpText): void
}

/** The body of an answer with status 200, or why there is none, with the wait that the venue demanded. */
export type HttpText =
  | { readonly value: string }
  | { readonly problem: string; readonly retryAfterMilliseconds?: number | undefined }

/** Creates the tap of a feed. */
export type CreateTap = (feed: string, restUrl: string) => VenueTap

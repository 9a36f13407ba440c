/** What all connections of a node share: the limits each of them has, and the beat that the plain ones get. */
import type { Instant } from '../base/clock.ts'

/** Limits of one connection; the settings `stream.*` of the same names. */
export interface SessionLimits {
  readonly outboxBytesMax: number
  readonly inboundPerSecond: number
  readonly inboundBurst: number
  readonly subscriptionsMax: number
  /** Whether an expired token ends its connection (`stream.token_expiry` = close). */
  readonly closesExpired: boolean
}

/** One beat of the heartbeat: its instant, and the frame that all connections of the plain wire share. */
export interface Beat {
  readonly instant: Instant
  readonly frame: Buffer
}

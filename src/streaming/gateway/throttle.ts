/**
 * Throttling, by the extended protocol's params and by plans: one market's throttled subscriptions (`Throttle`), and the interval ends for all
 * markets (`Ticker`). At the end of an interval, all subscriptions that were sent the preceding message share the next
 * one. Any other becomes due, and catch-up sends it its own. Between intervals only the last message's position is
 * kept: the view's journal has the rest.
 */
import { EXTENDED_INTERVALS } from '../../contract/channels.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { NONE } from '../sequencing/view-feed.ts'
import type { Outbox } from './outbox.ts'
import type { ChannelState, MarketChannel, MarketSubscription, ThrottleGroup } from './subscription.ts'

export class Throttle {
  #groups: ThrottleGroup[] = []

  get isEmpty(): boolean {
    return this.#groups.length === 0
  }

  add(subscription: MarketSubscription, channel: MarketChannel, intervalMilliseconds: number): void {
    const view = channel.groupView?.(subscription)
    let group = this.#groups.find(
      (other) =>
        other.channel === channel &&
        other.view === view &&
        other.encoding === subscription.encoding &&
        other.intervalMilliseconds === intervalMilliseconds,
    )
    if (group === undefined) {
      const { encoding } = subscription
      group = { channel, view, encoding, intervalMilliseconds, subscriptions: new Set(), position: NONE, cursor: NONE }
      channel.conflate?.(group)
      this.#groups.push(group)
    }
    group.subscriptions.add(subscription)
  }

  remove(subscription: MarketSubscription, channel: MarketChannel): void {
    for (const group of this.#groups) if (group.channel === channel) group.subscriptions.delete(subscription)
    this.#groups = this.#groups.filter(({ subscriptions }) => subscriptions.size > 0)
  }

  /** Sends the changes in these intervals (milliseconds), in the market's channel order. */
  fanOut(intervals: ReadonlySet<number>, channels: readonly MarketChannel[], outboxes: Outbox[]): void {
    for (const channel of channels) {
      for (const group of this.#groups) {
        if (group.channel === channel && intervals.has(group.intervalMilliseconds)) this.#fanOutGroup(group, outboxes)
      }
    }
  }

  #fanOutGroup(group: ThrottleGroup, outboxes: Outbox[]): void {
    const { channel, view, cursor: prevCursor } = group
    const chunk = channel.conflate?.(group)
    if (chunk === undefined || chunk === 'unchanged') return
    for (const subscription of group.subscriptions) {
      const { subscriber, outbox, generation, delivered, heldView } = subscription
      const state = subscription.states[channel.place] as ChannelState
      // A cursor in another view says nothing about this one.
      const isOfView = view === undefined || heldView === undefined
      if (isOfView && state.cursor === group.cursor) continue
      const isDelivered = generation === outbox.generation && (delivered & channel.bit) !== 0
      const isCurrent = isOfView && !outbox.isBlocked && isDelivered
      if (isCurrent && chunk !== 'by-catch-up' && state.cursor === prevCursor) {
        state.position = group.position
        state.cursor = group.cursor
        state.usage.count(chunk.messageCount, chunk.byteCount)
        if (outbox.add(chunk)) outboxes.push(outbox)
      } else {
        state.isDue = true
        if (!outbox.isBlocked) subscriber.owe(subscription)
      }
    }
  }
}

const GRID_MILLISECONDS = Math.min(...EXTENDED_INTERVALS)

/**
 * Reports the ends of throttle intervals. All intervals are on one grid on the monotonic clock, so that all
 * subscriptions with the same interval share one message, and every second 50 ms end is also a 100 ms end. After a
 * stall, an interval that ended several times is reported once. It runs only while it is needed.
 */
export class Ticker {
  readonly #clock: Clock
  readonly #onEnds: (intervals: ReadonlySet<number>) => boolean
  #timer: Timer | undefined
  #lastMilliseconds = 0

  /** `onEnds` gets the ended intervals (milliseconds) and returns whether the ticker is still needed. */
  constructor(clock: Clock, onEnds: (intervals: ReadonlySet<number>) => boolean) {
    this.#clock = clock
    this.#onEnds = onEnds
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.#lastMilliseconds = this.#clock.monotonicMilliseconds()
    this.#scheduleNext()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #scheduleNext(): void {
    const next = (Math.floor(this.#lastMilliseconds / GRID_MILLISECONDS) + 1) * GRID_MILLISECONDS
    this.#timer = this.#clock.schedule(next - this.#clock.monotonicMilliseconds(), () => this.#report())
  }

  #report(): void {
    this.#timer = undefined
    const last = this.#lastMilliseconds
    const now = Math.max(last, this.#clock.monotonicMilliseconds())
    this.#lastMilliseconds = now
    const ended = EXTENDED_INTERVALS.filter((interval) => Math.floor(now / interval) > Math.floor(last / interval))
    if (ended.length === 0 || this.#onEnds(new Set(ended))) this.#scheduleNext()
  }
}

/**
 * The throttled subscriptions of one market. At the end of an interval all subscriptions that were sent the message of
 * the last one share the next; any other becomes due and is sent its own by catch-up. Between intervals nothing is done
 * or kept but the position of the last message: the journal of the view has the rest.
 */
import { NONE } from '../channel/view-feed.ts'
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
        other.channel === channel && other.view === view && other.intervalMilliseconds === intervalMilliseconds,
    )
    if (group === undefined) {
      group = { channel, view, intervalMilliseconds, subscriptions: new Set(), position: NONE, cursor: NONE }
      channel.conflate?.(group)
      this.#groups.push(group)
    }
    group.subscriptions.add(subscription)
  }

  remove(subscription: MarketSubscription, channel: MarketChannel): void {
    for (const group of this.#groups) if (group.channel === channel) group.subscriptions.delete(subscription)
    this.#groups = this.#groups.filter(({ subscriptions }) => subscriptions.size > 0)
  }

  /** Sends what changed in these intervals (milliseconds), in the order of the market's channels. */
  fanOut(intervals: ReadonlySet<number>, channels: readonly MarketChannel[], outboxes: Outbox[]): void {
    for (const channel of channels) {
      for (const group of this.#groups) {
        if (group.channel === channel && intervals.has(group.intervalMilliseconds)) this.#fanOutGroup(group, outboxes)
      }
    }
  }

  #fanOutGroup(group: ThrottleGroup, outboxes: Outbox[]): void {
    const { channel, cursor: prevCursor } = group
    const chunk = channel.conflate?.(group)
    if (chunk === undefined || chunk === 'unchanged') return
    for (const subscription of group.subscriptions) {
      const { subscriber, outbox, generation, delivered } = subscription
      const state = subscription.states[channel.place] as ChannelState
      if (state.cursor === group.cursor) continue
      const isCurrent = !outbox.isBlocked && generation === outbox.generation && (delivered & channel.bit) !== 0
      if (isCurrent && chunk !== 'by-catch-up' && state.cursor === prevCursor) {
        state.position = group.position
        state.cursor = group.cursor
        if (outbox.add(chunk)) outboxes.push(outbox)
      } else {
        state.isDue = true
        if (!outbox.isBlocked) subscriber.owe(subscription)
      }
    }
  }
}

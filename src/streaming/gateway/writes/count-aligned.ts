/** Counts what aligned subscriptions were sent up to now. They stay aligned. */
import type { Clock } from '../../../platform/base/clock.ts'
import { tickEnd } from '../../../platform/base/time-limit.ts'
import type { MarketStream } from '../market-stream.ts'

/** Subscriptions visited per tick. */
const SUBSCRIPTIONS_PER_TICK = 2_000

export async function countAligned(markets: Iterable<MarketStream>, clock: Clock): Promise<void> {
  let visited = 0
  for (const market of [...markets]) {
    const { subscriptions } = market
    // Backwards: a removed subscription's place is taken by the last one, which was visited before.
    for (let place = subscriptions.length - 1; place >= 0; place--) {
      const subscription = subscriptions[place]
      if (subscription !== undefined) market.count(subscription)
      if (++visited % SUBSCRIPTIONS_PER_TICK === 0) await tickEnd(clock)
    }
  }
}

/**
 * The bus within one process: publishing calls every listener for the market, in subscription order. A listener that
 * throws crashes the process, because a replica without a commit would have a wrong book.
 */
import type { Bus, MarketListener, OnRequestCommit } from './bus.ts'

export function createMemoryBus(): Bus {
  const listeners = new Map<string, MarketListener[]>()
  const sequencers = new Map<string, OnRequestCommit>()
  return {
    publish(message) {
      for (const listener of listeners.get(message.market) ?? []) listener(message)
    },
    subscribe(market, listener) {
      listeners.set(market, [...(listeners.get(market) ?? []), listener])
      return () => {
        listeners.set(
          market,
          (listeners.get(market) ?? []).filter((other) => other !== listener),
        )
      }
    },
    requestCommit(market, laterThanMilliseconds) {
      const onRequestCommit = sequencers.get(market)
      onRequestCommit?.(laterThanMilliseconds)
      return onRequestCommit !== undefined
    },
    serve(market, onRequestCommit) {
      sequencers.set(market, onRequestCommit)
      return () => {
        // The next sequencer may have registered before the last one ended.
        if (sequencers.get(market) === onRequestCommit) sequencers.delete(market)
      }
    },
  }
}

/**
 * The bus of one process: publishing is calling every listener of the market, in the order they came. A listener that
 * throws crashes the process: a reader that missed a commit would serve a wrong book.
 */
import type { Bus, MarketListener } from './bus.ts'

export function createMemoryBus(): Bus {
  const listeners = new Map<string, MarketListener[]>()
  const writers = new Map<string, () => void>()
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
    requestCommit(market) {
      const writer = writers.get(market)
      writer?.()
      return writer !== undefined
    },
    serve(market, onRequestCommit) {
      writers.set(market, onRequestCommit)
      return () => {
        // The next writer may have come before the last one went.
        if (writers.get(market) === onRequestCommit) writers.delete(market)
      }
    },
  }
}

/** The time from a market's data to its last write, for the metric and for traces. */
import type { Clock } from '../../platform/base/clock.ts'
import { type TracedUpdate, updateTracer } from '../../platform/base/tracing.ts'
import type { MarketStream } from './market-stream.ts'
import type { GatewayMetrics } from './metrics.ts'

type Delivery = Omit<TracedUpdate, 'writtenMilliseconds'>

export class DeliveryTimes {
  readonly #clock: Clock
  readonly #metrics: Pick<GatewayMetrics, 'deliverySeconds'>
  /** Undefined unless the operator has registered an SDK for traces. */
  readonly #traceUpdate = updateTracer()
  /** When this tick's first commit reached each market; only while updates are traced. */
  readonly #arrivals = new Map<MarketStream, number>()
  /** What was fanned out since the last write. */
  #deliveries: Delivery[] = []

  constructor(clock: Clock, metrics: Pick<GatewayMetrics, 'deliverySeconds'>) {
    this.#clock = clock
    this.#metrics = metrics
  }

  /** The tick's first commit has reached a market. */
  arrived(market: MarketStream): void {
    if (this.#traceUpdate !== undefined) this.#arrivals.set(market, this.#wallMilliseconds())
  }

  /** The tick's frames were fanned out from these markets. */
  fannedOut(markets: readonly MarketStream[]): void {
    for (const market of markets) this.#deliveries.push(this.#deliveryOf(market))
  }

  endTick(): void {
    this.#arrivals.clear()
  }

  /** The outboxes were written. */
  written(): void {
    if (this.#deliveries.length === 0) return
    const writtenMilliseconds = this.#wallMilliseconds()
    for (const delivery of this.#deliveries) {
      const seconds = Math.max(0, writtenMilliseconds - delivery.receivedMilliseconds) / 1000
      this.#metrics.deliverySeconds.observe(seconds)
      this.#traceUpdate?.({ ...delivery, writtenMilliseconds })
    }
    this.#deliveries = []
  }

  #deliveryOf(market: MarketStream): Delivery {
    const { receivedMilliseconds, instant } = market.replica
    const committedMilliseconds = instant.milliseconds
    const arrivedMilliseconds = this.#arrivals.get(market) ?? committedMilliseconds
    return { market: market.symbol, receivedMilliseconds, committedMilliseconds, arrivedMilliseconds }
  }

  #wallMilliseconds(): number {
    const { milliseconds, nanoseconds } = this.#clock.wallInstant()
    return milliseconds + nanoseconds / 1_000_000
  }
}

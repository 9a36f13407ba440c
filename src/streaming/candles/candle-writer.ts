/**
 * Writes the candles of the markets that this process writes: once a second, in one transaction, only what has changed. A
 * store that does not answer changes nothing here: the changes are kept and written later, up to `WAITING_BARS_MAX` bars per
 * market. Beyond them they are dropped, and a gap is recorded when the store answers again. Which writes count is decided
 * by the store (`candle-table`).
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Counter, Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { CandleCounter, WAITING_BARS_MAX, type WrittenMarket } from './candle-counter.ts'
import { claimCandles, writeCandles } from './candle-table.ts'

const WRITE_MILLISECONDS = 1_000
/** Markets per transaction. */
const MARKETS_MAX = 200

export interface CandleWriterOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** The markets that this process writes now. */
  written(): readonly WrittenMarket[]
}

export class CandleWriter {
  readonly #options: CandleWriterOptions
  /** By symbol. */
  readonly #counters = new Map<string, CandleCounter>()
  readonly #failures: Counter
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #isFailing = false
  #isStopped = false

  /** Begins at once. The store has its schema. */
  constructor(options: CandleWriterOptions) {
    this.#options = options
    const { metrics } = options
    this.#failures = new Counter({
      name: 'tidegate_candle_write_failures_total',
      help: 'Writes of candles that the store did not answer. They are repeated',
      registers: [metrics],
    })
    const waitingBars = () => [...this.#counters.values()].reduce((sum, counter) => sum + counter.waitingBars, 0)
    new Gauge({
      name: 'tidegate_candle_waiting_bars',
      help: 'Bars with executions that are not stored yet',
      registers: [metrics],
      collect() {
        this.set(waitingBars())
      },
    })
    this.#schedule(0)
  }

  /** Writes what the sequencers have committed, and ends. They have stopped, and the leases are still held. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#running
    await this.#run()
    for (const counter of this.#counters.values()) counter.end()
  }

  /** Resolves when the run under way has ended. */
  async settled(): Promise<void> {
    await this.#running
  }

  #schedule(milliseconds: number): void {
    if (this.#isStopped) return
    this.#timer = this.#options.clock.schedule(milliseconds, () => {
      this.#running = this.#run().finally(() => this.#schedule(WRITE_MILLISECONDS))
    })
  }

  async #run(): Promise<void> {
    const { log } = this.#options
    try {
      this.#follow()
      await this.#claim()
      await this.#write()
      this.#isFailing = false
    } catch (error) {
      this.#failures.inc()
      if (!this.#isFailing) log.warn({ err: error }, 'candles could not be written. They are kept and written later')
      this.#isFailing = true
      this.#bound()
    }
  }

  /** Counts the markets that are written now. */
  #follow(): void {
    const written = new Map(this.#options.written().map((market) => [market.replica.market.symbol, market]))
    for (const [symbol, counter] of this.#counters) {
      const now = written.get(symbol)
      if (now?.replica === counter.written.replica && now.epoch === counter.written.epoch) continue
      counter.end()
      this.#counters.delete(symbol)
    }
    for (const [symbol, market] of written) {
      if (!this.#counters.has(symbol)) this.#counters.set(symbol, new CandleCounter(market))
    }
  }

  async #claim(): Promise<void> {
    const wanted = [...this.#counters.values()].filter(({ wantsClaim }) => wantsClaim)
    if (wanted.length === 0) return
    const claims = wanted.map(({ symbol, written }) => ({ market: symbol, leaseEpoch: written.leaseEpoch }))
    const claimed = await claimCandles(this.#options.db, claims)
    for (const counter of wanted) {
      const claim = claimed.get(counter.symbol)
      if (claim !== undefined) counter.claimed(claim)
    }
  }

  async #write(): Promise<void> {
    const { db, log } = this.#options
    const changed = [...this.#counters.values()].flatMap((counter) => {
      const batch = counter.batch()
      return batch === undefined ? [] : [{ counter, batch }]
    })
    for (let first = 0; first < changed.length; first += MARKETS_MAX) {
      const some = changed.slice(first, first + MARKETS_MAX)
      const batches = some.map(({ batch }) => batch)
      const stored = await writeCandles(db, batches)
      for (const { counter, batch } of some) {
        if (stored.has(counter.symbol)) {
          counter.stored(batch)
        } else {
          log.warn({ market: counter.symbol }, 'another process has written the market’s candles')
          counter.startOver()
        }
      }
    }
  }

  #bound(): void {
    for (const counter of this.#counters.values()) {
      if (counter.waitingBars <= WAITING_BARS_MAX) continue
      this.#options.log.error(
        { market: counter.symbol },
        'candles were dropped: the store has not answered for too long',
      )
      counter.startOver()
    }
  }
}

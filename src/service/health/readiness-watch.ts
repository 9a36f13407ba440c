/**
 * Decides over time whether this node is ready. Until it is ready for the first time, every gate counts as it is. From
 * then on a failing gate counts after 2 s, and a passing one after 5 s, so a short fault takes no node out of a load
 * balancer. Draining counts at once. The gates are read twice a second, so a fault counts up
 * to half a second later.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Readiness, ReadinessRow } from './readiness.ts'

const READ_MILLISECONDS = 500
const DOWN_MILLISECONDS = 2_000
const UP_MILLISECONDS = 5_000

interface Gate {
  /** Whether it counts as passed. */
  isOpen: boolean
  /** Since when its reading differs from what counts. Undefined while both are equal. */
  sinceMilliseconds: number | undefined
}

export interface ReadinessWatchOptions {
  readonly clock: Clock
  readonly rows: () => readonly ReadinessRow[]
}

export class ReadinessWatch {
  readonly #options: ReadinessWatchOptions
  /** By name. A new gate is open. */
  readonly #gates = new Map<string, Gate>()
  #wasReady = false
  #timer: Timer

  constructor(options: ReadinessWatchOptions) {
    this.#options = options
    this.#timer = this.#schedule()
  }

  get current(): Readiness {
    const rows = this.#options.rows()
    const closed = new Set(rows.filter((row) => !this.#isOpen(row)).map(({ name }) => name))
    this.#wasReady ||= closed.size === 0
    const waits = 'passes again, for less than 5 seconds'
    const checks = rows.map(({ name, ok, detail }) =>
      ok && closed.has(name) ? { name, ok: false, detail: waits } : { name, ok, detail },
    )
    return { ready: closed.size === 0, checks }
  }

  stop(): void {
    this.#timer.cancel()
  }

  #schedule(): Timer {
    return this.#options.clock.schedule(READ_MILLISECONDS, () => {
      this.#timer = this.#schedule()
      void this.current
    })
  }

  #isOpen({ name, ok, gate }: ReadinessRow): boolean {
    const passes = ok || gate === 'none'
    if (!this.#wasReady || gate === 'immediate') return passes
    const state = this.#gates.get(name) ?? { isOpen: true, sinceMilliseconds: undefined }
    this.#gates.set(name, state)
    if (passes === state.isOpen) {
      state.sinceMilliseconds = undefined
      return passes
    }
    const now = this.#options.clock.monotonicMilliseconds()
    state.sinceMilliseconds ??= now
    if (now - state.sinceMilliseconds >= (passes ? UP_MILLISECONDS : DOWN_MILLISECONDS)) {
      state.isOpen = passes
      state.sinceMilliseconds = undefined
    }
    return state.isOpen
  }
}

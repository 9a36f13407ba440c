/**
 * What the feeds' heartbeats report about every configured market, once a second. It stands for the state of markets
 * that this process does not follow.
 */
import type { Clock } from '../../platform/base/clock.ts'
import type { MarketDefinition } from '../market/event.ts'
import type { Heartbeat } from './bus-codec.ts'
import { hasScale } from './bus-export.ts'
import { CONTACT_MILLISECONDS_MAX, NO_CONTACT } from './follower.ts'

export interface MarketReport {
  readonly live: boolean
  /** Why it is not live. */
  readonly reason: string
  /** Whether it has been live since this process started. */
  readonly hasBeenLive: boolean
  /** When `live` changed last: wall clock, milliseconds. */
  readonly sinceMilliseconds: number
}

interface Heard extends MarketReport {
  readonly epoch: string
  /** By the monotonic clock. */
  heardMilliseconds: number
}

export class MarketReports {
  readonly #clock: Clock
  readonly #definitionOf: (market: string) => MarketDefinition | undefined
  readonly #heard = new Map<string, Heard>()
  readonly #startMilliseconds: number

  /** @param definitionOf a configured market's definition */
  constructor(clock: Clock, definitionOf: (market: string) => MarketDefinition | undefined) {
    this.#clock = clock
    this.#definitionOf = definitionOf
    this.#startMilliseconds = clock.wallInstant().milliseconds
  }

  note(heartbeat: Heartbeat): void {
    const { market, epoch, live, reason } = heartbeat
    const definition = this.#definitionOf(market)
    if (definition === undefined || !hasScale(definition, heartbeat)) return
    const known = this.#heard.get(market)
    if (known !== undefined && epoch < known.epoch) return
    const heardMilliseconds = this.#clock.monotonicMilliseconds()
    if (known !== undefined && known.epoch === epoch && known.live === live && known.reason === reason) {
      known.heardMilliseconds = heardMilliseconds
      return
    }
    const sinceMilliseconds = known?.live === live ? known.sinceMilliseconds : this.#clock.wallInstant().milliseconds
    const hasBeenLive = live || known?.hasBeenLive === true
    this.#heard.set(market, { epoch, live, reason, hasBeenLive, sinceMilliseconds, heardMilliseconds })
  }

  of(market: string): MarketReport {
    const heard = this.#heard.get(market)
    const report = heard ?? { hasBeenLive: false, sinceMilliseconds: this.#startMilliseconds }
    const silent = this.#clock.monotonicMilliseconds() - (heard?.heardMilliseconds ?? Number.NEGATIVE_INFINITY)
    if (heard !== undefined && silent <= CONTACT_MILLISECONDS_MAX) return heard
    const lostMilliseconds = this.#clock.wallInstant().milliseconds - silent
    return {
      live: false,
      reason: NO_CONTACT,
      hasBeenLive: report.hasBeenLive,
      sinceMilliseconds: heard?.live === true ? lostMilliseconds : report.sinceMilliseconds,
    }
  }

  /** The epoch reported last. Undefined before the first report. */
  epochOf(market: string): string | undefined {
    return this.#heard.get(market)?.epoch
  }

  forget(market: string): void {
    this.#heard.delete(market)
  }
}

/**
 * Runs the scenarios of `tidegate check-publisher` one after another and collects what each of them finds: every broken
 * rule by name, with its first messages. It opens nothing itself.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { type CheckedMarket, PublishedMarket } from './published-market.ts'
import { isWarning, PUBLISHER_RULES, type PublisherRuleName, type ReportBroken } from './rules.ts'

/** Times of a check, in milliseconds. */
export interface CheckTimes {
  /** How long messages are only observed. */
  readonly observe: number
  /** Longest wait for an answer, a SNAPSHOT or a pong. */
  readonly answer: number
  /** How long nothing is read, or nothing acknowledged. */
  readonly stall: number
  /** Longest time between two heartbeats. */
  readonly heartbeat: number
  /** Longest wait for an engine that connects, at first and again. */
  readonly connect: number
}

export interface CheckOptions {
  readonly markets: readonly CheckedMarket[]
  readonly times: CheckTimes
  readonly clock: Clock
  /** Unsent bytes that a publisher may keep for a peer that does not read. */
  readonly backlogBytesMax: number
  /** Levels, or orders, that the book of a market may have. */
  readonly bookEntriesMax: number
  /** Restarts the publisher; absent: that is not checked. */
  readonly restart: (() => Promise<void>) | undefined
  /** Called with every scenario that begins and every result. */
  readonly onProgress: (scenario: string, result: ScenarioResult | undefined) => void
}

/** A rule that was found broken. */
export interface Finding {
  readonly name: PublisherRuleName
  readonly isWarning: boolean
  /** What is expected, and the section of the page that requires it. */
  readonly expected: string
  readonly section: string
  count: number
  /** The first ones. */
  readonly examples: { readonly market?: string; readonly detail: string; readonly message?: string }[]
}

export interface ScenarioResult {
  readonly name: string
  readonly outcome: 'right' | 'warning' | 'wrong' | 'skipped'
  /** Why it was skipped, or what was seen. */
  readonly note?: string
  readonly findings: readonly Finding[]
}

/** One scenario; a returned text is the note of its result. */
export interface Scenario<Driver> {
  readonly name: string
  readonly plays: string
  readonly expects: string
  readonly play: (driver: Driver) => Promise<string | undefined>
}

/** What scenarios are written with. */
export interface ScenarioDriver {
  /** Why no further scenario can show anything; undefined otherwise. */
  readonly hopeless: string | undefined
  /** Ends a scenario. */
  afterEach(): Promise<void>
}

/** A scenario does not apply, for a reason that is shown. */
export class Skipped extends Error {
  override name = 'Skipped'
}

/** A broken rule was reported after which the scenario cannot continue. */
export class Stopped extends Error {
  override name = 'Stopped'
}

const EXAMPLES_KEPT = 3
const MESSAGE_CHARACTERS_MAX = 400

export class CheckRun {
  readonly options: CheckOptions
  readonly markets: ReadonlyMap<string, PublishedMarket>
  readonly #waiting = new Set<() => void>()
  #findings = new Map<PublisherRuleName, Finding>()
  #isStopped = false

  constructor(options: CheckOptions) {
    this.options = options
    this.markets = new Map(
      options.markets.map((market) => [
        market.symbol,
        new PublishedMarket(market, options.bookEntriesMax, this.report),
      ]),
    )
  }

  get now(): number {
    return this.options.clock.monotonicMilliseconds()
  }

  readonly report: ReportBroken = (name, market, detail, text) => {
    const { rule: expected, section } = PUBLISHER_RULES[name]
    const finding = this.#findings.get(name) ?? {
      name,
      isWarning: isWarning(name),
      expected,
      section,
      count: 0,
      examples: [],
    }
    this.#findings.set(name, finding)
    finding.count++
    if (finding.examples.length >= EXAMPLES_KEPT) return
    const message = text === undefined ? {} : { message: excerpt(text) }
    finding.examples.push({ ...(market === undefined ? {} : { market }), detail, ...message })
  }

  /** Reports a broken rule after which the scenario cannot continue. */
  fail(name: PublisherRuleName, market: string | undefined, detail: string): never {
    this.report(name, market, detail)
    throw new Stopped(detail)
  }

  /** Ends the check: waits end at once, and no scenario begins. */
  stop(): void {
    this.#isStopped = true
    this.notify()
  }

  /** To be called after everything that may end a wait. */
  notify(): void {
    for (const check of [...this.#waiting]) check()
  }

  /** Waits until `predicate` holds; false when it does not within the time. */
  until(predicate: () => boolean, milliseconds: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        this.#waiting.delete(check)
        timer.cancel()
        settle()
      }
      const timer = this.options.clock.schedule(milliseconds, () => end(() => resolve(predicate())))
      const check = (): void => {
        if (this.#isStopped) end(() => reject(new Skipped('the check was stopped')))
        else if (predicate()) end(() => resolve(true))
      }
      this.#waiting.add(check)
      check()
    })
  }

  /** Lets the time pass. */
  async pass(milliseconds: number): Promise<void> {
    await this.until(() => false, milliseconds)
  }

  async play<Driver extends ScenarioDriver>(
    scenarios: readonly Scenario<Driver>[],
    driver: Driver,
  ): Promise<readonly ScenarioResult[]> {
    const results: ScenarioResult[] = []
    for (const { name, play } of scenarios) {
      if (this.#isStopped) break
      this.options.onProgress(name, undefined)
      this.#findings = new Map()
      const { hopeless } = driver
      const playing = hopeless === undefined ? play(driver) : Promise.reject(new Skipped(hopeless))
      const { note, isSkipped } = await this.#outcome(playing)
      await driver.afterEach()
      const result = this.#result(name, note, isSkipped)
      results.push(result)
      this.options.onProgress(name, result)
    }
    return results
  }

  async #outcome(playing: Promise<string | undefined>): Promise<{ note: string | undefined; isSkipped: boolean }> {
    try {
      return { note: await playing, isSkipped: false }
    } catch (error) {
      if (error instanceof Stopped) return { note: undefined, isSkipped: false }
      if (error instanceof Skipped) return { note: error.message, isSkipped: true }
      throw error
    }
  }

  #result(name: string, note: string | undefined, isSkipped: boolean): ScenarioResult {
    const findings = [...this.#findings.values()]
    const isWrong = findings.some((finding) => !finding.isWarning)
    const seen = findings.length > 0 ? 'warning' : isSkipped ? 'skipped' : 'right'
    return { name, outcome: isWrong ? 'wrong' : seen, ...(note === undefined ? {} : { note }), findings }
  }
}

function excerpt(text: string): string {
  return text.length > MESSAGE_CHARACTERS_MAX ? `${text.slice(0, MESSAGE_CHARACTERS_MAX)}…` : text
}

/**
 * One run of `tidegate check-publisher`: plays its scenarios and collects what each finds, every broken rule by name
 * with its first messages. It opens nothing itself.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { type Finding, Findings } from '../findings.ts'
import { Failed, type Outcome, runScenarios, Skipped, Waits } from '../harness.ts'
import { type CheckedMarket, PublishedMarket } from './published-market.ts'
import { isWarning, PUBLISHER_RULES, type PublisherRuleName, type ReportBroken } from './rules.ts'

/** A check's times, in milliseconds. */
export interface CheckTimes {
  /** How long messages are only observed. */
  readonly observe: number
  /** Longest wait for an answer, a SNAPSHOT or a pong. */
  readonly answer: number
  /** How long nothing is read, or nothing acknowledged. */
  readonly stall: number
  /** Longest time between two heartbeats. */
  readonly heartbeat: number
  /** Longest wait for the engine to connect, at first and again. */
  readonly connect: number
}

export interface CheckOptions {
  readonly markets: readonly CheckedMarket[]
  readonly times: CheckTimes
  readonly clock: Clock
  /** Unsent bytes a publisher may keep for a peer which does not read. */
  readonly backlogBytesMax: number
  /** Levels, or orders, in a market's book. */
  readonly bookEntriesMax: number
  /** Restarts the publisher. Absent: restarts are not checked. */
  readonly restart: (() => Promise<void>) | undefined
  /** Called at the beginning of every scenario, and with its result. */
  readonly onProgress: (scenario: string, result: ScenarioResult | undefined) => void
}

/** A broken rule. */
export interface BrokenRule extends Finding<PublisherRuleName, Example> {
  readonly isWarning: boolean
  /** What is expected, and the page's section which requires it. */
  readonly expected: string
  readonly section: string
}

interface Example {
  readonly market?: string
  readonly detail: string
  readonly message?: string
}

export interface ScenarioResult {
  readonly name: string
  readonly outcome: 'right' | 'warning' | 'wrong' | 'skipped'
  /** Why it was skipped, or what was seen. */
  readonly note?: string
  readonly findings: readonly BrokenRule[]
}

/** One scenario. A returned text is the note in its result. */
export interface Scenario<Driver> {
  readonly name: string
  readonly plays: string
  readonly expects: string
  readonly play: (driver: Driver) => Promise<string | undefined>
}

/** What the scenarios are written with: the stimulus. */
export interface ScenarioDriver {
  /** Why no further scenario can show anything. Undefined otherwise. */
  readonly hopeless: string | undefined
  /** Ends a scenario. */
  afterEach(): Promise<void>
}

const EXAMPLES_KEPT = 3
const MESSAGE_CHARACTERS_MAX = 400

export class CheckRun {
  readonly options: CheckOptions
  readonly markets: ReadonlyMap<string, PublishedMarket>
  readonly #waits: Waits
  #findings = newFindings()

  constructor(options: CheckOptions) {
    this.options = options
    this.#waits = new Waits(options.clock)
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
    this.#findings.add(name, () => {
      const message = text === undefined ? {} : { message: excerpt(text) }
      return { ...(market === undefined ? {} : { market }), detail, ...message }
    })
  }

  /** Reports a broken rule after which the scenario cannot continue. */
  fail(name: PublisherRuleName, market: string | undefined, detail: string): never {
    this.report(name, market, detail)
    throw new Failed(detail)
  }

  /** Ends the check: waits end at once, and no scenario begins. */
  stop(): void {
    this.#waits.stop(new Skipped('the check was stopped'))
  }

  /** To be called after any event which may end a wait. */
  notify(): void {
    this.#waits.notify()
  }

  /** Waits until `predicate` holds. False when it does not within the time. */
  until(predicate: () => boolean, milliseconds: number): Promise<boolean> {
    return this.#waits.until(predicate, milliseconds)
  }

  /** Lets the time pass. */
  async pass(milliseconds: number): Promise<void> {
    await this.until(() => false, milliseconds)
  }

  play<Driver extends ScenarioDriver>(
    scenarios: readonly Scenario<Driver>[],
    driver: Driver,
  ): Promise<readonly ScenarioResult[]> {
    const { clock, onProgress } = this.options
    return runScenarios<Scenario<Driver>, ScenarioResult>({
      scenarios,
      clock,
      play: async (scenario) => {
        const { hopeless } = driver
        if (hopeless !== undefined) throw new Skipped(hopeless)
        return await scenario.play(driver)
      },
      afterEach: () => driver.afterEach(),
      resultOf: ({ name }, outcome) => this.#result(name, outcome),
      onBegin: ({ name }) => {
        this.#findings = newFindings()
        onProgress(name, undefined)
      },
      onResult: ({ name }, result) => onProgress(name, result),
      isStopped: () => this.#waits.isStopped,
    })
  }

  #result(name: string, outcome: Outcome): ScenarioResult {
    const findings = this.#findings.all
    const isWrong = findings.some((finding) => !finding.isWarning)
    const seen = findings.length > 0 ? 'warning' : outcome.kind === 'skipped' ? 'skipped' : 'right'
    const note = outcome.kind === 'passed' ? outcome.note : outcome.kind === 'skipped' ? outcome.reason : undefined
    return { name, outcome: isWrong ? 'wrong' : seen, ...(note === undefined ? {} : { note }), findings }
  }
}

function newFindings(): Findings<BrokenRule> {
  return new Findings<BrokenRule>(EXAMPLES_KEPT, (name) => {
    const { rule: expected, section } = PUBLISHER_RULES[name]
    return { name, isWarning: isWarning(name), expected, section }
  })
}

function excerpt(text: string): string {
  return text.length > MESSAGE_CHARACTERS_MAX ? `${text.slice(0, MESSAGE_CHARACTERS_MAX)}…` : text
}

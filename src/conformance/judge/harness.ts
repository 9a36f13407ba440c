/**
 * The harness of all checks: plays scenarios one after another, and turns each into a result. The stimulus is passed
 * in, and so is the rule for a result. A failed or skipped scenario ends no other. The harness opens nothing itself.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'

/** A scenario does not apply to this program, for a reason that is shown. */
export class Skipped extends Error {
  override name = 'Skipped'
}

/** The program reacted wrongly, and the scenario cannot continue. */
export class Failed extends Error {
  override name = 'Failed'
}

export type Outcome =
  | { readonly kind: 'passed'; readonly note: string | undefined }
  | { readonly kind: 'failed'; readonly failure: Failed }
  | { readonly kind: 'skipped'; readonly reason: string }

/** A check's scenarios, and the stimulus to play them with. */
export interface Check<Scenario, Result> {
  readonly scenarios: readonly Scenario[]
  /** Throws `Skipped` or `Failed`. A returned text is a note on what was seen. */
  readonly play: (scenario: Scenario) => Promise<string | undefined>
  /** Ends a scenario, whatever its outcome. */
  readonly afterEach?: () => Promise<void> | void
  readonly resultOf: (scenario: Scenario, outcome: Outcome, milliseconds: number) => Result
  readonly onBegin?: (scenario: Scenario) => void
  readonly onResult?: (scenario: Scenario, result: Result) => void
  readonly isStopped?: () => boolean
  readonly clock: Clock
}

/** Plays all scenarios in their order, or those before the check is stopped. Any other error ends the check. */
export async function runScenarios<Scenario, Result>(check: Check<Scenario, Result>): Promise<readonly Result[]> {
  const { scenarios, play, afterEach, resultOf, onBegin, onResult, isStopped, clock } = check
  const results: Result[] = []
  for (const scenario of scenarios) {
    if (isStopped?.() === true) break
    onBegin?.(scenario)
    const start = clock.monotonicMilliseconds()
    let outcome: Outcome
    try {
      outcome = await outcomeOf(play(scenario))
    } finally {
      await afterEach?.()
    }
    const result = resultOf(scenario, outcome, clock.monotonicMilliseconds() - start)
    results.push(result)
    onResult?.(scenario, result)
  }
  return results
}

async function outcomeOf(playing: Promise<string | undefined>): Promise<Outcome> {
  try {
    return { kind: 'passed', note: await playing }
  } catch (error) {
    if (error instanceof Skipped) return { kind: 'skipped', reason: error.message }
    if (error instanceof Failed) return { kind: 'failed', failure: error }
    throw error
  }
}

/** Bounded waits for scenarios: each ends when its predicate holds, and all end when the check is stopped. */
export class Waits {
  readonly #clock: Clock
  readonly #waiting = new Set<() => void>()
  #stopped: Error | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isStopped(): boolean {
    return this.#stopped !== undefined
  }

  /** Ends every wait, now and later, with this error. */
  stop(error: Error): void {
    this.#stopped = error
    this.notify()
  }

  /** Must be called after any event which may end a wait. */
  notify(): void {
    for (const look of [...this.#waiting]) look()
  }

  /** Resolves to whether the predicate holds within the time. Rejects when the check was stopped. */
  until(predicate: () => boolean, milliseconds: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        timer.cancel()
        this.#waiting.delete(look)
        settle()
      }
      const look = (): void => {
        const stopped = this.#stopped
        if (stopped !== undefined) end(() => reject(stopped))
        else if (predicate()) end(() => resolve(true))
      }
      const timer: Timer = this.#clock.schedule(milliseconds, () => end(() => resolve(predicate())))
      this.#waiting.add(look)
      look()
    })
  }
}

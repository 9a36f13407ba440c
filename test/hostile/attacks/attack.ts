/**
 * An attack is bounded hostile traffic against one running service, with the conditions that must hold while it runs,
 * and its results. It checks what an outsider can observe (responses, counts, and the process's memory and CPU time)
 * and has no access to the service's internals. `runner.ts` decides how often it runs and next to which other customer.
 */
import type { Random } from '../../support/random.ts'
import { Stage } from './stage.ts'

/** `short`: small counts, for every test run. `full`: the security review's counts. */
export type Scale = 'short' | 'full'

export type Settings = Readonly<Record<string, string>>

export interface Attack {
  /** The name for `npm run attack -- NAME`. */
  readonly name: string
  /** The traffic, with its number at full scale. */
  readonly sent: string
  readonly holds: string
  /** Names of the cases, where the attack is a table of them. */
  readonly cases?: readonly string[]
  /** Settings that differ from the stage's, by configuration key. */
  readonly settings?: Settings | (() => Promise<Settings>)
  /** The service's log is not read. */
  readonly hasStalledLog?: boolean
  /**
   * `shared`: leaves the service as it was, and may run with others and repeatedly. `own`: needs its own service, and
   * may run repeatedly. `once`: runs once without a measured customer, because it stops or suspends the service, or
   * takes too long to measure.
   */
  readonly isolation: 'shared' | 'own' | 'once'
  /** Whether the short scale is part of every test run. */
  readonly isInTests: boolean
  /** Creates the records and addresses it needs. Runs once per service, before any measurement. */
  prepare?(run: AttackRun): Promise<void>
  run(run: AttackRun): Promise<Outcome>
}

export interface AttackRun {
  readonly stage: Stage
  readonly random: Random
  readonly scale: Scale
  /** 0 for the first run on a service, then 1 and so on. */
  readonly round: number
}

export interface Outcome {
  /** One line of numbers. */
  readonly seen: string
  /** The conditions that did not hold. Empty on success. */
  readonly failures: readonly string[]
}

/** The maximum number of failures kept per attack: one fault may show in every case. */
const FAILURES_MAX = 12

/** Collects failures, so that one does not hide the others. */
export class Findings {
  readonly #failures: string[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Records `failure` unless `holds`. */
  check(holds: boolean, failure: string): void {
    if (holds) return
    this.#count++
    if (this.#failures.length < FAILURES_MAX) this.#failures.push(failure)
  }

  outcome(seen: string): Outcome {
    const more = this.#count - this.#failures.length
    return { seen, failures: more > 0 ? [...this.#failures, `and ${more} more`] : this.#failures }
  }
}

/** The service under attack, as far as attacks need it. */
export async function openStage({ settings, hasStalledLog = false }: Attack): Promise<Stage> {
  return await Stage.open({
    settings: typeof settings === 'function' ? await settings() : (settings ?? {}),
    hasStalledLog,
  })
}

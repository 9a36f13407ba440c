/** A scenario: a table row with the disturbance, the right reaction and the time to await it. */
import type { ScenarioDriver } from './driver.ts'
import type { ScriptedConnection } from './scripted-connection.ts'

export interface Scenario {
  /** Stable: used by `--only` and in reports. */
  readonly name: string
  /** What the service does to the client, for the help text. */
  readonly plays: string
  /** The right reaction. */
  readonly expects: string
  /** How long the reaction is awaited, in seconds before `--pace`. */
  readonly waitSeconds: number
  /** Plays the scenario on a settled connection. Throws `WrongReaction`, or `Skipped` before anything is disturbed. */
  readonly play: (driver: ScenarioDriver, connection: ScriptedConnection, waitSeconds: number) => Promise<void>
}

/** What a scenario is: a row of a table that says what is played, which reaction is right and how long it is awaited. */
import type { ScriptedConnection } from './scripted-connection.ts'
import type { Stage } from './stage.ts'

export interface Scenario {
  /** Stable: `--only` and reports name it. */
  readonly name: string
  /** What the client is sent, or not. */
  readonly sends: string
  readonly rightReaction: string
  /** How long the reaction is awaited, in seconds that `--pace` scales. */
  readonly waitSeconds: number
  /**
   * Plays it on a settled connection. Throws `WrongReaction` with the name of what was wrong, or `NotApplicable` before
   * it has disturbed anything.
   */
  readonly play: (stage: Stage, connection: ScriptedConnection, waitSeconds: number) => Promise<void>
}

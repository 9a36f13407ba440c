/**
 * Plays scenarios one after another against one client and says how each went. A wrong reaction ends its scenario and
 * no other; a client that is missing ends the run. After every scenario the server is as it was before.
 */
import { NotApplicable, WRONG_REACTIONS, WrongReaction, type WrongReactionName } from './reactions.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'

export interface ScenarioResult {
  readonly name: string
  readonly outcome: 'right' | 'wrong' | 'skipped'
  readonly seconds: number
  /** Of a wrong reaction. */
  readonly reaction?: WrongReactionName
  readonly rule?: string
  /** What was seen, or why it was skipped. */
  readonly detail?: string
}

/** Plays all of them; `onResult` is called after each. Rejects with `ClientMissing` when there is no client to judge. */
export async function playScenarios(
  stage: Stage,
  scenarios: readonly Scenario[],
  onResult: (result: ScenarioResult) => void,
): Promise<void> {
  for (const scenario of scenarios) {
    const start = stage.now()
    const outcome = await playOne(stage, scenario)
    onResult({ name: scenario.name, ...outcome, seconds: Math.round(stage.now() - start) / 1000 })
  }
}

async function playOne(
  stage: Stage,
  { play, waitSeconds }: Scenario,
): Promise<Omit<ScenarioResult, 'name' | 'seconds'>> {
  try {
    const connection = await stage.settled()
    stage.service.forgetAttempts()
    await play(stage, connection, waitSeconds)
    return { outcome: 'right' }
  } catch (error) {
    if (error instanceof NotApplicable) return { outcome: 'skipped', detail: error.message }
    if (!(error instanceof WrongReaction)) throw error
    const { reaction, message: detail } = error
    return { outcome: 'wrong', reaction, rule: WRONG_REACTIONS[reaction], detail }
  } finally {
    stage.service.calm()
  }
}

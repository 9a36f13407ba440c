/**
 * All scenarios, in the order in which they are run (those that end the client come last), and their run against one client.
 * A wrong reaction ends its scenario and no other; a missing client ends the run. After every scenario the server is as it
 * was before.
 */
import { DELIVERY_SCENARIOS } from './delivery-scenarios.ts'
import type { ScenarioDriver } from './driver.ts'
import { MARKET_SCENARIOS } from './market-scenarios.ts'
import { NotApplicable, WRONG_REACTIONS, WrongReaction, type WrongReactionName } from './reactions.ts'
import { RECONNECT_SCENARIOS } from './reconnect-scenarios.ts'
import { RESUME_SCENARIOS } from './resume-scenarios.ts'
import type { Scenario } from './scenario.ts'
import { STOP_SCENARIOS } from './stop-scenarios.ts'

export const SCENARIOS: readonly Scenario[] = [
  ...RECONNECT_SCENARIOS,
  ...DELIVERY_SCENARIOS,
  ...RESUME_SCENARIOS,
  ...MARKET_SCENARIOS,
  ...STOP_SCENARIOS,
]

export interface ScenarioResult {
  readonly name: string
  readonly outcome: 'right' | 'wrong' | 'skipped'
  readonly seconds: number
  /** Of a wrong reaction. */
  readonly reaction?: WrongReactionName
  readonly rule?: string
  /** The observation, or why the scenario was skipped. */
  readonly detail?: string
}

/** Runs all of them; `onResult` is called after each. Rejects with `ClientMissing` when no client connects. */
export async function playScenarios(
  driver: ScenarioDriver,
  scenarios: readonly Scenario[],
  onResult: (result: ScenarioResult) => void,
): Promise<void> {
  for (const scenario of scenarios) {
    const start = driver.now()
    const outcome = await playOne(driver, scenario)
    onResult({ name: scenario.name, ...outcome, seconds: Math.round(driver.now() - start) / 1000 })
  }
}

async function playOne(
  driver: ScenarioDriver,
  { play, waitSeconds }: Scenario,
): Promise<Omit<ScenarioResult, 'name' | 'seconds'>> {
  try {
    const connection = await driver.settled()
    driver.service.forgetAttempts()
    await play(driver, connection, waitSeconds)
    return { outcome: 'right' }
  } catch (error) {
    if (error instanceof NotApplicable) return { outcome: 'skipped', detail: error.message }
    if (!(error instanceof WrongReaction)) throw error
    const { reaction, message: detail } = error
    return { outcome: 'wrong', reaction, rule: WRONG_REACTIONS[reaction], detail }
  } finally {
    driver.service.calm()
  }
}

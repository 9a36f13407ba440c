/**
 * All scenarios in their order (the last ones end the client), and their run with one client. A wrong reaction ends its
 * scenario and no other. A missing client ends the run. After every scenario the server is as it was before.
 */
import { type Outcome, runScenarios } from '../../judge/harness.ts'
import { DELIVERY_SCENARIOS } from './delivery-scenarios.ts'
import type { ScenarioDriver } from './driver.ts'
import { MARKET_SCENARIOS } from './market-scenarios.ts'
import { WRONG_REACTIONS, WrongReaction, type WrongReactionName } from './reactions.ts'
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
  /** The wrong reaction, if there was one. */
  readonly reaction?: WrongReactionName
  readonly rule?: string
  /** The observation, or why the scenario was skipped. */
  readonly detail?: string
}

/** Plays all of them, and calls `onResult` after each. Rejects with `ClientMissing` when no client connects. */
export async function playScenarios(
  driver: ScenarioDriver,
  scenarios: readonly Scenario[],
  onResult: (result: ScenarioResult) => void,
): Promise<void> {
  await runScenarios<Scenario, ScenarioResult>({
    scenarios,
    clock: driver.clock,
    play: async ({ play, waitSeconds }) => {
      const connection = await driver.settled()
      driver.service.forgetAttempts()
      await play(driver, connection, waitSeconds)
      return undefined
    },
    afterEach: () => driver.service.calm(),
    resultOf: ({ name }, outcome, milliseconds) => ({
      name,
      ...reactionOf(outcome),
      seconds: Math.round(milliseconds) / 1000,
    }),
    onResult: (_, result) => onResult(result),
  })
}

function reactionOf(outcome: Outcome): Omit<ScenarioResult, 'name' | 'seconds'> {
  if (outcome.kind === 'passed') return { outcome: 'right' }
  if (outcome.kind === 'skipped') return { outcome: 'skipped', detail: outcome.reason }
  if (!(outcome.failure instanceof WrongReaction)) throw outcome.failure
  const { reaction, message: detail } = outcome.failure
  return { outcome: 'wrong', reaction, rule: WRONG_REACTIONS[reaction], detail }
}

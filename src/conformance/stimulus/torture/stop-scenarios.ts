/** Scenarios after which a client stops until a person restarts it. */

import { CLOSE_CODES } from '../../../contract/stream-codes.ts'
import { Skipped } from '../../judge/harness.ts'
import type { ScenarioDriver } from './driver.ts'
import { WrongReaction } from './reactions.ts'
import type { Scenario } from './scenario.ts'

/** How long a stopped client must make no attempt. */
const ABSENCE_SECONDS = 60
const RETURN_SECONDS = 120
/** Longest wait for the client's close frame. */
const CLOSE_MILLISECONDS_MAX = 5_000
/** How many token requests are refused: more than a stopping client makes. */
const REFUSALS = 100

/** Close codes for a client's protocol errors (RFC 6455 section 7.4.1). */
const CLIENT_FAULTS = [
  [1002, 'protocol error'],
  [1007, 'invalid UTF-8'],
  [1009, 'message too large'],
] as const

export const STOP_SCENARIOS: readonly Scenario[] = [
  ...CLIENT_FAULTS.map(
    ([code, reason]): Scenario => ({
      name: `close-${code}`,
      plays: `close ${code} "${reason}", as after a fault of the client`,
      expects: 'stop: the same attempt would fail the same way',
      waitSeconds: ABSENCE_SECONDS,
      async play(driver, connection, waitSeconds) {
        connection.transport?.close(code, reason, CLOSE_MILLISECONDS_MAX)
        await driver.staysAway(waitSeconds)
      },
    }),
  ),
  {
    name: 'close-4003',
    plays: `close 4003 "${CLOSE_CODES.revoked.reason}", and handshakes are answered 403 from then on`,
    expects: 'stop, and ask a person to contact the operator',
    waitSeconds: ABSENCE_SECONDS,
    async play(driver, connection, waitSeconds) {
      driver.service.allow(false)
      connection.session?.close('revoked')
      await driver.staysAway(waitSeconds)
    },
  },
  {
    name: 'handshake-403',
    plays: 'close 1012, then 403 to every handshake',
    expects: 'stop after the first (not played for clients that cannot read the answer, such as browsers)',
    waitSeconds: ABSENCE_SECONDS,
    async play(driver, connection, waitSeconds) {
      if (!connection.hasHeader) throw new Skipped('the client cannot read the response to a handshake')
      driver.service.allow(false)
      connection.session?.close('restarting')
      await untilAttempt(driver, 403)
      await driver.staysAway(waitSeconds)
    },
  },
  {
    name: 'token-401',
    plays: 'close 4001, then 401 invalid_client to every request for a token',
    expects: 'stop after the first: the secret is no longer valid, or the client is disabled',
    waitSeconds: ABSENCE_SECONDS,
    async play(driver, connection, waitSeconds) {
      driver.service.tokenFailures = Array(REFUSALS).fill({ status: 401, error: 'invalid_client' })
      driver.service.revokeTokens()
      connection.session?.close('tokenRevoked')
      await untilAttempt(driver, 401)
      await driver.staysAway(waitSeconds)
    },
  },
]

/** Waits for the attempt answered with `status`, and forgets it: the client must make no further one. */
async function untilAttempt(driver: ScenarioDriver, status: number): Promise<void> {
  const hasCome = () => driver.service.attempts.some((attempt) => attempt.status === status)
  await driver.reaches(() => hasCome() || driver.hasEnded, RETURN_SECONDS)
  if (!hasCome()) throw new WrongReaction('did-not-come-back', 'there was no attempt at all')
  driver.service.forgetAttempts()
}

/** Scenarios for the extended protocol: the cursor a client resumes from, and an impossible resume. */
import { Skipped } from '../../judge/harness.ts'
import type { ScenarioDriver } from './driver.ts'
import { WrongReaction } from './reactions.ts'
import type { Scenario } from './scenario.ts'
import type { ScriptedConnection } from './scripted-connection.ts'

const RETURN_SECONDS = 120
/** Books change ten times a second. */
const MOVE_SECONDS = 10

export const RESUME_SCENARIOS: readonly Scenario[] = [
  {
    name: 'resume-cursor',
    plays: 'close 1012 (tidegate.v1)',
    expects: 'reconnect and resume each channel from its last cursor',
    waitSeconds: RETURN_SECONDS,
    async play(driver, connection, waitSeconds) {
      await checkResume(driver, connection, waitSeconds)
    },
  },
  {
    name: 'resume-refused',
    plays:
      'close 1012, then a service that accepts no earlier cursor: a SNAPSHOT without prev, executions with ' +
      'resumed: false, then close 1012 again (tidegate.v1)',
    expects: 'begin again from the SNAPSHOT, and resume from the new cursors afterwards',
    waitSeconds: RETURN_SECONDS,
    async play(driver, connection, waitSeconds) {
      requireExtended(connection)
      driver.service.isUnavailable = true
      connection.session?.close('restarting')
      await driver.reaches(() => !connection.isOpen, waitSeconds)
      driver.markets.forgetCursors()
      driver.service.isUnavailable = false
      const next = await driver.returns(connection, { waitSeconds })
      await driver.stays(next, 1)
      await checkResume(driver, next, waitSeconds)
    },
  },
]

async function checkResume(driver: ScenarioDriver, connection: ScriptedConnection, waitSeconds: number): Promise<void> {
  requireExtended(connection)
  // Waits until the cursor has moved, so a client which keeps the first cursor is detected.
  const first = new Map(connection.cursors)
  const hasMoved = () => [...first].every(([key, cursor]) => connection.cursors.get(key) !== cursor)
  await driver.reaches(hasMoved, MOVE_SECONDS)
  connection.session?.close('restarting')
  const next = await driver.returns(connection, { waitSeconds })
  const resumed = next.requests.flatMap(({ channels }) => channels).filter(({ resume }) => resume !== undefined)
  if (resumed.length === 0) throw new Skipped('the client does not resume')
  // When a channel has sent nothing since it was resumed, its last cursor is from an earlier connection.
  const earlier = driver.service.connections.filter((other) => other !== next)
  const lastCursor = (key: string) => earlier.findLast(({ cursors }) => cursors.has(key))?.cursors.get(key)
  const wrong = resumed.filter(({ key, resume }) => lastCursor(key) !== resume).map(({ key }) => key)
  if (wrong.length > 0) throw new WrongReaction('wrong-cursor', wrong.join(', '))
}

function requireExtended(connection: ScriptedConnection): void {
  if (!connection.isExtended) throw new Skipped('the client does not use tidegate.v1')
}

/** Scenarios of the extended protocol: where a client resumes from, and what it does when that is not possible. */
import { NotApplicable, WrongReaction } from './reactions.ts'
import type { Scenario } from './scenario.ts'
import type { ScriptedConnection } from './scripted-connection.ts'
import type { Stage } from './stage.ts'

const RETURN_SECONDS = 120
/** Books change ten times a second. */
const MOVE_SECONDS = 10

export const RESUME_SCENARIOS: readonly Scenario[] = [
  {
    name: 'resume-cursor',
    sends: 'close 1012 (tidegate.v1)',
    rightReaction: 'reconnect and resume each channel from the last cursor that was sent',
    waitSeconds: RETURN_SECONDS,
    async play(stage, connection, waitSeconds) {
      await reconnectAndJudge(stage, connection, waitSeconds)
    },
  },
  {
    name: 'resume-refused',
    sends:
      'close 1012, then a service that knows no cursor of before: a SNAPSHOT without prev, executions with ' +
      'resumed: false; then close 1012 again (tidegate.v1)',
    rightReaction: 'begin again from the SNAPSHOT, and resume from the new cursors afterwards',
    waitSeconds: RETURN_SECONDS,
    async play(stage, connection, waitSeconds) {
      requireExtended(connection)
      stage.service.isAway = true
      connection.session?.close('restarting')
      await stage.reaches(() => !connection.isOpen, waitSeconds)
      stage.markets.forgetCursors()
      stage.service.isAway = false
      const next = await stage.returns(connection, { waitSeconds })
      await stage.stays(next, 1)
      await reconnectAndJudge(stage, next, waitSeconds)
    },
  },
]

async function reconnectAndJudge(stage: Stage, connection: ScriptedConnection, waitSeconds: number): Promise<void> {
  requireExtended(connection)
  // The first cursor is not to be the last: a client that keeps it is wrong.
  const first = new Map(connection.cursors)
  const hasMoved = () => [...first].every(([key, cursor]) => connection.cursors.get(key) !== cursor)
  await stage.reaches(hasMoved, MOVE_SECONDS)
  connection.session?.close('restarting')
  const next = await stage.returns(connection, { waitSeconds })
  const resumed = next.requests.flatMap(({ channels }) => channels).filter(({ resume }) => resume !== undefined)
  if (resumed.length === 0) throw new NotApplicable('the client does not resume')
  // Of a channel without a message since it was resumed, the last cursor is one of an earlier connection.
  const earlier = stage.service.connections.filter((other) => other !== next)
  const lastCursor = (key: string) => earlier.findLast(({ cursors }) => cursors.has(key))?.cursors.get(key)
  const wrong = resumed.filter(({ key, resume }) => lastCursor(key) !== resume).map(({ key }) => key)
  if (wrong.length > 0) throw new WrongReaction('wrong-cursor', wrong.join(', '))
}

function requireExtended(connection: ScriptedConnection): void {
  if (!connection.isExtended) throw new NotApplicable('the client does not use tidegate.v1')
}

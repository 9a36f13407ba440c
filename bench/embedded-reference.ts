/**
 * The reference for the embedded store: an unmodified PGlite behind the same calls, sessions and queue as the store, so
 * that only the store's own work differs.
 */
import { once } from 'node:events'
import type { Clock } from '../src/platform/base/clock.ts'
import { startThread } from '../src/platform/base/thread.ts'
import { CallerConnection, type EngineConnection, type Outcomes } from '../src/platform/store/caller-connection.ts'
import { STATEMENT_MILLISECONDS_MAX } from '../src/platform/store/db.ts'
import { Semaphore } from '../src/platform/store/semaphore.ts'
import { createQueries, type Queries } from '../src/platform/store/sql.ts'
import type { ReferenceRequest } from './embedded-reference-thread.ts'

export interface Reference extends Queries {
  /** Ends the thread without closing its folder. */
  close(): Promise<void>
}

export async function openReference(folder: string, clock: Clock): Promise<Reference> {
  const thread = startThread('./embedded-reference-thread', import.meta.url, { workerData: folder })
  await once(thread, 'message')
  const semaphore = new Semaphore(clock)
  let answer: (outcomes: Outcomes) => void = () => undefined
  thread.on('message', (outcomes: Outcomes) => answer(outcomes))
  const connection: EngineConnection = {
    isAlive: true,
    beginText: 'begin',
    limitText: () => undefined,
    run(statements) {
      return new Promise((resolve) => {
        answer = resolve
        thread.postMessage(statements satisfies ReferenceRequest)
      })
    },
    giveBack: async () => semaphore.release(),
  }
  const queries = createQueries(async ({ statementMillisecondsMax }) => {
    const patienceMilliseconds = statementMillisecondsMax ?? STATEMENT_MILLISECONDS_MAX
    const deadlineMilliseconds = clock.monotonicMilliseconds() + patienceMilliseconds
    await semaphore.acquire(patienceMilliseconds)
    return new CallerConnection({
      connection,
      clock,
      deadlineMilliseconds,
      isFirstStatementOnly: statementMillisecondsMax !== undefined,
      statementMillisecondsMax: patienceMilliseconds,
    })
  })
  return { ...queries, close: async () => void (await thread.terminate()) }
}

/**
 * Lets a start wait: for the store's schema, for everything that it reads from the store before the service is ready,
 * and for other parts. It logs every 10 s what the start waits for, and ends when the start is aborted. Reads are
 * retried with backoff and without a limit. Each new reason is logged once, and so is the end of the wait. A store that
 * this version cannot use ends the wait with an error.
 */
import { backoff } from '../../platform/base/backoff.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { untilAborted, wait } from '../../platform/base/time-limit.ts'
import { StoreUnavailable } from '../../platform/store/db.ts'
import { patiently } from '../../platform/store/sql.ts'

export interface Waiting {
  readonly clock: Clock
  readonly log: Log
  /** Aborts the start: every wait rejects with the signal's reason. */
  readonly signal: AbortSignal
}

/** `current`, or the missing migrations' names. */
export type SchemaState = 'current' | { readonly missing: readonly string[] }

const RETRY_MILLISECONDS = { first: 100, longest: 5_000 }
/** Its value, or why it has to be repeated. */
type Attempt<Value> = () => Promise<{ readonly value: Value } | { readonly obstacle: string }>

/** Time between two log lines about one wait. */
const REPORT_SECONDS = 10

/** Resolves when the schema is current. `note` is called with every read state. */
export function waitForSchema(
  waiting: Waiting,
  read: () => Promise<SchemaState>,
  note: (state: SchemaState) => void,
): Promise<void> {
  return retry(waiting, 'migrations', async () => {
    const state = await read()
    note(state)
    if (state === 'current') return { value: undefined }
    return { obstacle: `migrations are missing: ${state.missing.join(', ')}. Run tidegate migrate` }
  })
}

/**
 * Resolves to the result of `read`, or of another call to the store, once the store answers. It may run again after a
 * commit whose answer was lost.
 */
export function readFromStore<Value>(waiting: Waiting, what: string, read: () => Promise<Value>): Promise<Value> {
  return retry(waiting, what, async () => ({ value: await read() }))
}

/**
 * Settles as `work` does, and rejects at once when the start is aborted. Logs every 10 s that the start waits for
 * `what`.
 */
export async function waitFor<Value>(
  { clock, log, signal }: Waiting,
  what: string,
  work: Promise<Value>,
): Promise<Value> {
  let seconds = 0
  const report = (): void => {
    seconds += REPORT_SECONDS
    log.warn({ what, seconds }, 'the start is waiting')
    timer = clock.schedule(REPORT_SECONDS * 1000, report)
  }
  let timer = clock.schedule(REPORT_SECONDS * 1000, report)
  try {
    return await untilAborted(signal, work)
  } finally {
    timer.cancel()
  }
}

function retry<Value>(waiting: Waiting, what: string, attempt: Attempt<Value>): Promise<Value> {
  return waitFor(waiting, what, attemptUntilDone(waiting, what, attempt))
}

async function attemptUntilDone<Value>(
  { clock, log, signal }: Waiting,
  what: string,
  attempt: Attempt<Value>,
): Promise<Value> {
  let logged: string | undefined
  for (let failures = 1; ; failures++) {
    const outcome = await untilAborted(signal, patiently(attempt)).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error
      return { obstacle: error.message }
    })
    if ('value' in outcome) {
      if (logged !== undefined) log.info({ what }, 'the start continues')
      return outcome.value
    }
    if (outcome.obstacle !== logged) log.warn({ what, reason: outcome.obstacle }, 'the start waits for the store')
    logged = outcome.obstacle
    await untilAborted(signal, wait(clock, backoff(RETRY_MILLISECONDS, failures)))
  }
}

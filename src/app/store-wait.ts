/**
 * Lets a start wait for the store: for the current schema, and for everything that is read from the store before the
 * service is ready. It retries with backoff and without a limit, logs each new reason once and the end of the wait, and
 * stops when the start is aborted. A store that this version cannot work with ends the wait with an error.
 */
import { backoff } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { wait } from '../base/time-limit.ts'
import { StoreUnavailable } from '../store/db.ts'

export interface Waiting {
  readonly clock: Clock
  readonly log: Log
  /** Aborts the start: every wait rejects with the reason of the signal. */
  readonly signal: AbortSignal
}

/** `current`, or the names of the migrations that have not been applied. */
export type SchemaState = 'current' | { readonly missing: readonly string[] }

const RETRY_MILLISECONDS = { first: 100, longest: 5_000 }

/** Resolves when the schema is current; `note` is called with every state that was read. */
export function waitForSchema(
  waiting: Waiting,
  read: () => Promise<SchemaState>,
  note: (state: SchemaState) => void,
): Promise<void> {
  return retry(waiting, 'migrations', async () => {
    const state = await read()
    note(state)
    if (state === 'current') return { value: undefined }
    return { obstacle: `migrations are missing: ${state.missing.join(', ')}; run tidegate migrate` }
  })
}

/** Resolves to the result of `read` once the store answers. `read` may run again after a commit whose answer was lost. */
export function readFromStore<Value>(waiting: Waiting, what: string, read: () => Promise<Value>): Promise<Value> {
  return retry(waiting, what, async () => ({ value: await read() }))
}

/** Settles as `promise` does, and rejects at once when the signal aborts. */
export function untilAborted<Value>(signal: AbortSignal, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

async function retry<Value>(
  { clock, log, signal }: Waiting,
  what: string,
  attempt: () => Promise<{ readonly value: Value } | { readonly obstacle: string }>,
): Promise<Value> {
  let logged: string | undefined
  for (let failures = 1; ; failures++) {
    const outcome = await untilAborted(signal, attempt()).catch((error: unknown) => {
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

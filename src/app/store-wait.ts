/**
 * What a start waits for when the store is not there, or not ready, yet: a schema that is current, the directory, the
 * times of earlier commits, the clients of the demo. It tries again with backoff for as long as it takes, logs once what
 * it waits for and once that the wait is over, and gives up only when the start is given up. A store that this version
 * cannot work with ends the wait with an error.
 */
import { backoff } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { wait } from '../base/time-limit.ts'
import { StoreUnavailable } from '../store/db.ts'

export interface Waiting {
  readonly clock: Clock
  readonly log: Log
  /** The start is given up: every wait ends with the reason of the signal. */
  readonly signal: AbortSignal
}

/** `current`, or the names of the migrations that nobody has applied yet. */
export type SchemaState = 'current' | { readonly missing: readonly string[] }

/** Backoff between two attempts. */
const RETRY_MILLISECONDS = { first: 100, longest: 5_000 }

/** Resolves when the schema is what this version needs; `note` is told of every state that was read. */
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

/** Resolves to what `read` gives once the store answers; it may run several times, also after it has stored something. */
export function readFromStore<Value>(waiting: Waiting, what: string, read: () => Promise<Value>): Promise<Value> {
  return retry(waiting, what, async () => ({ value: await read() }))
}

/** Resolves when `promise` does; rejects at once when the signal is given. */
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
  let told: string | undefined
  for (let failures = 1; ; failures++) {
    const outcome = await untilAborted(signal, attempt()).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error
      return { obstacle: error.message }
    })
    if ('value' in outcome) {
      if (told !== undefined) log.info({ what }, 'the start goes on')
      return outcome.value
    }
    if (outcome.obstacle !== told) log.warn({ what, reason: outcome.obstacle }, 'the start waits for the store')
    told = outcome.obstacle
    await untilAborted(signal, wait(clock, backoff(RETRY_MILLISECONDS, failures)))
  }
}

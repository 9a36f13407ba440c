/**
 * For whom the current work is done, so that what it waits for can be shared fairly: a client or an operator, which the
 * listener sets for the time of a request. It is no identity, and nothing is permitted by it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { NO_HOLDER } from './shared-pool.ts'

const holders = new AsyncLocalStorage<string>()

export function runFor<Result>(holder: string, run: () => Result): Result {
  return holders.run(holder, run)
}

/** Our own work has no holder. */
export function currentHolder(): string {
  return holders.getStore() ?? NO_HOLDER
}

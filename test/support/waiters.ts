/**
 * Waiting for a state instead of for a time: a predicate is checked again whenever its owner reports a change. The time
 * limit only turns a hang into an error that names the awaited state.
 */
interface Waiter {
  readonly predicate: () => boolean
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export class Waiters {
  readonly #waiters = new Set<Waiter>()

  /** Resolves as soon as `predicate` holds, immediately if it holds already. */
  until(what: string, predicate: () => boolean, limitMilliseconds = 60_000): Promise<void> {
    if (predicate()) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => {
        this.#waiters.delete(waiter)
        reject(new Error(`waited ${limitMilliseconds} ms in vain for: ${what}`))
      }, limitMilliseconds)
      const end = (): void => {
        clearTimeout(limit)
        this.#waiters.delete(waiter)
      }
      const waiter: Waiter = {
        predicate,
        resolve: () => {
          end()
          resolve()
        },
        reject: (error) => {
          end()
          reject(error)
        },
      }
      this.#waiters.add(waiter)
    })
  }

  /** Checks all predicates again after a change. */
  notify(): void {
    for (const waiter of [...this.#waiters]) {
      try {
        if (waiter.predicate()) waiter.resolve()
      } catch (error) {
        waiter.reject(error as Error)
      }
    }
  }

  /** Rejects all waits, because the state cannot be reached any more. */
  fail(reason: string): void {
    for (const waiter of [...this.#waiters]) waiter.reject(new Error(reason))
  }
}

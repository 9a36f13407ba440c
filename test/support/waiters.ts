/**
 * Waiting for a state instead of for a time: a predicate is looked at again whenever its owner says that something
 * happened. The time limit only turns a hang into a message that says what was waited for.
 */
interface Waiter {
  readonly predicate: () => boolean
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export class Waiters {
  readonly #waiters = new Set<Waiter>()

  /** Resolves as soon as `predicate` holds, at once when it does already. */
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

  /** Something happened: whoever waited for it goes on. */
  notify(): void {
    for (const waiter of [...this.#waiters]) {
      try {
        if (waiter.predicate()) waiter.resolve()
      } catch (error) {
        waiter.reject(error as Error)
      }
    }
  }

  /** What is waited for cannot come any more. */
  fail(reason: string): void {
    for (const waiter of [...this.#waiters]) waiter.reject(new Error(reason))
  }
}

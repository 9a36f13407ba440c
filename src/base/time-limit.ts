/**
 * Waiting on the clock that is passed in: for a time, for a promise with a time limit, or until a signal aborts. No timer
 * outlives the wait.
 */
import type { Clock, Timer } from './clock.ts'

/** Resolves after `milliseconds`; at once for 0. */
export function wait(clock: Clock, milliseconds: number): Promise<void> {
  if (milliseconds === 0) return Promise.resolve()
  return new Promise((resolve) => {
    clock.schedule(milliseconds, resolve)
  })
}

/**
 * Settles like `promise`, or with the result of `onLate` when `promise` has not settled after `milliseconds`. The work behind
 * `promise` continues: `onLate` must end it where necessary. Rejects with the error that `onLate` throws.
 */
export async function withTimeLimit<Value, Late>(
  clock: Clock,
  milliseconds: number,
  promise: Promise<Value>,
  onLate: () => Late | Promise<Late>,
): Promise<Value | Late> {
  let timer: Timer | undefined
  const late = new Promise<Late>((resolve, reject) => {
    timer = clock.schedule(milliseconds, () => {
      try {
        resolve(onLate())
      } catch (error) {
        reject(error)
      }
    })
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    timer?.cancel()
  }
}

/** Settles as `promise` does, and rejects at once with the reason of the signal when that aborts. */
export function untilAborted<Value>(signal: AbortSignal, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

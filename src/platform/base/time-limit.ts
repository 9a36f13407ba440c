/**
 * Waiting on the given clock: for a time, for a promise or work with a time limit, or until a signal aborts. No timer
 * outlives the wait. `AbortSignal.any` is not used: Node.js 20 collects a timeout inside it as garbage, and it never
 * fires.
 */
import type { Clock, Timer } from './clock.ts'

/** Resolves after `milliseconds`, at once for 0. */
export function wait(clock: Clock, milliseconds: number): Promise<void> {
  if (milliseconds === 0) return Promise.resolve()
  return new Promise((resolve) => {
    clock.schedule(milliseconds, resolve)
  })
}

/** Resolves at the end of this event-loop tick. Long work in slices waits for it between two of them. */
export function tickEnd(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.endOfTick(resolve))
}

/** Resolves after the delay, or as soon as the signal is aborted. */
export function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.schedule(milliseconds, end)
    signal.addEventListener('abort', end)
  })
}

/**
 * Settles like `promise`, or with the `onLate` result when `promise` has not settled after `milliseconds`. The work
 * behind `promise` continues: `onLate` must end it where necessary. Rejects with any error thrown by `onLate`.
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

/** Settles as `promise` does, and rejects at once with the signal's reason when that aborts. */
export function untilAborted<Value>(signal: AbortSignal, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

interface Deadline {
  readonly clock: Clock
  readonly milliseconds: number
  /** Ends the work earlier. */
  readonly stop: AbortSignal | undefined
  /** The error after the time. */
  readonly late: () => Error
}

/**
 * Settles like `work`, or rejects with `late`. The signal passed to `work` is aborted by `stop`, and at the latest when
 * this settles.
 */
export async function withDeadline<Value>(
  { clock, milliseconds, stop, late }: Deadline,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const ending = new AbortController()
  const end = (): void => ending.abort()
  if (stop?.aborted) end()
  else stop?.addEventListener('abort', end)
  const working = work(ending.signal)
  // The time limit may win the race. Its loser must not reject without a handler.
  working.catch(() => undefined)
  try {
    return await withTimeLimit(clock, milliseconds, working, () => {
      throw late()
    })
  } finally {
    stop?.removeEventListener('abort', end)
    end()
  }
}

/**
 * Waits with a limit far below a test's time-out. A wait in vain rejects with a sentence that names what is missing,
 * where vitest's own time-out names only the test.
 */
import { type EventEmitter, once as nextEvent } from 'node:events'

const LIMIT_MILLISECONDS = 60_000

/** As `once` of node:events. */
export async function once(
  emitter: EventEmitter,
  event: string,
  limitMilliseconds = LIMIT_MILLISECONDS,
): ReturnType<typeof nextEvent> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), limitMilliseconds)
  try {
    return await nextEvent(emitter, event, { signal: limit.signal })
  } catch (error) {
    if (!limit.signal.aborted) throw error
    throw inVain(`the event ${event} of ${emitter.constructor.name}`, limitMilliseconds)
  } finally {
    clearTimeout(timer)
  }
}

/** As the promise. */
export async function awaited<Value>(
  what: string,
  promise: Promise<Value>,
  limitMilliseconds = LIMIT_MILLISECONDS,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(inVain(what, limitMilliseconds)), limitMilliseconds)
  })
  return await Promise.race([promise, limit]).finally(() => clearTimeout(timer))
}

/** Takes steps, event-loop ticks unless given, until the condition holds, for states whose owner reports no change. */
export async function until(
  what: string,
  isMet: () => boolean | Promise<boolean>,
  step: () => unknown = () => new Promise(setImmediate),
  limitMilliseconds = LIMIT_MILLISECONDS,
): Promise<void> {
  const end = performance.now() + limitMilliseconds
  while (!(await isMet())) {
    if (performance.now() > end) throw inVain(what, limitMilliseconds)
    await step()
  }
}

function inVain(what: string, limitMilliseconds: number): Error {
  return new Error(`waited ${limitMilliseconds} ms in vain for: ${what}`)
}

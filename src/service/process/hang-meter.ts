/**
 * Measures how long the main thread has been hanging, for the watchdog. A main thread that is ready to run and gets no
 * processor does not hang: on a starved machine it needs minutes for a second's work, and a restart would only make it
 * repeat this work. Two parts of the time without a sign of life count: the thread's computing, and the time it was
 * blocked in a system call without computing anything. Where the system does not report a thread's state, the whole
 * process's processor time counts instead, and a blocked thread is not noticed. Pure.
 */

/** What the system says about the main thread at one moment. */
export interface ThreadReading {
  /** Processor time used since its start, in milliseconds. */
  readonly processorMilliseconds: number
  /** Whether it sleeps in a system call, and so waits neither for a processor nor for a disk. */
  readonly isBlocked: boolean
}

/**
 * Parses `/proc/PID/task/TID/stat` (proc(5)): state, user and system time in ticks of 10 ms. Undefined for other text.
 */
export function readThreadStat(text: string): ThreadReading | undefined {
  // The name, in parentheses, may contain anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, user, system] = [fields[0], Number(fields[11]), Number(fields[12])]
  if (!Number.isFinite(user + system)) return undefined
  return { processorMilliseconds: (user + system) * 10, isBlocked: state === 'S' }
}

export class HangMeter {
  #last: ThreadReading
  #hangMilliseconds = 0

  constructor(first: ThreadReading) {
    this.#last = first
  }

  /**
   * Takes the reading at the end of a period, and returns the milliseconds of hanging since the last sign of life.
   * @param isAlive whether the main thread gave a sign of life in the period
   */
  observe(periodMilliseconds: number, reading: ThreadReading, isAlive: boolean): number {
    const computed = reading.processorMilliseconds - this.#last.processorMilliseconds
    this.#last = reading
    if (isAlive) this.#hangMilliseconds = 0
    else if (reading.isBlocked && computed === 0) this.#hangMilliseconds += periodMilliseconds
    else this.#hangMilliseconds += Math.min(computed, periodMilliseconds)
    return this.#hangMilliseconds
  }
}

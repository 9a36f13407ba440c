/**
 * The time in which this process ran, for upper limits: while the machine stands still, or gives the process no
 * processor, it does not pass.
 */
const STEP_MILLISECONDS = 5

/** Begins now; `end` returns the milliseconds. */
export function startRunningTime(): { end(): number } {
  let steps = 0
  const timer = setInterval(() => {
    steps += 1
  }, STEP_MILLISECONDS)
  return {
    end() {
      clearInterval(timer)
      return steps * STEP_MILLISECONDS
    },
  }
}

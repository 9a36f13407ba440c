/**
 * The time this process was running, for upper limits: it does not pass while the machine stands still, or gives the
 * process no processor.
 */
const STEP_MILLISECONDS = 5

/** Begins now. `end` returns the milliseconds. */
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

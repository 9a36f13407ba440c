/** A progress line on a terminal while a service starts: a first start takes some seconds. */
import type { Clock } from '../../platform/base/clock.ts'
import type { Output } from './environment.ts'
import { CLEAR_LINE } from './progress-line.ts'

const PERIOD_MILLISECONDS = 1_000

/**
 * Shows how long the start takes. The returned function removes the line. Does nothing unless `output` is a terminal.
 */
export function showStart(what: string, output: Pick<Output, 'isTTY' | 'write'>, clock: Clock): () => void {
  if (output.isTTY !== true) return () => undefined
  let seconds = 0
  let next = clock.schedule(PERIOD_MILLISECONDS, tick)
  function tick(): void {
    seconds++
    show()
    next = clock.schedule(PERIOD_MILLISECONDS, tick)
  }
  // The cursor stays at the start of the line, so a log line overwrites this one.
  const show = (): void => void output.write(`${CLEAR_LINE}tidegate: starting the ${what}, ${seconds} s\r`)
  show()
  return () => {
    next.cancel()
    output.write(CLEAR_LINE)
  }
}

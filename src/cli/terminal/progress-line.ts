/** A line that shows progress on a terminal and leaves nothing behind. Elsewhere nothing is shown. Pure. */
import type { Output } from './environment.ts'

/** Returns to the start of the line and clears it. */
export const CLEAR_LINE = '\r\u001b[2K'

/** Clears the progress line, where there can be one. */
export function clearOf({ isTTY }: Pick<Output, 'isTTY'>): string {
  return isTTY === true ? CLEAR_LINE : ''
}

/**
 * Full-screen output on a terminal: the alternate screen without a cursor, with frames replacing each other without
 * flicker. The terminal is restored at the end, also when the process exits.
 */
import { createLogUpdate } from 'log-update'
import type { Output } from './environment.ts'

export interface Screen {
  draw(lines: readonly string[]): void
  /** Calls `redraw` after a resize, with an empty screen. */
  onResize(redraw: () => void): void
  close(): void
}

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[H\u001b[2J'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const CLEAR = '\u001b[H\u001b[2J'

export function openScreen(output: Output): Screen {
  // The cursor is hidden and shown in the same writes as the alternate screen.
  const update = createLogUpdate(output as unknown as NodeJS.WriteStream, { showCursor: true })
  let isOpen = true
  let resize: (() => void) | undefined
  const leave = (): void => {
    if (!isOpen) return
    isOpen = false
    output.write(LEAVE)
  }
  process.once('exit', leave)
  output.write(ENTER)
  return {
    draw(lines) {
      if (isOpen) update(lines.join('\n'))
    },
    onResize(redraw) {
      resize = () => {
        // The terminal has rewrapped the old frame, so no part can be reused.
        update.done()
        output.write(CLEAR)
        redraw()
      }
      output.on('resize', resize)
    },
    close() {
      if (resize !== undefined) output.off('resize', resize)
      process.off('exit', leave)
      leave()
    },
  }
}

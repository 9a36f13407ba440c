/** A log that keeps its lines in memory. Secrets are not redacted, so that a test finds every secret in the log. */
import { pino } from 'pino'
import type { Log } from '../../src/platform/base/log.ts'

export function captureLog(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = []
  return { lines, log: pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) }) }
}

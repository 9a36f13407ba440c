/** The settings for the process itself. */
import { choice, integer } from '../setting-kinds.ts'

export const PROCESS_SETTINGS = {
  'log.level': choice({
    initial: 'info',
    values: ['debug', 'info', 'warn', 'error', 'silent'],
    live: true,
    meaning: 'least severe log lines that are written',
  }),
  'process.hang_seconds': integer({
    initial: 30,
    min: 1,
    max: 3_600,
    meaning: 'time for which the event loop may be blocked before the process exits with code 70',
  }),
} as const

/** The settings for the process itself. */
import { choice, integer } from '../setting-kinds.ts'

export const PROCESS_SETTINGS = {
  'log.level': choice({
    initial: 'info',
    values: ['debug', 'info', 'warn', 'error', 'silent'],
    live: true,
    meaning: 'lowest level written to the log',
  }),
  'process.hang_seconds': integer({
    initial: 30,
    min: 1,
    max: 3_600,
    meaning: 'longest event-loop block. After it, the process exits with code 70',
  }),
} as const

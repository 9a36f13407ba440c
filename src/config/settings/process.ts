/** The settings of the process itself. */
import { choice } from '../setting-kinds.ts'

export const PROCESS_SETTINGS = {
  'log.level': choice({
    initial: 'info',
    values: ['debug', 'info', 'warn', 'error', 'silent'],
    live: true,
    meaning: 'least severe log lines that are written',
  }),
} as const

/**
 * The log: one JSON line an event on stderr. The event name is a fixed text that can be searched for; what varies goes
 * into fields. Fields that could carry a secret are cut out by name as a last line of defence.
 */
import { destination, type Logger, pino } from 'pino'

export type Log = Logger

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Names of members that are never written, at the top or one level down. */
const SECRET_MEMBERS = ['authorization', 'token', 'access_token', 'client_secret', 'secret', 'password', 'pepper']

export function createLog(level: LogLevel): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      messageKey: 'event',
      redact: { paths: SECRET_MEMBERS.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' },
    },
    destination({ fd: 2, sync: true }),
  )
}

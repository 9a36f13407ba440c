/**
 * The log: one JSON line an event on stderr. The event name is a fixed text that can be searched for; what varies goes
 * into fields. Fields that could carry a secret are cut out by name as a last line of defence.
 */
import { destination, type Logger, levels, pino } from 'pino'

export type Log = Logger

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Names of members that are never written, at the top or one level down. */
const SECRET_MEMBERS = ['authorization', 'token', 'access_token', 'client_secret', 'secret', 'password', 'pepper']

/** The level below which nothing is written, of every log that was created here. */
const thresholds = new WeakMap<Log, { least: number }>()

export function createLog(level: LogLevel): Log {
  const threshold = { least: severityOf(level) }
  const log = pino(
    {
      // The threshold decides, not the level of the logger: its children have copies of that, which nobody could reach.
      level: 'debug',
      hooks: {
        logMethod(args, method, severity) {
          if (severity >= threshold.least) method.apply(this, args)
        },
      },
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      messageKey: 'event',
      redact: { paths: SECRET_MEMBERS.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' },
    },
    destination({ fd: 2, sync: true }),
  )
  thresholds.set(log, threshold)
  return log
}

/** From now on `log`, which `createLog` made, and all its children write from this level on. */
export function setLogLevel(log: Log, level: LogLevel): void {
  const threshold = thresholds.get(log)
  if (threshold !== undefined) threshold.least = severityOf(level)
}

function severityOf(level: LogLevel): number {
  return level === 'silent' ? Number.POSITIVE_INFINITY : (levels.values[level] as number)
}

/**
 * The log: one JSON line per event on stderr. The event name is a searchable constant, and variable parts are fields.
 * Fields that may carry a secret are redacted by name, as a last line of defence. A slow reader never blocks the
 * process: when the buffer is full, lines are dropped, counted, and reported once writing works again. When the process
 * ends, also after a crash, the buffer is written for a bounded time.
 */
import { type Logger, levels, pino } from 'pino'
import { LineWriter, openStderr } from './line-writer.ts'

export type Log = Logger

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Field names that are never written, at the top level or one level below. */
const SECRET_MEMBERS = ['authorization', 'token', 'access_token', 'client_secret', 'secret', 'password', 'pepper']

/** About 4,000 lines: some seconds on a busy node. */
const BUFFER_BYTES_MAX = 1_048_576
/** The longest wait for the log's reader when the process ends. */
const FLUSH_MILLISECONDS_MAX = 1_000

/** The threshold for each log created here. */
const thresholds = new WeakMap<Log, { least: number }>()

/** The one stderr writer, made with the first line. */
let writer: LineWriter | undefined

export function createLog(level: LogLevel): Log {
  const threshold = { least: severityOf(level) }
  const log = pino(
    {
      // The threshold decides, not the logger's level: child loggers copy the level and cannot be changed later.
      level: 'debug',
      hooks: {
        logMethod(args, method, severity) {
          if (severity >= threshold.least) method.apply(this, args)
        },
      },
      base: null,
      timestamp: () => `,"time":"${now()}"`,
      formatters: { level: (label) => ({ level: label }) },
      messageKey: 'event',
      redact: { paths: SECRET_MEMBERS.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' },
    },
    { write: (line: string) => stderrWriter().write(line) },
  )
  thresholds.set(log, threshold)
  return log
}

/** Sets the level for `log`, which `createLog` made, and all its child loggers. */
export function setLogLevel(log: Log, level: LogLevel): void {
  const threshold = thresholds.get(log)
  if (threshold !== undefined) threshold.least = severityOf(level)
}

/** Lines dropped from all logs in this process because stderr was not read. */
export function droppedLogLines(): number {
  return writer?.dropped ?? 0
}

/** Where the log goes: a descriptor to which writes do not wait for a reader. */
export function logDescriptor(): number {
  return stderrWriter().descriptor
}

function stderrWriter(): LineWriter {
  if (writer !== undefined) return writer
  const made = new LineWriter(openStderr(), { bytesMax: BUFFER_BYTES_MAX, droppedLine })
  process.on('exit', () => made.flush(FLUSH_MILLISECONDS_MAX))
  writer = made
  return made
}

function droppedLine(lines: number): string {
  return `${JSON.stringify({ level: 'warn', time: now(), lines, event: 'log lines dropped: stderr was not read' })}\n`
}

function now(): string {
  return new Date().toISOString()
}

function severityOf(level: LogLevel): number {
  return level === 'silent' ? Number.POSITIVE_INFINITY : (levels.values[level] as number)
}

/**
 * The log: one JSON line an event on stderr. The event name is a fixed text that can be searched for; what varies goes
 * into fields. Fields that could carry a secret are cut out by name as a last line of defence. A reader that does not
 * read never stops the process: lines beyond a buffer are dropped, counted and reported when writing works again. What
 * is in the buffer when the process ends, or crashes, is written for a bounded time.
 */
import { type Logger, levels, pino } from 'pino'
import { LineWriter, openStderr } from './line-writer.ts'

export type Log = Logger

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Names of members that are never written, at the top or one level down. */
const SECRET_MEMBERS = ['authorization', 'token', 'access_token', 'client_secret', 'secret', 'password', 'pepper']

/** About 4,000 lines: some seconds of a busy node, and nothing to the memory of the process. */
const BUFFER_BYTES_MAX = 1_048_576
/** How long the end of the process waits for a reader of the log. */
const FLUSH_MILLISECONDS_MAX = 1_000

/** The level below which nothing is written, of every log that was created here. */
const thresholds = new WeakMap<Log, { least: number }>()

/** The one writer of stderr, made with the first line. */
let writer: LineWriter | undefined

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

/** From now on `log`, which `createLog` made, and all its children write from this level on. */
export function setLogLevel(log: Log, level: LogLevel): void {
  const threshold = thresholds.get(log)
  if (threshold !== undefined) threshold.least = severityOf(level)
}

/** Lines of all logs of this process that were dropped because nobody read them. */
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
  return `${JSON.stringify({ level: 'warn', time: now(), lines, event: 'log lines dropped: nobody read them' })}\n`
}

function now(): string {
  return new Date().toISOString()
}

function severityOf(level: LogLevel): number {
  return level === 'silent' ? Number.POSITIVE_INFINITY : (levels.values[level] as number)
}

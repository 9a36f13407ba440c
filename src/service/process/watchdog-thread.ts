/**
 * The thread of the watchdog. At each wake-up it looks for an increment by the main thread, and measures the time without one
 * (`hang-meter`), in which neither a process that is stopped (SIGSTOP) or suspended counts, because this thread does not wake
 * up then either, nor one that gets no processor. After `hangMilliseconds` it writes one log line with the stack of the main
 * thread, and ends the process with exit code 70. A worker thread cannot set the exit code of the process, so it makes the
 * main thread exit through the inspector, which interrupts running JavaScript. A main thread that is blocked in a system call
 * cannot be interrupted and is killed.
 */
import { readFileSync, writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { workerData } from 'node:worker_threads'
import { HangMeter, readThreadStat, type ThreadReading } from './hang-meter.ts'

export interface WatchdogStart {
  /** One 32-bit number, which the main thread increments. */
  readonly answers: SharedArrayBuffer
  readonly periodMilliseconds: number
  /** The setting `process.hang_seconds`. */
  readonly hangMilliseconds: number
  /** File descriptor that the log line is written to. */
  readonly descriptor: number
}

/** How long the main thread may take to report its stack, and then to exit. */
const INSPECTION_MILLISECONDS = 2_000
/** EX_SOFTWARE of `sysexits.h`; docs/how-to/production.md documents it. */
const EXIT_CODE = 70
/** Node would print a line about the inspector, which is not JSON, at the exit: stderr is closed before that. */
const EXIT = `process.on('exit', () => process.getBuiltinModule?.('node:fs').closeSync(2)); process.exit(${EXIT_CODE})`

/** The main thread has the id of the process (Linux). */
const STAT_FILE = `/proc/self/task/${process.pid}/stat`

const { answers, periodMilliseconds, hangMilliseconds, descriptor } = workerData as WatchdogStart
const counter = new Int32Array(answers)
const meter = new HangMeter(readMainThread())
let seen = Atomics.load(counter, 0)

const timer = setInterval(() => {
  const now = Atomics.load(counter, 0)
  const isAlive = now !== seen
  seen = now
  if (meter.observe(periodMilliseconds, readMainThread(), isAlive) < hangMilliseconds) return
  clearInterval(timer)
  endProcess()
}, periodMilliseconds)

function readMainThread(): ThreadReading {
  try {
    const reading = readThreadStat(readFileSync(STAT_FILE, 'latin1'))
    if (reading !== undefined) return reading
  } catch (error) {
    // Not Linux, or no descriptor is free.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
  }
  const { user, system } = process.cpuUsage()
  return { processorMilliseconds: (user + system) / 1000, isBlocked: false }
}

function endProcess(): void {
  const session = new Session()
  session.connectToMainThread()
  let isReported = false
  const report = (stack: string): void => {
    if (isReported) return
    isReported = true
    writeLine(stack)
    session.post('Runtime.evaluate', { expression: EXIT })
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), INSPECTION_MILLISECONDS)
  }
  session.post('Runtime.evaluate', { expression: 'new Error().stack' }, (error, answer) => {
    report(error === null ? String(answer.result.value) : error.message)
  })
  setTimeout(() => report('the main thread does not run JavaScript: it will be killed'), INSPECTION_MILLISECONDS)
}

function writeLine(stack: string): void {
  const line = {
    level: 'error',
    time: new Date().toISOString(),
    seconds: hangMilliseconds / 1000,
    stack,
    event: 'the event loop hangs: ending the process',
  }
  try {
    writeSync(descriptor, `${JSON.stringify(line)}\n`)
  } catch (error) {
    // The log cannot be written; the process must end nevertheless.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
  }
}

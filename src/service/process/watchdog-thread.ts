/**
 * The watchdog's thread. At each wake-up it looks for an increment by the main thread, and measures the time without
 * one (`hang-meter`). A stopped (SIGSTOP) or suspended process does not count, because this thread does not wake up
 * then either, and neither does a process without a processor. After `hangMilliseconds` it writes one log line with the
 * main thread's stack, and ends the process with exit code 70. A worker thread cannot set the process's exit code, so
 * it makes the main thread exit through the inspector, which interrupts running JavaScript. A main thread blocked in a
 * system call cannot be interrupted and is killed.
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
  /** File descriptor for the log line. */
  readonly descriptor: number
}

/** How long the main thread may take to report its stack, and then to exit. */
const INSPECTION_MILLISECONDS = 2_000
/** EX_SOFTWARE in `sysexits.h`, documented in docs/how-to/production.md. */
const EXIT_CODE = 70
/** At the exit Node would print a line about the inspector, which is not JSON, so stderr is closed before. */
const EXIT = `process.on('exit', () => process.getBuiltinModule?.('node:fs').closeSync(2)); process.exit(${EXIT_CODE})`

/** The main thread has the process's id (Linux). */
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
    // The log cannot be written, but the process must end nevertheless.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
  }
}

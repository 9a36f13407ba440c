/**
 * The thread of the watchdog. It counts its wake-ups in a row without an increment by the main thread. A process that
 * is stopped (SIGSTOP) or suspended does not wake up this thread either, so that time does not count. After `missesMax`
 * of them it writes one log line with the stack of the main thread, and ends the process with exit code 70. A worker
 * thread cannot set the exit code of the process, so it makes the main thread exit through the inspector, which
 * interrupts running JavaScript. A main thread that is blocked in a system call cannot be interrupted and is killed.
 */
import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { workerData } from 'node:worker_threads'

export interface WatchdogStart {
  /** One 32-bit number, which the main thread increments. */
  readonly answers: SharedArrayBuffer
  readonly periodMilliseconds: number
  /** Wake-ups in a row without an answer that count as a hang. */
  readonly missesMax: number
  /** File descriptor that the log line is written to. */
  readonly descriptor: number
}

/** How long the main thread may take to report its stack, and then to exit. */
const INSPECTION_MILLISECONDS = 2_000
/** EX_SOFTWARE of `sysexits.h`; docs/guide/production.md documents it. */
const EXIT_CODE = 70
/** Node would print a line about the inspector, which is not JSON, at the exit: stderr is closed before that. */
const EXIT = `process.on('exit', () => process.getBuiltinModule?.('node:fs').closeSync(2)); process.exit(${EXIT_CODE})`

const { answers, periodMilliseconds, missesMax, descriptor } = workerData as WatchdogStart
const counter = new Int32Array(answers)
let seen = Atomics.load(counter, 0)
let misses = 0

const timer = setInterval(() => {
  const now = Atomics.load(counter, 0)
  misses = now === seen ? misses + 1 : 0
  seen = now
  if (misses < missesMax) return
  clearInterval(timer)
  endProcess()
}, periodMilliseconds)

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
    seconds: (misses * periodMilliseconds) / 1000,
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

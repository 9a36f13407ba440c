/**
 * The thread of the watchdog. It counts its own wake-ups during which the main thread did not answer: a process that is
 * stopped (SIGSTOP) or suspended does not wake up here either, so that time does not count. When there are too many, it
 * writes one log line with the place where the main thread is, and ends the process with exit code 70. A thread cannot
 * do that by itself: the inspector makes the main thread do it, in the middle of whatever it runs. A main thread that
 * waits inside a system call cannot be reached that way and is killed.
 */
import { writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { workerData } from 'node:worker_threads'

export interface WatchdogStart {
  /** One 32-bit number, which the main thread increments. */
  readonly answers: SharedArrayBuffer
  readonly periodMilliseconds: number
  /** So many wake-ups in a row without an answer are a hang. */
  readonly missesMax: number
  /** Where the log line goes. */
  readonly descriptor: number
}

/** How long the main thread may take to say where it is, and then to end. */
const INSPECTION_MILLISECONDS = 2_000
/** What `sysexits.h` calls an internal software error; the page on operation documents it. */
const EXIT_CODE = 70
/** The runtime would add a line of its own that is not JSON about the inspector: stderr is closed before that. */
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
    // Nobody reads the log; the process has to end all the same.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
  }
}

/**
 * Setup for test files under `npm run faults`: collects the numbers of the mutants that a file reaches, and ends a
 * process that a mutant keeps busy or waiting, which no time-out of vitest can interrupt.
 */
import { Worker } from 'node:worker_threads'
import { afterEach, inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    mutantMilliseconds: number
  }
  interface TaskMeta {
    reached?: number[]
    /** Of the process so far. */
    processorMilliseconds?: number
  }
}

/** Processor time, so that a busy machine is not taken for a loop without end. */
const WATCH = `const { workerData } = require('node:worker_threads')
const begin = performance.now()
setInterval(() => {
  const { user, system } = process.cpuUsage()
  const isBusy = (user + system) / 1_000 > workerData
  if (isBusy || performance.now() - begin > 3 * workerData) process.kill(process.pid, 'SIGKILL')
}, 500)`

const reached = new Set<number>()
Object.assign(globalThis, { reportMutant: (number: number) => void reached.add(number) })
afterEach(({ task }) => {
  const { user, system } = process.cpuUsage()
  task.meta.processorMilliseconds = (user + system) / 1_000
  task.meta.reached = [...reached]
  reached.clear()
})
new Worker(WATCH, { eval: true, workerData: inject('mutantMilliseconds') }).unref()

/**
 * Replaces `src/platform/base/thread.ts` where the program was built for this run: starts a thread from its built file.
 */
import { Worker, type WorkerOptions } from 'node:worker_threads'

export function startThread(file: string, _base: string, options: WorkerOptions): Worker {
  return new Worker(new URL(`../../dist/program/${file}.js`, import.meta.url), { ...options, execArgv: [] })
}

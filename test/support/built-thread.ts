/** In place of `src/base/thread.ts` where the sources were compiled for this run: starts a thread from its compiled file. */
import { Worker, type WorkerOptions } from 'node:worker_threads'

export function startThread(file: string, base: string, options: WorkerOptions): Worker {
  return new Worker(new URL(`${file}.js`, base.replace('/src/', '/dist/')), { ...options, execArgv: [] })
}

/** Starts a worker thread from one of the program's files, compiled or as source. */
import { Worker, type WorkerOptions } from 'node:worker_threads'

/**
 * @param file the thread's file, without its extension
 * @param base `import.meta.url` of the caller, whose extension the thread's file has too
 */
export function startThread(file: string, base: string, options: WorkerOptions): Worker {
  const all = { ...options, execArgv: [] }
  if (!base.endsWith('.ts')) return new Worker(new URL(`${file}.js`, base), all)
  // Source only. Node 20 does not apply `--import tsx` to a thread's entry file, so the entry is a line of code that
  // registers the loader and imports the file. The loader is resolved from the working directory.
  const source = JSON.stringify(new URL(`${file}.ts`, base).href)
  const code = `import('tsx/esm/api').then(({ register }) => { register(); return import(${source}) })`
  return new Worker(code, { ...all, eval: true })
}

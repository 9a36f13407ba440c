/** Starts a thread of the program from its own file, compiled or as source. */
import { Worker, type WorkerOptions } from 'node:worker_threads'

/**
 * @param file the thread's file without its ending
 * @param base `import.meta.url` of the caller, which runs from the same kind of file
 */
export function startThread(file: string, base: string, options: WorkerOptions): Worker {
  const all = { ...options, execArgv: [] }
  if (!base.endsWith('.ts')) return new Worker(new URL(`${file}.js`, base), all)
  // Source only. Node 20 does not apply `--import tsx` to the file a thread starts with, so the thread starts with a
  // line that registers the loader and imports the file; it finds the loader from the working directory.
  const source = JSON.stringify(new URL(`${file}.ts`, base).href)
  const code = `import('tsx/esm/api').then(({ register }) => { register(); return import(${source}) })`
  return new Worker(code, { ...all, eval: true })
}

/**
 * Replaces `src/platform/base/thread.ts` where the program was built for this run: starts a thread from its built file.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Its types are the browsers'. */
declare const WebAssembly: { readonly Module: new (code: Uint8Array) => object }

const STORE_CODE = fileURLToPath(new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite')))

/** Kept because V8 shares the code of equal modules: each later store of the process saves a fifth of its start. */
const storeModules: object[] = []

export function startThread(file: string, _base: string, options: WorkerOptions): Worker {
  const isFirstStore = file === './embedded-worker' && storeModules.length === 0
  if (isFirstStore) storeModules.push(new WebAssembly.Module(readFileSync(STORE_CODE)))
  return new Worker(new URL(`../../dist/program/${file}.js`, import.meta.url), { ...options, execArgv: [] })
}

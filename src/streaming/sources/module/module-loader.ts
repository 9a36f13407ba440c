/**
 * Loads an operator's ES module as a source (docs/how-to/feeding-your-own-book.md, "In process"): checks its contract
 * version and its functions. Loading executes the module. Failures are returned, never thrown.
 */
import { pathToFileURL } from 'node:url'
import type { Clock } from '../../../platform/base/clock.ts'
import { isObject } from '../../../platform/base/json-value.ts'
import type { Log } from '../../../platform/base/log.ts'
import { withTimeLimit } from '../../../platform/base/time-limit.ts'

/** The contract version, as the module exports it. */
const CONTRACT_VERSION = 1
const LOAD_MILLISECONDS_MAX = 10_000

/** The object returned by a module's `createSource`. Its functions may also return promises. */
export interface ModuleEngine {
  /** Starts the module. `listener` takes messages as objects, for any symbol, at any time. */
  start(listener: (message: unknown) => void): unknown
  /** Requests a market's SNAPSHOT. */
  requestSnapshot(symbol: string, reason: string): unknown
  stop(): unknown
}

export type CreateEngine = (parts: { readonly symbols: readonly string[]; readonly log: Log }) => unknown

/** Loads the module at a path. Returns its `createSource`, or why the module is not a source. */
export async function loadModule(path: string, clock: Clock): Promise<CreateEngine | string> {
  let exported: unknown
  try {
    const loading: Promise<unknown> = import(pathToFileURL(path).href)
    // A module whose top level waits for ever must not keep the start waiting.
    loading.catch(() => undefined)
    exported = await withTimeLimit(clock, LOAD_MILLISECONDS_MAX, loading, () => {
      throw new Error(`it was not loaded within ${LOAD_MILLISECONDS_MAX / 1000} s`)
    })
  } catch (error) {
    return `the module ${path} cannot be loaded: ${errorText(error)}`
  }
  const { tidegate: version, createSource } = exported as Readonly<Record<string, unknown>>
  if (version !== CONTRACT_VERSION) {
    const found = version === undefined ? 'exports no tidegate' : `exports tidegate = ${errorText(version)}`
    return `the module ${path} ${found}, but this program supports version ${CONTRACT_VERSION} of the contract`
  }
  if (typeof createSource !== 'function') return `the module ${path} exports no function createSource`
  return createSource as CreateEngine
}

/** The result of `createSource` as an engine; undefined when a function is missing. */
export function engineOf(value: unknown): ModuleEngine | undefined {
  if (!isObject(value)) return undefined
  const { start, requestSnapshot, stop } = value
  const has = typeof start === 'function' && typeof requestSnapshot === 'function' && typeof stop === 'function'
  return has ? (value as unknown as ModuleEngine) : undefined
}

/** What a module threw, which may be anything. */
export function errorText(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error)
  } catch {
    return 'a value without a text form'
  }
}

/**
 * What the client takes from the runtime: requests, sockets, time and randomness. Node.js, browsers, Deno and Bun
 * provide all of it, except that Node.js 20 needs the package `ws` for sockets. Tests pass their own.
 */
import { TidegateError } from './errors.ts'

/** The WebSocket members used by the client. */
export interface Socket {
  readonly protocol: string
  onopen: (() => void) | null
  onmessage: ((event: { readonly data: unknown }) => void) | null
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null
  onerror: ((event: unknown) => void) | null
  send(text: string): void
  close(code?: number): void
}

type SocketClass = new (url: string, protocols: string[]) => Socket

export interface Platform {
  fetch(url: string, init: RequestInit): Promise<Response>
  socket(url: string, protocols: string[]): Promise<Socket>
  /** Milliseconds on a clock that is never set. */
  now(): number
  /** Calls `callback` once after the delay. The returned function cancels the call. */
  after(milliseconds: number, callback: () => void): () => void
  /** In [0, 1). */
  random(): number
}

export const PLATFORM: Platform = {
  fetch: (url, init) => fetch(url, init),
  async socket(url, protocols) {
    const { WebSocket: builtIn } = globalThis as { WebSocket?: unknown }
    const Class = (builtIn ?? (await packageWs())) as SocketClass
    return new Class(url, protocols)
  },
  now: () => performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
  random: Math.random,
}

async function packageWs(): Promise<unknown> {
  try {
    return (await import('ws')).WebSocket
  } catch {
    throw new TidegateError(
      'NO_WEBSOCKET',
      'there is no WebSocket here: run `npm install ws`, or use Node.js 22 or later',
    )
  }
}

/** Resolves after the delay. Rejects with the signal's reason as soon as it is aborted. */
export function sleep(platform: Platform, milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  let cancel: () => void = () => undefined
  const elapsed = new Promise<void>((resolve) => {
    cancel = platform.after(milliseconds, resolve)
  })
  return abortable(elapsed, signal).finally(() => cancel())
}

/** Settles like the promise, or rejects with the signal's reason as soon as it is aborted. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/**
 * The result of `work`. Its signal is aborted when `signal` is, or after the given time. Leaves no timer and no
 * listener, unlike `AbortSignal.any`, whose listeners stay on a long-lived signal in Node.js 20.
 */
export async function withDeadline<T>(
  platform: Platform,
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const abort = (): void => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  else signal?.addEventListener('abort', abort, { once: true })
  const cancel = platform.after(milliseconds, () =>
    controller.abort(new Error(`no answer in ${milliseconds / 1_000} s`)),
  )
  try {
    return await work(controller.signal)
  } finally {
    cancel()
    signal?.removeEventListener('abort', abort)
  }
}

/**
 * A queue for costly work: a few callers at a time run, and the others in a shared pool wait. Callers with one key wait
 * in order, and the keys alternate, so a key with many callers delays another key's first caller by one. Preferred
 * callers go before all others. A caller whose connection closes gives its place up, so the listener's connections
 * bound the queue too.
 */
import type { Socket } from 'node:net'
import { SharedPool } from '../../platform/base/shared-pool.ts'
import { Problem } from '../../platform/http/problem.ts'

export interface Caller {
  /** The holder in the pool. */
  readonly holder: string
  readonly key: string
  readonly isPreferred: boolean
  /** The caller's connection. */
  readonly socket: Pick<Socket, 'once' | 'off'>
}

type Begin = () => void

export class FairQueue {
  readonly #atOnceMax: number
  readonly #pool: SharedPool
  /** By preference, then by key: the key whose caller is next comes first. */
  readonly #waiting = { preferred: new Map<string, Begin[]>(), others: new Map<string, Begin[]>() }
  #running = 0

  constructor(atOnceMax: number, size: number) {
    this.#atOnceMax = atOnceMax
    this.#pool = new SharedPool(size)
  }

  /** @throws {Problem} 503 when too many wait, or the connection has closed meanwhile */
  async take<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> {
    if (this.#pool.take(caller.holder) !== undefined) throw tooMany()
    try {
      return await this.#run(caller, work)
    } finally {
      this.#pool.add(caller.holder, -1)
    }
  }

  async #run<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#atOnceMax) await this.#wait(caller)
    else this.#running++
    try {
      return await work()
    } finally {
      const next = this.#next()
      if (next === undefined) this.#running--
      else next()
    }
  }

  /** Resolves when the caller has an ended caller's place. */
  #wait({ key, isPreferred, socket }: Caller): Promise<void> {
    const queue = isPreferred ? this.#waiting.preferred : this.#waiting.others
    return new Promise((resolve, reject) => {
      const begin = () => {
        socket.off('close', leave)
        resolve()
      }
      const leave = () => {
        this.#remove(queue, key, begin)
        reject(tooMany())
      }
      socket.once('close', leave)
      queue.set(key, [...(queue.get(key) ?? []), begin])
    })
  }

  #next(): Begin | undefined {
    for (const queue of [this.#waiting.preferred, this.#waiting.others]) {
      for (const [key, [begin]] of queue) {
        if (begin === undefined) continue
        this.#remove(queue, key, begin)
        return begin
      }
    }
    return undefined
  }

  /** The key, if others with it wait, is behind all other keys from now on. */
  #remove(queue: Map<string, Begin[]>, key: string, begin: Begin): void {
    const rest = (queue.get(key) ?? []).filter((each) => each !== begin)
    queue.delete(key)
    if (rest.length > 0) queue.set(key, rest)
  }
}

function tooMany(): Problem {
  return new Problem('unavailable', 'too many logins are being checked', { headers: { 'retry-after': '5' } })
}

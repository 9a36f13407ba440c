import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { FairQueue } from '../../../src/access/operators/fair-queue.ts'

/** Callers that end on request, and the order in which they began. */
class Callers {
  readonly begun: string[] = []
  readonly #queue: FairQueue
  readonly #ends = new Map<string, () => void>()

  constructor(atOnceMax: number, size: number) {
    this.#queue = new FairQueue(atOnceMax, size)
  }

  arrive(id: string, { key = id, isPreferred = false, socket = new EventEmitter() } = {}): Promise<void> {
    return this.#queue.take({ holder: id, key, isPreferred, socket: socket as never }, () => {
      this.begun.push(id)
      return new Promise((resolve) => void this.#ends.set(id, resolve))
    })
  }

  async end(id: string): Promise<void> {
    this.#ends.get(id)?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('places of a fair queue', () => {
  it("fair-queue places go to one key after the other, to preferred callers first, and to a key's callers in order", async () => {
    const callers = new Callers(2, 100)
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map((id) => callers.arrive(id, { key: id.charAt(0) }))
    all.push(callers.arrive('known', { isPreferred: true }))
    expect(callers.begun).toEqual(['a1', 'a2'])
    for (const id of ['a1', 'a2', 'known', 'a3', 'b1', 'c1', 'a4', 'b2']) await callers.end(id)
    expect(callers.begun).toEqual(['a1', 'a2', 'known', 'a3', 'b1', 'c1', 'a4', 'b2'])
    await Promise.all(all)
  })

  it('fair-queue places are refused when too many callers wait, and given up when the connection closes', async () => {
    const callers = new Callers(1, 3)
    const socket = new EventEmitter()
    const first = callers.arrive('first')
    const gone = callers.arrive('gone', { socket })
    const next = callers.arrive('next')
    await expect(callers.arrive('refused')).rejects.toMatchObject({ code: 'unavailable' })
    socket.emit('close')
    await expect(gone).rejects.toMatchObject({ code: 'unavailable' })
    const last = callers.arrive('last')
    for (const id of ['first', 'next', 'last']) await callers.end(id)
    expect(callers.begun).toEqual(['first', 'next', 'last'])
    await Promise.all([first, next, last])
    expect(socket.listenerCount('close')).toBe(0)
  })
})

/**
 * The listeners on each notification channel, called in the order in which they were added. One listener's error is
 * logged and does not affect the others.
 */
import type { Log } from '../base/log.ts'
import type { NotificationListener } from './db.ts'

export class NotificationListeners {
  readonly #log: Log
  readonly #channels = new Map<string, Set<NotificationListener>>()

  constructor(log: Log) {
    this.#log = log
  }

  channels(): string[] {
    return [...this.#channels.keys()]
  }

  has(channel: string): boolean {
    return this.#channels.has(channel)
  }

  add(channel: string, listener: NotificationListener): void {
    const listeners = this.#channels.get(channel) ?? new Set()
    this.#channels.set(channel, listeners.add(listener))
  }

  remove(channel: string, listener: NotificationListener): void {
    const listeners = this.#channels.get(channel)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#channels.delete(channel)
  }

  notify(channel: string, payload: string): void {
    for (const listener of [...(this.#channels.get(channel) ?? [])]) this.#call(() => listener.onNotify(payload))
  }

  reconnected(): void {
    const all = [...this.#channels.values()].flatMap((listeners) => [...listeners])
    for (const listener of all) this.#call(() => listener.onReconnect())
  }

  #call(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#log.error({ err: error }, 'store listener failed')
    }
  }
}

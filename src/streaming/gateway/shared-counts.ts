/**
 * Connections by client where several processes have the same limits: this process's are reported to the main process
 * a moment after a change, and the others' come back as often. A limit may be exceeded by what arrives in between.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { OtherConnections } from './gateway.ts'
import type { Hub } from './hub.ts'
import type { ConnectionCounts } from './process-messages.ts'

/** Between two reports: a process knows the others' connections within two of them. */
export const COUNTS_MILLISECONDS = 50

export class SharedCounts implements OtherConnections {
  readonly #clock: Clock
  readonly #report: (counts: ConnectionCounts) => void
  readonly #changed = new Set<string>()
  readonly #others = new Map<string, number>()
  #total = 0
  #timer: Timer | undefined

  constructor(clock: Clock, report: (counts: ConnectionCounts) => void) {
    this.#clock = clock
    this.#report = report
  }

  get total(): number {
    return this.#total
  }

  ofClient(clientId: string): number {
    return this.#others.get(clientId) ?? 0
  }

  /** Reports a client's connections in this process. */
  changed(clientId: string, hub: Pick<Hub, 'sessions' | 'connectionsOfClient'>): void {
    this.#changed.add(clientId)
    this.#timer ??= this.#clock.schedule(COUNTS_MILLISECONDS, () => {
      this.#timer = undefined
      const clients = [...this.#changed].map((id) => [id, hub.connectionsOfClient(id)] as const)
      this.#changed.clear()
      this.#report({ total: hub.sessions.size, clients })
    })
  }

  receive({ total, clients }: ConnectionCounts): void {
    this.#total = total
    for (const [id, count] of clients) {
      if (count === 0) this.#others.delete(id)
      else this.#others.set(id, count)
    }
  }
}

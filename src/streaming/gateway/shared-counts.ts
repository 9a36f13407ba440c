/**
 * What customers and clients use where several processes have the same limits: this process's counts are reported to
 * the main process a moment after a change, and the others' come back as often. A limit may be exceeded by what arrives in between.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Hub } from './hub.ts'
import type { ConnectionCounts } from './process-messages.ts'
import { HolderCounts, type Holders, type HolderUse, type OtherConnections } from './session-index.ts'

/** Between two reports: a process knows the others' connections within two of them. */
export const COUNTS_MILLISECONDS = 50

export class SharedCounts implements OtherConnections {
  readonly #clock: Clock
  readonly #report: (counts: ConnectionCounts) => void
  readonly #changed = new Set<string>()
  readonly #others = new HolderCounts()
  #total = 0
  #timer: Timer | undefined

  constructor(clock: Clock, report: (counts: ConnectionCounts) => void) {
    this.#clock = clock
    this.#report = report
  }

  get total(): number {
    return this.#total
  }

  useOf(holderId: string): HolderUse {
    return this.#others.of(holderId)
  }

  /** Reports what a client and its customer use in this process. */
  changed({ customerId, clientId }: Holders, hub: Pick<Hub, 'sessions' | 'uses'>): void {
    this.#changed.add(customerId).add(clientId)
    this.#timer ??= this.#clock.schedule(COUNTS_MILLISECONDS, () => {
      this.#timer = undefined
      const holders = [...this.#changed].map((id) => [id, hub.uses.of(id)] as const)
      this.#changed.clear()
      this.#report({ total: hub.sessions.size, holders })
    })
  }

  receive({ total, holders }: ConnectionCounts): void {
    this.#total = total
    for (const [id, use] of holders) this.#others.set(id, use)
  }
}

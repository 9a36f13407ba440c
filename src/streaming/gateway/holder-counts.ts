/** How much of this process each customer and client uses, by its id: connections, and subscriptions besides heartbeats. */
export interface HolderUse {
  readonly connections: number
  readonly subscriptions: number
}

/** A token's customer and client. */
export interface Holders {
  readonly customerId: string
  readonly clientId: string
}

export const UNUSED: HolderUse = { connections: 0, subscriptions: 0 }

export function sumOf(one: HolderUse, other: HolderUse): HolderUse {
  return {
    connections: one.connections + other.connections,
    subscriptions: one.subscriptions + other.subscriptions,
  }
}

export class HolderCounts {
  readonly #uses = new Map<string, HolderUse>()

  of(holderId: string): HolderUse {
    return this.#uses.get(holderId) ?? UNUSED
  }

  add({ customerId, clientId }: Holders, difference: HolderUse): void {
    for (const id of [customerId, clientId]) this.set(id, sumOf(this.of(id), difference))
  }

  set(holderId: string, use: HolderUse): void {
    if (use.connections === 0 && use.subscriptions === 0) this.#uses.delete(holderId)
    else this.#uses.set(holderId, use)
  }

  get holderIds(): Iterable<string> {
    return this.#uses.keys()
  }

  clear(): void {
    this.#uses.clear()
  }
}

/**
 * All sessions in this process, by client and customer, so that a change to a few clients visits only their sessions, and
 * what each client and customer uses. It keeps nothing about clients without a session.
 */
import type { AffectedTokens } from '../../access/clients/affected-tokens.ts'

interface Indexed {
  readonly token: { readonly clientId: string; readonly customerId: string }
}

export class SessionIndex<Session extends Indexed> {
  readonly #all = new Set<Session>()
  readonly #ofClient = new Map<string, Set<Session>>()
  readonly #clientsOfCustomer = new Map<string, Set<string>>()

  get all(): ReadonlySet<Session> {
    return this.#all
  }

  add(session: Session): void {
    const { clientId, customerId } = session.token
    this.#all.add(session)
    append(this.#ofClient, clientId, session)
    append(this.#clientsOfCustomer, customerId, clientId)
  }

  /** Removes a session. Returns whether it was present. */
  remove(session: Session): boolean {
    if (!this.#all.delete(session)) return false
    const { clientId, customerId } = session.token
    removeFrom(this.#ofClient, clientId, session)
    if (!this.#ofClient.has(clientId)) removeFrom(this.#clientsOfCustomer, customerId, clientId)
    return true
  }

  /** The sessions whose tokens may be affected, each at least once. A copy: closing a session may remove it. */
  affectedBy({ all, customerIds, clientIds }: AffectedTokens): readonly Session[] {
    if (all) return [...this.#all]
    const ofCustomers = [...customerIds].flatMap((id) => [...(this.#clientsOfCustomer.get(id) ?? [])])
    return [...clientIds, ...ofCustomers].flatMap((id) => [...(this.#ofClient.get(id) ?? [])])
  }
}

function append<Value>(index: Map<string, Set<Value>>, key: string, value: Value): void {
  const values = index.get(key)
  if (values === undefined) index.set(key, new Set([value]))
  else values.add(value)
}

function removeFrom<Value>(index: Map<string, Set<Value>>, key: string, value: Value): void {
  const values = index.get(key)
  values?.delete(value)
  if (values?.size === 0) index.delete(key)
}

/** What a customer or client uses: connections, and subscriptions besides heartbeats. */
export interface HolderUse {
  readonly connections: number
  readonly subscriptions: number
}

/** Connections at other processes that have the same limits. */
export interface OtherConnections {
  readonly total: number
  useOf(holderId: string): HolderUse
}

/** A token's customer and client. */
export interface Holders {
  readonly customerId: string
  readonly clientId: string
}

const UNUSED: HolderUse = { connections: 0, subscriptions: 0 }

function sumOf(one: HolderUse, other: HolderUse): HolderUse {
  return {
    connections: one.connections + other.connections,
    subscriptions: one.subscriptions + other.subscriptions,
  }
}

/** What each customer and client uses of a process, by its id. */
export class HolderCounts {
  readonly #uses = new Map<string, HolderUse>()

  of(holderId: string): HolderUse {
    return this.#uses.get(holderId) ?? UNUSED
  }

  /** With its use at other processes. */
  totalOf(holderId: string, others: OtherConnections | undefined): HolderUse {
    return sumOf(this.of(holderId), others?.useOf(holderId) ?? UNUSED)
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

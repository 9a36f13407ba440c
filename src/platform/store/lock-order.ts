/**
 * The order of a transaction's locks on everything that decides about money. A statement that may wait for such a lock
 * gets its clause here, or names its locks here before it is sent. Transactions that lock in one order never wait for
 * each other in a circle. A lock out of order is an error in our own code, and throws before anything is sent.
 *
 * Rows written only by the holder of such a lock have none of their own: transfers, attempts, work, addresses.
 */
import { assert } from '../base/assert.ts'
import type { Transaction } from './db.ts'
import { type RawBuilder, sql } from './sql.ts'

/** From the first to the last. Several locks of one kind are taken by one statement, in name order. */
const ORDER = [
  'controls',
  'delivery',
  'deposit',
  /** One amount of bank payments. */
  'bank amount',
  'rule',
  'destination',
  'account',
  'orchestration',
  /** A customer's use of its limits in one asset. */
  'limit',
  /**
   * The orchestration or the returned deposit for a locked delivery. Many may follow each other in any order: the
   * delivery's lock keeps others away, and the deposit's orchestration has failed before its money is returned.
   */
  'owner',
  'market',
  'desk',
  'ledger entry',
  'fees',
  'balance',
  'customer clock',
] as const

export type LockKind = (typeof ORDER)[number]

interface Locks {
  /** The last kind for which the transaction may have waited. */
  last?: LockKind
  mayRepeat?: boolean
  /** All its locks. */
  readonly names: Set<string>
}

const LOCKS = new WeakMap<object, Locks>()

function locksOf<Tables>(transaction: Transaction<Tables>): Locks {
  const locks = LOCKS.get(transaction) ?? { names: new Set() }
  LOCKS.set(transaction, locks)
  return locks
}

/**
 * Names the next statement's locks. Locks that the transaction holds already may be named again.
 * @param mayRepeat others of this kind may follow in a later statement: they are shared, or of the kind `owner`
 */
export function locking<Tables>(
  transaction: Transaction<Tables>,
  kind: LockKind,
  names: readonly string[],
  mayRepeat = false,
): void {
  const locks = locksOf(transaction)
  const added = names.filter((name) => !locks.names.has(`${kind} ${name}`))
  if (added.length === 0) return
  if (locks.last !== undefined) {
    const isRepeated = kind === locks.last && mayRepeat && locks.mayRepeat
    const isLater = ORDER.indexOf(kind) > ORDER.indexOf(locks.last)
    assert(isRepeated || isLater, `${kind} may not be locked after ${locks.last}: transactions could wait in a circle`)
  }
  locks.last = kind
  locks.mayRepeat = mayRepeat
  holding(transaction, kind, added)
}

/** Names what the transaction has locked by creating it: no other one can hold it. */
export function holding<Tables>(transaction: Transaction<Tables>, kind: LockKind, names: readonly string[]): void {
  const locks = locksOf(transaction)
  for (const name of names) locks.names.add(`${kind} ${name}`)
}

/** The clause for locking a `select`'s rows. */
export function forUpdate<Tables>(
  transaction: Transaction<Tables>,
  kind: LockKind,
  names: readonly string[],
): RawBuilder<unknown> {
  locking(transaction, kind, names)
  return sql`for update`
}

/** The clause that keeps a `select`'s rows from changing. A transaction that changes one locks no other of its kind. */
export function forShare<Tables>(
  transaction: Transaction<Tables>,
  kind: LockKind,
  names: readonly string[],
): RawBuilder<unknown> {
  locking(transaction, kind, names, true)
  return sql`for share`
}

/** The clause that locks only rows without another transaction's lock. It never waits, so it may stand anywhere. */
export const unlessLocked = sql`for update skip locked`

/**
 * The clause keeps a `select`'s rows from changing, and leaves out rows locked by a writer. It never waits, so it may
 * stand anywhere.
 */
export const shareUnlessLocked = sql`for share skip locked`

/** Waits for the advisory locks with these names, which are one kind's. */
export async function lockNames<Tables>(
  transaction: Transaction<Tables>,
  kind: LockKind,
  names: readonly string[],
): Promise<void> {
  const sorted = [...new Set(names)].sort()
  locking(transaction, kind, sorted)
  await sql`
    select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest(${sorted}::text[]) as wanted (name)
  `.execute(transaction)
}

/** Finds which directory records differ from the ones read, so reading everything again changes only these. Pure. */
import type { ClientRecord, CustomerRecord, Records } from './directory-records.ts'

/** The records in `after` that are new or differ from `before`, and the missing ones' ids. */
export function differentRecords<Record>(
  before: ReadonlyMap<string, Record>,
  after: readonly Record[],
  idOf: (record: Record) => string,
  isEqual: (before: Record, after: Record) => boolean,
): Records<Record> {
  const records = after.filter((record) => {
    const previous = before.get(idOf(record))
    return previous === undefined || !isEqual(previous, record)
  })
  const ids = records.map(idOf)
  const known = new Set(after.map(idOf))
  for (const id of before.keys()) if (!known.has(id)) ids.push(id)
  return { ids, records }
}

export function isEqualCustomer(one: CustomerRecord, other: CustomerRecord): boolean {
  return (
    one.name === other.name &&
    one.enabled === other.enabled &&
    one.streaming === other.streaming &&
    one.plan === other.plan
  )
}

export function isEqualClient(one: ClientRecord, other: ClientRecord): boolean {
  return (
    one.enabled === other.enabled &&
    one.customerId === other.customerId &&
    one.name === other.name &&
    one.plan === other.plan &&
    one.tokensValidFromSeconds === other.tokensValidFromSeconds &&
    isEqualSet(one.scopes, other.scopes) &&
    isEqualSet(one.publishMarkets, other.publishMarkets)
  )
}

/** Whether two lists have the same hashes, in any order. */
export function areEqualHashes(one: readonly Uint8Array[], other: readonly Uint8Array[]): boolean {
  if (one.length !== other.length) return false
  return one.every((hash) => other.some((each) => Buffer.compare(hash, each) === 0))
}

const NONE: ReadonlySet<string> = new Set()

function isEqualSet(one: ReadonlySet<string> = NONE, other: ReadonlySet<string> = NONE): boolean {
  if (one.size !== other.size) return false
  for (const member of one) if (!other.has(member)) return false
  return true
}

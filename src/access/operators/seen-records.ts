/**
 * A request's record, as one operator saw it and as it is now: its version, and the fields changed between the two.
 * Pure.
 */
import { createHash } from 'node:crypto'
import { isObject } from '../../platform/base/json-value.ts'

/** The answer from the call that shows the record. */
export type SeenRecord = Readonly<Record<string, unknown>>

export interface FieldChange {
  /** The field's path, such as `destination.crypto.address`. */
  readonly field: string
  /** Absent: the record did not have the field. */
  readonly before?: unknown
  /** Absent: the record no longer has it. */
  readonly now?: unknown
}

/** For a record that does not exist yet. */
const NO_VERSION = 'none'
/** 128 bits from the digest. */
const VERSION_CHARACTERS = 22
/** Use, and its times, which change without a decision. */
const UNCOUNTED: readonly string[] = ['last_login_at', 'last_used_at', 'use']
/** Its members have names that customers choose: all count. */
const METADATA = 'metadata'

/** A digest over everything that an operator can decide by. */
export function versionOf(record: SeenRecord | undefined): string {
  if (record === undefined) return NO_VERSION
  const text = JSON.stringify(canonical(record))
  return createHash('sha256').update(text).digest('base64url').slice(0, VERSION_CHARACTERS)
}

/** The differing fields, in path order. A list is one field. */
export function changesBetween(before: SeenRecord, now: SeenRecord): readonly FieldChange[] {
  const [old, current] = [fieldsOf(before), fieldsOf(now)]
  const paths = [...new Set([...old.keys(), ...current.keys()])].sort()
  return paths.flatMap((field) => {
    if (JSON.stringify(old.get(field)) === JSON.stringify(current.get(field))) return []
    const was = old.has(field) ? { before: old.get(field) } : {}
    return [{ field, ...was, ...(current.has(field) ? { now: current.get(field) } : {}) }]
  })
}

function fieldsOf(record: SeenRecord): ReadonlyMap<string, unknown> {
  const fields = new Map<string, unknown>()
  const visit = (value: unknown, path: string): void => {
    const members = isObject(value) ? Object.entries(value) : []
    if (members.length === 0) fields.set(path, value)
    for (const [name, member] of members) visit(member, path === '' ? name : `${path}.${name}`)
  }
  visit(canonical(record), '')
  return fields
}

/** Members sorted by name: the store does not keep their order. */
function canonical(value: unknown, uncounted = UNCOUNTED): unknown {
  if (Array.isArray(value)) return value.map((entry) => canonical(entry, uncounted))
  if (!isObject(value)) return value
  const members = Object.entries(value).filter(([name]) => !uncounted.includes(name))
  return Object.fromEntries(
    members
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, canonical(member, name === METADATA ? [] : uncounted)]),
  )
}

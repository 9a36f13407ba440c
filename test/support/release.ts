/** Releases, as a person makes them who has read the record. */
import { RELEASABLE_GATES, type StoredGate } from '../../src/money/gates/model.ts'
import type { Release } from '../../src/money/gates/release.ts'

/** A record in the operator API. */
export interface ReleasedRecord {
  readonly gates?: readonly StoredGate[]
  readonly version?: string
}

/** Opens all the record's closed gates that a release may open. Of a record without one, a gate that is not closed. */
export function releaseOf({ gates = [], version = 'unknown' }: ReleasedRecord): Release {
  const named = RELEASABLE_GATES.filter((gate) => gates.some(({ code }) => code === gate))
  return { gates: named.length === 0 ? ['REVIEW'] : named, version, reason: 'checked' }
}

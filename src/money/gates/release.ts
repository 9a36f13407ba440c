/**
 * A release: the operator's decision that a waiting movement passes some of its closed gates. It names these gates, and
 * the version of the record that its operator saw.
 */
import { type Static, Type } from 'typebox'
import { Problem } from '../../platform/http/problem.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { GATE_CODES, type GateCode, RELEASABLE_GATES, type StoredGate } from './model.ts'

/** In the operator's records. */
export const ClosedGates = Type.Array(Type.Object({ code: textChoice(GATE_CODES), detail: Type.String() }), {
  description: 'All closed gates that stop it, at the last look. Absent: none',
})

/** In the operator's records that can be released. */
export const RecordVersion = Type.String({ description: 'Changes with the record, for `release`' })

export const ReleaseBody = Type.Object(
  {
    gates: Type.Array(textChoice(RELEASABLE_GATES), {
      minItems: 1,
      maxItems: RELEASABLE_GATES.length,
      uniqueItems: true,
      description: 'The gates to open, among the record’s closed ones. No release opens the others',
    }),
    version: Type.String({ minLength: 1, maxLength: 100, description: 'The record’s `version` that was seen' }),
    reason: Type.String({ minLength: 1, maxLength: 1_000 }),
  },
  { additionalProperties: false },
)

export type Release = Static<typeof ReleaseBody>

/** The record to release, locked. */
export interface Releasable {
  readonly version: string
  /** All closed gates, as shown and as found now. */
  readonly closed: readonly Pick<StoredGate, 'code'>[]
  /** Its state, for a 409. */
  readonly current: string
}

/** Throws 409 `record_changed` for another version, and 409 `invalid_state` when a named gate is not closed. */
export function checkRelease({ gates, version }: Release, { version: now, closed, current }: Releasable): void {
  if (version !== now) {
    throw new Problem('record_changed', `version: the record has changed since ${version}: read it again`)
  }
  const open = gates.find((gate) => !closed.some(({ code }) => code === gate))
  if (open === undefined) return
  throw new Problem('invalid_state', `gates: ${open} is not closed`, { meta: { current } })
}

/** The opened gates after a release. */
export function withOpened(opened: readonly GateCode[], { gates }: Release): readonly GateCode[] {
  return [...new Set([...opened, ...gates])]
}

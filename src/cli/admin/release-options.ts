/** The options of the verbs that release a movement from closed gates. */
import type { AdminOption, Given } from './admin-verb.ts'

export const RELEASE_OPTIONS: readonly AdminOption[] = [
  {
    flags: '--gate <gate...>',
    description: 'ACCOUNT_BLOCKED, RECEIVABLE, LIMIT, REVIEW or OPERATOR_HOLD: a closed gate that it may pass',
    isRequired: true,
  },
  { flags: '--seen <version>', description: 'the version printed by show', isRequired: true },
  { flags: '--reason <text>', description: 'why', isRequired: true },
]

export function releaseBody({ options: { gate, seen, reason } }: Given) {
  return { gates: gate, version: seen, reason }
}

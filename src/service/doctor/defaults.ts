/** Settings whose default the store keeps: those at an earlier release's behaviour, and the rule about them. */
import { describeProblem } from '../config/problem-list.ts'
import type { Config } from '../config/settings.ts'
import type { Origins } from '../config/settings-in-force.ts'
import { earlierKeys, type StoreDefault } from '../config/store-defaults.ts'
import { unnoticedDestinations } from '../config/unapproved-destinations.ts'
import { checkFindings, type Finding, warn } from './finding.ts'

export function examineDefaults(origins: Origins, defaults: readonly StoreDefault[]): Finding[] {
  const keys = earlierKeys(origins, defaults)
  if (keys.length === 0) return []
  const detail = `the store is older than ${keys.join(', ')}, and keeps its earlier behaviour`
  return [warn('settings', detail, 'set each of them, to its new default or to this behaviour')]
}

/** Without the store, a default may be another one: then it is no fault yet. */
export function examineNotices(config: Config, origins: Origins): Finding[] {
  const problems = unnoticedDestinations(config, origins)
  const isKnown = (['destinations.required', 'destinations.approval'] as const).every(
    (key) => origins[key] !== 'default',
  )
  const next = 'set notices.smtp_url or notices.url, or destinations.approval: required'
  if (isKnown) return checkFindings('notices', { problems, warnings: [] }, next)
  return problems.map((problem) => warn('notices', `in a new store, ${describeProblem(problem)}`, next))
}

/** Settings that a store older than them keeps at their earlier behaviour. */

import type { Origins } from '../config/settings-in-force.ts'
import { earlierKeys, type StoreDefault } from '../config/store-defaults.ts'
import { type Finding, warn } from './finding.ts'

export function examineDefaults(origins: Origins, defaults: readonly StoreDefault[]): Finding[] {
  const keys = earlierKeys(origins, defaults)
  if (keys.length === 0) return []
  const detail = `the store is older than ${keys.join(', ')}, and keeps its earlier behaviour`
  return [warn('settings', detail, 'set each of them, to its new default or to this behaviour')]
}

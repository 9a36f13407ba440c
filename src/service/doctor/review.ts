/** The check of `tidegate doctor` on the amounts above which a person decides: without them, any amount passes unseen. */
import { movesMoney } from '../config/roles.ts'
import type { Config } from '../config/settings.ts'
import { type Finding, ok, warn } from './finding.ts'

const KEYS = ['review_above.deposits', 'review_above.payments'] as const

/** None in a sandbox, and on nodes that neither credit nor pay. */
export function examineReview(config: Config): Finding[] {
  if (config['rest.sandbox'] || !movesMoney(config)) return []
  const name = 'review'
  const empty = KEYS.filter((key) => config[key].size === 0)
  if (empty.length === 0) return [ok(name, 'large deposits and payments wait for a person')]
  const what = empty.length === 1 ? `${empty[0]} is` : `${empty.join(' and ')} are`
  const next = 'set the amounts of each asset above which a person decides, such as {USDC: 100000}'
  return [warn(name, `${what} empty: any amount passes without a person`, next)]
}

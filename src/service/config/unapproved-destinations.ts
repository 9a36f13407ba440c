/**
 * Required destinations without an approval are safe only when the customer hears about new ones, so a setting for
 * notices must be set. This rule is checked when the store's own defaults are known. Pure.
 */
import type { ConfigProblem } from './problem-list.ts'
import type { Config } from './settings.ts'
import type { Origins } from './settings-in-force.ts'

const KEY = 'destinations.approval'
const RULE =
  'must be required unless notices.smtp_url or notices.url is set: without an approval, customers must hear about new destinations'

export function unnoticedDestinations(config: Config, origins: Origins): readonly ConfigProblem[] {
  const isSafe = !config['destinations.required'] || config[KEY] === 'required'
  if (isSafe || config['notices.smtp_url'] !== '' || config['notices.url'] !== '') return []
  return [{ key: KEY, origin: origins[KEY], message: RULE }]
}

/** Reports amounts without an upper limit for automatic decisions, and ways around a second person. */
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
  const next = 'set the amounts above which a person decides, by asset, such as {USDC: 100000}'
  return [warn(name, `${what} empty: any amount passes without a person`, next)]
}

/** Reports each way around a second person. */
export function examineSecondPersons(config: Config): Finding[] {
  const kinds = config['operator.four_eyes']
  const money = ['deposits', 'settlements'].filter((kind) => kinds.includes(kind))
  if (money.length === 0) return []
  const name = 'second person'
  const lists = `operator.four_eyes: lists ${money.join(' and ')}`
  const alone = `${lists} without operators, so one admin can make the second person`
  const sandbox = `${lists} while rest.sandbox is on, so one client can credit deposits`
  return [
    ...(kinds.includes('operators') ? [] : [warn(name, alone, 'add operators to operator.four_eyes')]),
    ...(config['rest.sandbox'] ? [warn(name, sandbox, 'set rest.sandbox to false')] : []),
  ]
}

/** Reports ACTIVE rules whose fiat source has no bank details. */
import { bankFor } from '../../contract/bank-details.ts'
import type { FiatSources } from '../../money/rules/fiat-sources.ts'
import type { Config } from '../config/settings.ts'
import { type Finding, warn } from './finding.ts'

export function bankFindings(sources: readonly FiatSources[], config: Config): Finding[] {
  return sources.flatMap(({ network, account_type, rules, first_id }) => {
    if (bankFor(config['banking.instructions'], { network, account_type }) !== undefined) return []
    const place = account_type === null || network === 'CUBIX' ? network : `${network} ${account_type}`
    const count = rules === 1 ? `the ACTIVE rule ${first_id} has` : `${rules} ACTIVE rules, such as ${first_id}, have`
    const detail = `${count} the source ${place}, which has no bank details`
    return [warn('banking', detail, 'add them to banking.instructions')]
  })
}

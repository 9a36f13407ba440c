/** Reports pairs at par without a market to monitor their peg. */
import { pairsWithoutPeg } from '../../money/orchestrations/pricing/pegs.ts'
import type { Config } from '../config/settings.ts'
import { type Finding, warn } from './finding.ts'

export function examinePegs({ assets, markets, 'conversion.par_assets': parAssets }: Config): Finding[] {
  const pairs = pairsWithoutPeg({ assets, parAssets, markets: markets.map(({ definition }) => definition) })
  if (pairs.length === 0) return []
  const what = 'no market is configured, so they are converted at par whatever their prices are'
  const detail = `conversion.par_assets: no peg is monitored for ${pairs.join(', ')}: ${what}`
  return [warn('pegs', detail, 'configure a market for each pair, or shorten conversion.par_assets')]
}

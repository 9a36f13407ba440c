/** Compares the configured assets' decimals with a PostgreSQL store's ledger. `serve` and `doctor` check an embedded one. */
import { decimalsFaults } from '../../money/ledger/assets.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Check } from '../config/problem-list.ts'
import type { Config } from '../config/settings.ts'
import type { Origins } from '../config/settings-in-force.ts'
import { checkFindings, type Finding } from './finding.ts'
import { readServerStore } from './server-store.ts'

/** The same as findings. */
export async function examineDecimals(config: Config, origins: Origins, clock: Clock): Promise<Finding[]> {
  return checkFindings(
    'ledger',
    await checkDecimals(config, origins, clock),
    'restore the decimals, or start the store',
  )
}

async function checkDecimals(config: Config, origins: Origins, clock: Clock): Promise<Check> {
  // An older schema may have no ledger. After `migrate`, the start compares the decimals itself.
  const faults = await readServerStore(config, clock, (db) => decimalsFaults(db.tables(), config.assets))
  if (faults === undefined) return { problems: [], warnings: [] }
  if (faults === 'unreachable') {
    return { problems: [], warnings: ['the store cannot be reached, so changed asset decimals are not known'] }
  }
  return { problems: faults.map((message) => ({ key: 'assets', origin: origins.assets, message })), warnings: [] }
}

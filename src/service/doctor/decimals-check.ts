/**
 * Compares the configured assets' decimals with the ledger's, for `check-config`. It reads only a PostgreSQL store: an
 * embedded one is opened by its service, `migrate` and `doctor` alone, and `serve` and `doctor` check it.
 */
import { decimalsFaults } from '../../money/ledger/assets.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { createLog } from '../../platform/base/log.ts'
import { StoreUnavailable } from '../../platform/store/db.ts'
import { readSchemaState } from '../../platform/store/migrate.ts'
import type { Check } from '../config/problem-list.ts'
import type { Config } from '../config/settings.ts'
import type { Origins } from '../config/settings-in-force.ts'
import { Lifecycle } from '../process/lifecycle.ts'
import { openStoreAsItIs } from '../process/open-store.ts'
import { checkFindings, type Finding } from './finding.ts'

/** The same as findings. */
export async function examineDecimals(config: Config, origins: Origins, clock: Clock): Promise<Finding[]> {
  return checkFindings(
    'ledger',
    await checkDecimals(config, origins, clock),
    'restore the decimals, or start the store',
  )
}

async function checkDecimals(config: Config, origins: Origins, clock: Clock): Promise<Check> {
  if (config['store.url'] === '') return { problems: [], warnings: [] }
  const log = createLog('silent')
  const lifecycle = new Lifecycle(log)
  try {
    const db = await openStoreAsItIs({ config, log, clock, random: Math.random, lifecycle })
    // An older schema may have no ledger. After `migrate`, the start compares the decimals itself.
    if ((await readSchemaState(db)) !== 'current') return { problems: [], warnings: [] }
    const faults = await decimalsFaults(db.tables(), config.assets)
    return { problems: faults.map((message) => ({ key: 'assets', origin: origins.assets, message })), warnings: [] }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return { problems: [], warnings: ['the store cannot be reached, so changed asset decimals are not known'] }
  } finally {
    await lifecycle.stop()
  }
}

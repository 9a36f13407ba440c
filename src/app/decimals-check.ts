/**
 * Whether the ledger could keep its amounts with the decimals of a configuration, as far as a server has the store. An
 * embedded one is opened by its service, `migrate` and `doctor` alone; `serve` and `doctor` check its decimals.
 */
import type { Clock } from '../base/clock.ts'
import { createLog } from '../base/log.ts'
import type { ConfigProblem } from '../config/problem-list.ts'
import type { Config, SettingKey } from '../config/settings.ts'
import { decimalsFaults } from '../ledger/assets.ts'
import { StoreUnavailable } from '../store/db.ts'
import { readSchemaState } from '../store/migrate.ts'
import { Lifecycle } from './lifecycle.ts'
import { openStoreAsItIs } from './open-store.ts'

/** @param origins where each value came from */
export async function checkDecimals(
  config: Config,
  origins: Readonly<Record<SettingKey, string>>,
  clock: Clock,
): Promise<{ readonly problems: readonly ConfigProblem[]; readonly warnings: readonly string[] }> {
  if (config['store.url'] === '') return { problems: [], warnings: [] }
  const log = createLog('silent')
  const lifecycle = new Lifecycle(log)
  try {
    const db = await openStoreAsItIs({ config, log, clock, random: Math.random, lifecycle })
    // An older schema has no ledger, or the start brings it up to date and looks for itself.
    if ((await readSchemaState(db)) !== 'current') return { problems: [], warnings: [] }
    const faults = await decimalsFaults(db.tables(), config.assets)
    return { problems: faults.map((message) => ({ key: 'assets', origin: origins.assets, message })), warnings: [] }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return { problems: [], warnings: ['the store cannot be reached: whether decimals of assets changed is not known'] }
  } finally {
    await lifecycle.stop()
  }
}

/**
 * Starts the ledger: registers the configured assets before any amount is posted in them, and starts the upkeep. A
 * configuration that changes a ledger asset's decimals, or that would mix sandbox deposits with real ones, fails the
 * start.
 */
import { checkDepositMode } from '../../../money/controls/deposit-mode.ts'
import type { LedgerUpkeep } from '../../../money/ledger/upkeep.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Config } from '../../config/settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import { readFromStore, type Waiting } from '../../process/store-wait.ts'

interface LedgerParts extends Waiting {
  readonly config: Config
  readonly lifecycle: Lifecycle
}

export async function startLedger(parts: LedgerParts, db: Db, upkeep: LedgerUpkeep): Promise<void> {
  await readFromStore(parts, 'deposit mode', () => checkDepositMode(db.tables(), parts.config['rest.sandbox']))
  const faults = await readFromStore(parts, 'assets of the ledger', () => upkeep.register(parts.config.assets))
  if (faults.length > 0) throw new Error(`assets: ${faults.join('; ')}`)
  upkeep.start()
  parts.lifecycle.started('ledger upkeep', () => upkeep.stop())
}

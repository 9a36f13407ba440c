/** Keeps deposits for testing and real deposits in separate stores; see `deposits/mode`. */
import type { Config } from '../config/settings.ts'
import { readDepositMode } from '../deposits/mode.ts'
import type { Db } from '../store/db.ts'

/** Throws an error that names `rest.sandbox` when its value does not fit the deposits in the store. */
export async function checkSandbox(config: Config, db: Db): Promise<void> {
  const mode = await readDepositMode(db)
  if (mode === 'sandbox' && !config['rest.sandbox']) {
    throw new Error('rest.sandbox must be true for this store: it has deposits that were made for testing')
  }
  if (mode === 'real' && config['rest.sandbox']) {
    throw new Error('rest.sandbox must be false for this store: it has real deposits')
  }
}

/** What `tidegate doctor` finds in the store when it opens it: the schema, the clocks, the keys, the ledger. */

import { join } from 'node:path'
import { readStoreIdentity } from '../../money/controls/store-identity.ts'
import { activeFiatSources } from '../../money/rules/fiat-sources.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { createLog } from '../../platform/base/log.ts'
import { DataFolderHeld } from '../../platform/store/data-lock.ts'
import { StoreCorrupt } from '../../platform/store/db.ts'
import type { Config, SettingKey } from '../../service/config/settings.ts'
import { issuesTokens } from '../../service/config/token-issuer.ts'
import { bankFindings } from '../../service/doctor/banking.ts'
import { examineDefaults } from '../../service/doctor/defaults.ts'
import { bad, type Finding, nextOfConnection, reasonOf } from '../../service/doctor/finding.ts'
import { examineLedger } from '../../service/doctor/ledger.ts'
import {
  corruptionFindings,
  examineEncryption,
  examineSchema,
  examineSigningKeys,
  examineStoreClock,
  identityFindings,
  readSigningKeyList,
} from '../../service/doctor/store.ts'
import { existingEncryptionKey } from '../../service/keys/encryption-key.ts'
import { Lifecycle } from '../../service/process/lifecycle.ts'
import { readStoreDefaults } from '../../service/process/setting-defaults.ts'
import { CLEAR_LINE } from '../terminal/progress-line.ts'

export interface Examination {
  readonly config: Config
  readonly origins: Readonly<Record<SettingKey, string>>
  readonly clock: Clock
  readonly operatorUrl: string | undefined
}

/**
 * Opens the store, which must be free when it is embedded.
 *
 * @param comparesLedger false while a service runs, which compares it continuously
 */
export async function examineStore(
  { config, origins, clock }: Examination,
  comparesLedger: boolean,
): Promise<Finding[]> {
  const { openStoreAsItIs } = await import('../../service/process/open-store.ts')
  const log = createLog('silent')
  const lifecycle = new Lifecycle(log)
  const place = storePlace(config)
  try {
    const db = await openStoreAsItIs({ config, log, clock, random: Math.random, lifecycle })
    const schema = await examineSchema(db, place)
    // Without its tables there is nothing more to check.
    if (schema.verdict !== 'ok') return [schema]
    const clockFinding = await examineStoreClock(db, clock)
    const encryption = await examineEncryption(db, existingEncryptionKey(config))
    const defaults = examineDefaults(origins, await readStoreDefaults(db))
    const identity = identityFindings(await readStoreIdentity(db.tables()))
    const banks = bankFindings(await activeFiatSources(db.tables()), config)
    const ledger = comparesLedger ? await examineLedger(db, config, showCompared) : []
    const rest = [...identity, ...banks, ...ledger]
    if (!issuesTokens(config)) return [schema, clockFinding, ...encryption, ...defaults, ...rest]
    const keys = await readSigningKeyList(db, clock)
    const now = clock.wallInstant().milliseconds
    const signing = examineSigningKeys(keys, now)
    return [schema, clockFinding, ...encryption, ...defaults, signing, ...rest]
  } catch (error) {
    if (error instanceof DataFolderHeld) throw error
    if (error instanceof StoreCorrupt) return corruptionFindings(error.message)
    const reason = reasonOf(error)
    const next = nextOfConnection(reason, 'start the store, or correct store.url')
    return [bad('store', `${place} cannot be used (${reason})`, next)]
  } finally {
    await lifecycle.stop()
  }
}

/** A large ledger takes minutes: on a terminal, a line shows how far its comparison is. */
function showCompared(balances: number): void {
  if (process.stderr.isTTY) process.stderr.write(`${CLEAR_LINE}tidegate: ${balances} balances compared\r`)
}

/** The store's name for people, without the password which the address may contain. */
function storePlace(config: Config): string {
  const url = config['store.url']
  if (url === '') return `embedded, ${join(config.data_dir, 'store')}`
  if (!URL.canParse(url)) return 'PostgreSQL'
  const { host, pathname } = new URL(url)
  return `PostgreSQL, ${host}${pathname}`
}

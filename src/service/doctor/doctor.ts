/**
 * The findings about this node while it runs: the doctor's own examinations, made by the examined process. It reads
 * files and the store, asks no venue, and changes nothing.
 */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { readStoreIdentity } from '../../money/controls/store-identity.ts'
import { countPools } from '../../money/deposit-instructions/address-pool.ts'
import type { LedgerState } from '../../money/ledger/upkeep.ts'
import { activeFiatSources } from '../../money/rules/fiat-sources.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { answered } from '../../platform/http/raw-json.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import type { Db } from '../../platform/store/db.ts'
import type { NodeDocument } from '../../streaming/cluster/nodes.ts'
import type { Config } from '../config/settings.ts'
import { type Origins, settingsInForce } from '../config/settings-in-force.ts'
import { issuesTokens } from '../config/token-issuer.ts'
import type { Readiness } from '../health/readiness.ts'
import { examineTestSeed, poolFindings } from './addresses.ts'
import { bankFindings } from './banking.ts'
import { countKeys, examineSettings } from './configuration.ts'
import { examineEncryptionKeyFile, examineFolder, examineOperatorToken } from './files.ts'
import { bad, type Finding, reasonOf, VERDICTS } from './finding.ts'
import { ledgerFinding } from './ledger.ts'
import { examineNode } from './node-version.ts'
import { nodeFindings } from './nodes.ts'
import { readinessFindings } from './readiness.ts'
import { examineScreening } from './screening.ts'
import {
  corruptionFindings,
  examineSigningKeys,
  examineStoreClock,
  identityFindings,
  readSigningKeyList,
} from './store.ts'

export interface DoctorOptions {
  readonly db: Db
  readonly clock: Clock
  readonly current: { readonly config: Config; readonly origins: Origins }
  readonly readiness: () => Readiness
  /** Absent in a process without a ledger. */
  readonly ledgerState?: (() => LedgerState) | undefined
  readonly cluster: { readonly nodes: { readonly all: readonly NodeDocument[] } }
}

const Findings = Type.Object({
  findings: Type.Array(
    Type.Object(
      {
        verdict: textChoice(VERDICTS),
        name: Type.String(),
        detail: Type.String(),
        key: Type.Optional(Type.String({ description: 'The configuration key with the wrong value' })),
        origin: Type.Optional(Type.String({ description: 'Where the value comes from' })),
        next: Type.Optional(Type.String()),
      },
      { title: 'Finding' },
    ),
  ),
})

const Settings = Type.Object({
  items: Type.Array(
    Type.Object(
      {
        key: Type.String(),
        value: Type.Unknown(),
        origin: Type.String({ description: '`default`, a flag, a variable or a file' }),
        live: Type.Boolean({ description: 'Whether a reload applies a new value' }),
        meaning: Type.String(),
      },
      { title: 'Setting' },
    ),
  ),
})

/** Declares the routes, relative to the prefix in `app`. The operator guard runs before them. */
export function registerDoctorRoutes(app: FastifyInstance, options: DoctorOptions): void {
  app.get('/doctor', answered(Findings), async () => ({ findings: await findingsOf(options) }))
  app.get('/settings', answered(Settings), async () => {
    const { config, origins } = options.current
    return { items: [...settingsInForce(config, origins)] }
  })
}

async function findingsOf({ db, clock, current, readiness, ledgerState, cluster }: DoctorOptions): Promise<Finding[]> {
  const { config, origins } = current
  return [
    countKeys(origins),
    examineFolder(config.data_dir),
    examineOperatorToken(config),
    examineEncryptionKeyFile(config),
    ...examineTestSeed(config),
    ...(await examineSettings(config, origins, clock.wallInstant().milliseconds)),
    ...corruptionFindings(db.corruption),
    ...readinessFindings(readiness()),
    ...(await storeFindings(db, config, clock)),
    ...(ledgerState === undefined ? [] : [ledgerFinding(ledgerState())]),
    ...nodeFindings(cluster.nodes.all),
    examineNode(),
  ]
}

/** Reads the store. A failure is a finding. */
async function storeFindings(db: Db, config: Config, clock: Clock): Promise<Finding[]> {
  try {
    const keys = issuesTokens(config) ? [await signingKeyFinding(db, clock)] : []
    const identity = identityFindings(await readStoreIdentity(db.tables()))
    const pools = poolFindings(await countPools(db.tables()))
    const banks = bankFindings(await activeFiatSources(db.tables()), config)
    return [
      await examineStoreClock(db, clock),
      ...identity,
      ...keys,
      ...pools,
      ...banks,
      ...(await examineScreening(db, config)),
    ]
  } catch (error) {
    return [bad('store', `cannot be read (${reasonOf(error)})`, 'start the store, or correct store.url')]
  }
}

async function signingKeyFinding(db: Db, clock: Clock): Promise<Finding> {
  const keys = await readSigningKeyList(db, clock)
  return examineSigningKeys(keys, clock.wallInstant().milliseconds)
}

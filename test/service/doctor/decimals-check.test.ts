/**
 * Configured decimals that the ledger cannot represent are reported before they are used, where the store is on a
 * server.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import { examineDecimals } from '../../../src/service/doctor/decimals-check.ts'
import { examineLedger } from '../../../src/service/doctor/ledger.ts'
import { Lifecycle } from '../../../src/service/process/lifecycle.ts'
import { openStore } from '../../../src/service/process/open-store.ts'
import { addAssets, addOwner, bookedAsEntries, credit } from '../../support/ledger.ts'
import { migratedDatabase, sharedDatabase, withClient } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/running-service.ts'
import { createSlowClock } from '../../support/slow-clock.ts'

const isServer = inject('engine') === 'postgres'
const folder = temporaryFolder()
const clock = createSlowClock()
const lifecycle = new Lifecycle(createLog('silent'))
const NEXT = 'restore the decimals, or start the store'
const FAULT = 'BTC has 6 decimals, but its amounts in the ledger have 8. Decimals cannot change'
let url = ''

function configOf(decimals: number, storeUrl: string) {
  const result = loadConfig({
    flags: {
      data_dir: folder.path,
      'conversion.par_assets': '[]',
      assets: `[{symbol: BTC, decimals: ${decimals}, networks: [BITCOIN]}]`,
      'store.url': storeUrl,
    },
    environment: {},
    file: undefined,
    readFile: () => '',
  })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result
}

function check(decimals: number, storeUrl = url) {
  const { config, origins } = configOf(decimals, storeUrl)
  return examineDecimals(config, origins, clock)
}

beforeAll(async () => {
  if (isServer) url = await sharedDatabase()
  const { config } = configOf(8, url)
  const log = createLog('silent')
  const { signal } = new AbortController()
  const { db } = await openStore({ config, log, clock, random: Math.random, lifecycle, signal })
  await migrate(db, log)
  await addAssets(db, { BTC: 8 })
  const { profileId } = await addOwner(db)
  await credit(db, profileId, 'BTC', 5n)
  await bookedAsEntries(db)
  expect(await examineLedger(db, configOf(6, url).config)).toEqual([
    { verdict: 'ok', name: 'ledger', detail: '1 balances compared, each equal to the sum of its postings' },
    { verdict: 'bad', name: 'ledger', detail: `assets: ${FAULT}`, next: 'restore the decimals' },
  ])
  await lifecycle.stop()
})
afterAll(() => folder.remove())

describe.runIf(isServer)('the check of decimals on a server', () => {
  it('the decimals check on a server names the key, the asset and both values, and passes for equal decimals', async () => {
    expect(await check(6)).toEqual([
      {
        ...{ verdict: 'bad', name: 'ledger', detail: `assets ${FAULT} (from --assets)`, next: NEXT },
        ...{ key: 'assets', origin: '--assets' },
      },
    ])
    expect(await check(8)).toEqual([])
  })

  it('the decimals check on a server with a newer schema finds nothing, and the other checks continue', async () => {
    const newer = await migratedDatabase()
    await withClient(newer, (client) =>
      client.query(`insert into schema_migrations (name, checksum) values ('299901010000-later', 'unknown')`),
    )
    expect(await check(6, newer)).toEqual([])
  })
})

it.skipIf(isServer)('the decimals check does not open an embedded store', async () => {
  expect(await check(6)).toEqual([])
})

it('the decimals check reports a server that cannot be reached', async () => {
  expect(await check(6, 'postgres://127.0.0.1:1/tide')).toEqual([
    {
      verdict: 'warn',
      name: 'ledger',
      detail: 'the store cannot be reached, so changed asset decimals are not known',
      next: NEXT,
    },
  ])
})

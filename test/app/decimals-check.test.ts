/** A configuration whose decimals the ledger cannot keep is found before it is used. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkDecimals } from '../../src/app/decimals-check.ts'
import { Lifecycle } from '../../src/app/lifecycle.ts'
import { openStore } from '../../src/app/open-store.ts'
import { createLog } from '../../src/base/log.ts'
import { examineLedger } from '../../src/cli/doctor-ledger.ts'
import { loadConfig } from '../../src/config/load.ts'
import { addAssets, addOwner, credit } from '../support/ledger.ts'
import { createPatientClock } from '../support/patient-clock.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-decimals-'))
const clock = createPatientClock()
const lifecycle = new Lifecycle(createLog('silent'))

function configOf(decimals: number, flags: Readonly<Record<string, string>> = {}) {
  const result = loadConfig({
    flags: {
      data_dir: folder,
      'conversion.par_assets': '[]',
      assets: `[{symbol: BTC, decimals: ${decimals}, networks: [BITCOIN]}]`,
      ...flags,
    },
    environment: {},
    file: undefined,
    readFile: () => '',
  })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result
}

const check = (decimals: number, flags?: Readonly<Record<string, string>>) => {
  const { config, origins } = configOf(decimals, flags)
  return checkDecimals(config, origins, clock)
}

const FAULT = 'BTC has 6 decimals, and its amounts in the ledger have 8: decimals of amounts cannot change'

beforeAll(async () => {
  const { config } = configOf(8)
  expect(await check(6), 'a store that is not there yet').toEqual({ problems: [], warnings: [] })
  const { db } = await openStore({ config, log: createLog('silent'), clock, random: Math.random, lifecycle })
  await addAssets(db, { BTC: 8 })
  const { profileId } = await addOwner(db)
  await credit(db, profileId, 'BTC', 5n)
  expect(await check(6), 'a store that a process has open').toEqual({ problems: [], warnings: [] })
  expect(await examineLedger(db, configOf(6).config, clock)).toEqual([
    { verdict: 'ok', name: 'ledger', detail: '1 balances compared, each is the sum of its postings' },
    { verdict: 'bad', name: 'ledger', detail: `assets: ${FAULT}`, next: 'put the decimals back' },
  ])
  await lifecycle.stop()
})
afterAll(() => rmSync(folder, { recursive: true }))

it('names the key, the asset and both values; the same decimals are well', async () => {
  expect(await check(6)).toEqual({ problems: [{ key: 'assets', origin: '--assets', message: FAULT }], warnings: [] })
  expect(await check(8)).toEqual({ problems: [], warnings: [] })
})

it('says so when the store cannot be asked', async () => {
  const { problems, warnings } = await check(6, { 'store.url': 'postgres://127.0.0.1:1/tide' })
  expect([problems, warnings]).toEqual([
    [],
    ['the store cannot be reached: whether decimals of assets changed is not known'],
  ])
})

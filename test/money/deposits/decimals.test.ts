/** A process whose configuration has other decimals for an asset than the ledger, as during a wrong or a rolling change. */
import { expect, it } from 'vitest'
import { ensureLedgerAssets } from '../../../src/money/ledger/assets.ts'
import { balancesOf, newAddress, newProfile, reportOf, useDepositsNode } from './deposits-node.ts'

const stand = useDepositsNode()

it('a process with other decimals than the ledger credits no deposit in the asset, and any in the others', async () => {
  const { live, db } = stand.node
  const assets = live.config.assets
  const changed = assets.map((asset) => (asset.symbol === 'USDP' ? { ...asset, decimals: 4 } : asset))
  const profileId = await newProfile(stand)
  const address = await newAddress(stand, profileId)
  const deposits = ['USDP', 'USDC'].map((asset) => reportOf(address, { asset, amount: '1.5' }))
  live.config = { ...live.config, assets: changed }
  const refused = await stand.node.operator('POST', '/deposits', deposits[0])
  const { results } = (await stand.node.operator('POST', '/deposits', { deposits })).body
  live.config = { ...live.config, assets }
  expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } })
  expect(results).toMatchObject([{ problem: { status: 503, code: 'unavailable' } }, { status: 'created' }])
  expect(await balancesOf(stand, profileId)).toMatchObject({ available: '1500000' })
  const credited = await stand.node.operator('POST', '/deposits', deposits[0])
  expect(credited.body, credited.text).toMatchObject({ amount: '1.5' })
  expect(await balancesOf(stand, profileId, 'USDP')).toMatchObject({ available: '1500000' })
  const faults = await db.transaction((transaction) => ensureLedgerAssets(transaction, changed))
  expect(faults).toEqual(['USDP has 4 decimals, but its amounts in the ledger have 6. Decimals cannot change'])
})

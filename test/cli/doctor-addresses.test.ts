import { afterAll, beforeAll, expect, it } from 'vitest'
import { askAddressPools } from '../../src/cli/doctor-addresses.ts'
import { OPERATOR_TOKEN, type RestCustomer, RestNode } from '../support/rest.ts'
import { newAccount } from '../support/rules.ts'

let node: RestNode
let customer: RestCustomer
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
})
afterAll(() => node?.close())

it('says how much is left of imported addresses, warns when nothing is, and is silent where nobody imports', async () => {
  const api = { url: node.operatorUrl, token: OPERATOR_TOKEN }
  expect(await askAddressPools(api)).toEqual([])
  const addresses = ['HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk']
  await node.operator('POST', '/address-pool', { network: 'SOLANA', addresses })
  expect(await askAddressPools(api)).toEqual([
    { verdict: 'ok', name: 'addresses', detail: 'SOLANA: 1 of 1 imported addresses are free' },
  ])
  const { profileId } = await newAccount(customer)
  await customer.call('POST', '/v2/transfer/deposit-addresses', { profile_id: profileId, crypto_network: 'SOLANA' })
  expect(await askAddressPools(api)).toEqual([
    {
      verdict: 'warn',
      name: 'addresses',
      detail: 'SOLANA: 0 of 1 imported addresses are free',
      next: 'tidegate admin address-pool import SOLANA --file FILE',
    },
  ])
  const [refused] = await askAddressPools({ ...api, token: 'another' })
  expect(refused).toMatchObject({ verdict: 'bad', detail: expect.stringContaining('401') })
})

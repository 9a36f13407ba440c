/** What doctor says of a store that is in use: of its pools of addresses, and of its clock. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSystemClock } from '../../src/base/clock.ts'
import { askAddressPools } from '../../src/cli/doctor-addresses.ts'
import { examineStoreClock } from '../../src/cli/doctor-store.ts'
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

/** What is found when the question goes out and the answer comes in so many seconds from now, by this machine's clock. */
function found(secondsBefore: number, secondsAfter: number) {
  const now = Date.now()
  const times = [secondsBefore, secondsAfter].map((seconds) => now + seconds * 1_000)
  const wallInstant = () => ({ milliseconds: times.shift() ?? now, nanoseconds: 0 })
  return examineStoreClock(node.db, { ...createSystemClock(), wallInstant })
}

describe('the clock of the store', () => {
  it('is well when it may be the same, however long the answer took', async () => {
    expect(await found(-3_600, 3_600)).toMatchObject({ verdict: 'ok', detail: "within 1 s of the store's" })
  })

  it.each([
    ['ahead of', 3_600, 3_700],
    ['behind', -3_700, -3_600],
  ])('is named when this one is %s it, by what it is at least', async (direction, before, after) => {
    const { verdict, detail } = await found(before, after)
    expect(verdict).toBe('warn')
    // What has passed since the test began is none of it.
    expect(detail).toMatch(new RegExp(`^3[56]\\d\\d\\.\\d s ${direction} the clock of the store$`))
  })
})

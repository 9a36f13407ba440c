/** What doctor reports about a store in use: its pools of addresses, and its clock. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askAddressPools } from '../../src/cli/doctor/doctor-asked.ts'
import { createSystemClock } from '../../src/platform/base/clock.ts'
import { examineStoreClock } from '../../src/service/doctor/store.ts'
import { OPERATOR_TOKEN, type RestCustomer, RestNode } from '../support/rest.ts'
import { newAccount } from '../support/rules.ts'

let node: RestNode
let customer: RestCustomer
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
})
afterAll(() => node?.close())

it('doctor reports how many imported addresses are left, warns when none is, and omits the check where none were imported', async () => {
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

/**
 * The result when the query is sent and the answer arrives these numbers of seconds from now, by this machine's clock.
 */
function found(secondsBefore: number, secondsAfter: number) {
  const now = Date.now()
  const times = [secondsBefore, secondsAfter].map((seconds) => now + seconds * 1_000)
  const wallInstant = () => ({ milliseconds: times.shift() ?? now, nanoseconds: 0 })
  return examineStoreClock(node.db, { ...createSystemClock(), wallInstant })
}

describe('the clock of the store', () => {
  it('the store clock passes when it may be equal, however long the answer took', async () => {
    expect(await found(-3_600, 3_600)).toMatchObject({ verdict: 'ok', detail: "within 1 s of the store's" })
  })

  it.each([
    ['ahead of', 3_600, 3_700],
    ['behind', -3_700, -3_600],
  ])(
    'the store clock is reported when this clock is %s it, with the least possible difference',
    async (direction, before, after) => {
      const { verdict, detail } = await found(before, after)
      expect(verdict).toBe('warn')
      // The time since the start of the test is not part of it.
      expect(detail).toMatch(new RegExp(`^3[56]\\d\\d\\.\\d s ${direction} the clock of the store$`))
    },
  )
})

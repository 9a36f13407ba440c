/** Whether a record may be created for a profile: the check that other modules make before they write. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { profileForWrite } from '../../../src/money/accounts/profiles.ts'
import type { AccountTables } from '../../../src/money/accounts/tables.ts'
import type { Transaction } from '../../../src/platform/store/db.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'

const PATH = '/v2/identity/accounts'
const NO_ONE = '018f0000-0000-7000-8000-000000000000'

let node: RestNode
let customer: RestCustomer
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
})
afterAll(() => node?.close())

const newAccount = async () =>
  (await customer.call('POST', PATH, { account: { identity_id: 'alice' }, create_profile: true })).body

const ask = (profileId: string, customerId = customer.customerId) =>
  node.db.transaction((transaction: Transaction<AccountTables>) =>
    profileForWrite(transaction, customerId, profileId, '/profile_id'),
  )

describe('the profile of a new record', () => {
  it('the profile of a new account is returned with it', async () => {
    const { id, profile_id } = await newAccount()
    const expected = { id: profile_id, customerId: customer.customerId, account: { id, identityId: 'alice' } }
    expect(await ask(profile_id)).toEqual(expected)
    expect(await ask(profile_id.toUpperCase())).toEqual(expected)
  })

  it('a profile that the operator created is returned alone', async () => {
    const { body } = await node.operator('POST', `/customers/${customer.customerId}/profiles`, { nickname: 'alone' })
    expect(await ask(body.id)).toEqual({ id: body.id, customerId: customer.customerId })
  })

  it('a profile is not found when it belongs to another customer, or does not exist', async () => {
    const stranger = await node.newCustomer()
    const { profile_id } = await newAccount()
    for (const [id, customerId] of [[profile_id, stranger.customerId], [NO_ONE], ['x'], ['']] as const) {
      await expect(ask(id, customerId)).rejects.toMatchObject({
        code: 'not_found',
        message: '/profile_id: there is no profile with this id',
        extras: { errors: [{ pointer: '/profile_id', detail: 'there is no profile with this id' }] },
      })
    }
  })

  it('a profile is closed while its account is disabled by either flag, or denied', async () => {
    const { id, profile_id } = await newAccount()
    const refused = { code: 'account_blocked', status: 403, extras: { errors: [{ pointer: '/profile_id' }] } }
    await customer.call('PUT', PATH, { id, set_user_disabled: true })
    await expect(ask(profile_id)).rejects.toMatchObject(refused)
    await node.operator('PATCH', `/accounts/${id}`, { admin_disabled: true })
    await customer.call('PUT', PATH, { id, set_user_disabled: false })
    await expect(ask(profile_id)).rejects.toMatchObject(refused)
    await node.operator('PATCH', `/accounts/${id}`, { admin_disabled: false })
    expect(await ask(profile_id)).toMatchObject({ id: profile_id })
    await node.operator('PATCH', `/accounts/${id}`, { summary_status: 'DENIED' })
    await expect(ask(profile_id)).rejects.toMatchObject(refused)
  })

  it('the profile of a new record cannot be closed before the record is committed', async () => {
    const { id, profile_id } = await newAccount()
    let disabled: Promise<unknown> | undefined
    const order: string[] = []
    await node.db.transaction(async (transaction: Transaction<AccountTables>) => {
      await profileForWrite(transaction, customer.customerId, profile_id, '/profile_id')
      disabled = node.operator('PATCH', `/accounts/${id}`, { admin_disabled: true }).then(() => order.push('disabled'))
      // Time for the other transaction to proceed as far as it can: its statements alternate with those of this one.
      for (let round = 0; round < 20; round++) await transaction.selectFrom('accounts').select('id').limit(1).execute()
      order.push('made')
    })
    await disabled
    expect(order).toEqual(['made', 'disabled'])
    await expect(ask(profile_id)).rejects.toMatchObject({ code: 'account_blocked' })
  })
})

/** How a request is answered when the store fails: the answer says whether it was late or unavailable. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { translateStoreError } from '../../src/app/listener.ts'
import { StoreUnavailable } from '../../src/store/db.ts'
import { sql } from '../../src/store/sql.ts'
import { type RestCustomer, RestNode } from '../support/rest.ts'

const ACCOUNTS = '/v2/identity/accounts'

let node: RestNode
let customer: RestCustomer
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
})
afterAll(() => node?.close())

it('an answer says whether the store was too slow or is unavailable', async () => {
  const { id } = (await customer.call('POST', ACCOUNTS, { account: { identity_id: 'ada' } })).body
  let finish = (): void => undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  let holding: Promise<void> | undefined
  await new Promise<void>((held, failed) => {
    holding = node.db.transaction(
      async (transaction) => {
        await sql`select from accounts where id = ${id} for update`.execute(transaction)
        held()
        await finished
      },
      { statementMillisecondsMax: 60_000 },
    )
    holding.catch(failed)
  })
  const late = await customer.call('PUT', ACCOUNTS, { id, description: 'x' })
  finish()
  await holding
  expect(late).toMatchObject({ status: 503, body: { code: 'unavailable' } })
  expect(late.body.detail).toBe('the store did not answer in time: a write may or may not have been done')
  expect(late.headers.get('retry-after')).not.toBeNull()

  const lost = translateStoreError(new StoreUnavailable('the connection to the store was lost'))
  expect(lost).toMatchObject({ code: 'unavailable', extras: { headers: { 'retry-after': expect.any(String) } } })
  expect(lost?.message).toBe('the store is unavailable: a write may or may not have been done')
})

/** How a request is answered when the store fails: the answer says whether it was late or unavailable. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from '../../src/store/sql.ts'
import { captureLog } from '../support/captured-log.ts'
import { type RestCustomer, RestNode } from '../support/rest.ts'
import { openTestStore } from '../support/test-store.ts'

const ACCOUNTS = '/v2/identity/accounts'

let node: RestNode
let customer: RestCustomer
beforeAll(async () => {
  node = await RestNode.open({ db: await openTestStore({ log: captureLog().log }) })
  customer = await node.newCustomer()
})
afterAll(async () => {
  await node?.close()
  await node?.db.close()
})

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

  await node.db.close()
  const lost = await customer.call('GET', `${ACCOUNTS}/${id}`)
  expect(lost).toMatchObject({ status: 503, body: { code: 'unavailable' } })
  expect(lost.body.detail).toBe('the store is unavailable: a write may or may not have been done')
})

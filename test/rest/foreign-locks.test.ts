/**
 * A write never waits for a record of another customer: the delay would reveal that the record exists. The embedded
 * store runs one transaction at a time, so transactions on it never conflict.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { sql } from '../../src/platform/store/sql.ts'
import { ALL_KEYS } from '../support/address-keys.ts'
import { type RestCustomer, RestNode } from '../support/rest.ts'
import { ADDRESSES, newAccount, RULES, ruleBody, type TestAccount } from '../support/rules.ts'

const ACCOUNTS = '/v2/identity/accounts'

describe.skipIf(inject('engine') === 'embedded')('while a customer’s records are locked (needs PostgreSQL)', () => {
  let node: RestNode
  let owner: RestCustomer
  let stranger: RestCustomer
  let account: TestAccount
  let ruleId: string

  beforeAll(async () => {
    node = await RestNode.open({ flags: ALL_KEYS })
    owner = await node.newCustomer()
    stranger = await node.newCustomer()
    account = await newAccount(owner)
    ruleId = (await owner.call('POST', RULES, ruleBody(account.profileId))).body.rule.id
  })
  afterAll(() => node?.close())

  it.each<[string, (who: RestCustomer) => ReturnType<RestCustomer['call']>]>([
    ['PUT account', (who) => who.call('PUT', ACCOUNTS, { id: account.accountId, description: 'new' })],
    ['GET account', (who) => who.call('GET', `${ACCOUNTS}/${account.accountId}`)],
    ['DELETE rule', (who) => who.call('DELETE', `${RULES}/${ruleId}`)],
    ['POST rule', (who) => who.call('POST', RULES, ruleBody(account.profileId))],
    [
      'POST deposit address',
      (who) => who.call('POST', ADDRESSES, { profile_id: account.profileId, crypto_network: 'ETHEREUM' }),
    ],
  ])('%s of another customer is answered 404 without waiting', async (_, call) => {
    const held = signal()
    const finish = signal()
    const holding = node.db.transaction(
      async (transaction) => {
        for (const table of ['accounts', 'profiles', 'rules', 'customer_clocks']) {
          await sql`select from ${sql.table(table)} where customer_id = ${owner.customerId} for update`.execute(
            transaction,
          )
        }
        held.give()
        await finish.given
      },
      { statementMillisecondsMax: 60_000 },
    )
    await held.given
    const answer = await call(stranger)
    finish.give()
    await holding
    expect(answer.status, answer.text).toBe(404)
  })
})

/** A promise with its resolve function. */
function signal() {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { give, given }
}

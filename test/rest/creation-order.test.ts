/** A client that polls a list by time misses nothing: in commit order, a customer's creation times never decrease. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/platform/store/sql.ts'
import { ALL_KEYS } from '../support/address-keys.ts'
import { type RestCustomer, RestNode, untilServed } from '../support/rest.ts'
import { ADDRESSES, newAccount, RULES, ruleBody } from '../support/rules.ts'

const ACCOUNTS = '/v2/identity/accounts'
const WRITERS = 8
const WRITES = process.env.TIDEGATE_LONG === '1' ? 200 : 6

describe('times of creation', () => {
  let node: RestNode
  let customer: RestCustomer
  let profileId: string

  beforeAll(async () => {
    node = await RestNode.open({ flags: ALL_KEYS })
    customer = await node.newCustomer()
    profileId = (await newAccount(customer)).profileId
  })
  afterAll(() => node?.close())

  it.each([
    ['accounts', ACCOUNTS, (n: number) => ({ account: { identity_id: `n${n}` }, create_profile: n % 2 === 0 })],
    ['deposit_addresses', ADDRESSES, () => ({ profile_id: profileId, crypto_network: 'ETHEREUM' })],
    ['rules', RULES, (n: number) => ruleBody(profileId, { ref_id: `ordered ${n}` })],
  ])(
    'creation times of %s never decrease for a client that reads them while eight others write',
    async (table, path, bodyOf) => {
      const seen = new Map<string, string>()
      let newest = ''
      const look = async () => {
        const { rows } = await sql<{ id: string; created_at: string }>`
        select id, created_at from ${sql.table(table)} where customer_id = ${customer.customerId}
      `.execute(node.db.tables())
        const appeared = rows.filter(({ id }) => !seen.has(id))
        for (const { id, created_at } of appeared) {
          // Identifiers of accounts are made before their place in the order is known, so their times differ.
          const isLater = table === 'accounts' ? created_at > newest : created_at >= newest
          expect(isLater, `${created_at} appears after ${newest}`).toBe(true)
          seen.set(id, created_at)
        }
        newest = [newest, ...appeared.map(({ created_at }) => created_at)].sort().at(-1) as string
      }
      let isOver = false
      const read = async () => {
        while (!isOver) await look()
      }
      let next = 0
      const write = async () => {
        for (let count = 0; count < WRITES; count++) {
          const body = bodyOf(next++)
          const { status, text } = await untilServed(() => customer.call('POST', path, body))
          expect(status, text).toBe(200)
        }
      }
      const writers = Promise.all(Array.from({ length: WRITERS }, write)).finally(() => {
        isOver = true
      })
      await Promise.all([writers, read()])
      await look()
      expect(seen.size).toBeGreaterThanOrEqual(WRITERS * WRITES)
    },
  )
})

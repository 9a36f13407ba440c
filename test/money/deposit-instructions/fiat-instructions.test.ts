/** Memos of fiat deposits: their owners, and collisions of random memos. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type FiatInstructions,
  insertFiatInstructions,
} from '../../../src/money/deposit-instructions/fiat-instructions.ts'
import { nextCreationTime } from '../../../src/platform/store/creation-time.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount } from '../../support/rules.ts'

let node: RestNode
let customer: RestCustomer
let profileId: string
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
  profileId = (await newAccount(customer)).profileId
})
afterAll(() => node?.close())

function insert(...memos: readonly string[]): Promise<FiatInstructions> {
  const { customerId } = customer
  const left = [...memos]
  return node.db.transaction(async (transaction) =>
    insertFiatInstructions(
      transaction,
      { id: profileId, customerId },
      await nextCreationTime(transaction, customerId),
      { network: 'WIRE', account_type: 'ABA' },
      ...(memos.length === 0 ? [] : [() => left.shift() ?? 'NONE LEFT']),
    ),
  )
}

describe('a memo', () => {
  it('a memo has twelve unambiguous letters and digits, and is different each time', async () => {
    const memos = await Promise.all(Array.from({ length: 20 }, async () => (await insert()).memoId))
    for (const memo of memos) expect(memo).toMatch(/^[23456789ABCDEFGHJKMNPQRSTVWXYZ]{12}$/)
    expect(new Set(memos).size).toBe(20)
  })

  it('a memo that is already used is generated again, a few times', async () => {
    const first = await insert('TAKEN')
    const second = await insert('TAKEN', 'TAKEN', 'FREE')
    expect([first.memoId, second.memoId]).toEqual(['TAKEN', 'FREE'])
    expect(second.id).not.toBe(first.id)
    await expect(insert(...Array<string>(6).fill('TAKEN'))).rejects.toThrow('random memos is free')
  })
})

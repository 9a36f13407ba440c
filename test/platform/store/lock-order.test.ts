/** A transaction that locks out of order is refused before it waits. */
import { expect, it } from 'vitest'
import type { Transaction } from '../../../src/platform/store/db.ts'
import { forShare, forUpdate, holding, locking } from '../../../src/platform/store/lock-order.ts'

/** No statement is sent. */
const begin = () => ({}) as Transaction<unknown>

it('locks are taken in their order, and each kind may be left out', () => {
  const transaction = begin()
  locking(transaction, 'delivery', ['d1'])
  forUpdate(transaction, 'orchestration', ['o1'])
  locking(transaction, 'balance', ['p1/USDC', 'p2/USDC'])
  locking(transaction, 'customer clock', ['c1'])
})

it('a lock that comes before one that is held is refused', () => {
  const transaction = begin()
  locking(transaction, 'balance', ['p1/USDC'])
  expect(() => forUpdate(transaction, 'delivery', ['d1'])).toThrow(
    'delivery may not be locked after balance: transactions could wait in a circle',
  )
  forUpdate(begin(), 'delivery', ['d1'])
})

it('further locks of a kind that is already held are refused', () => {
  const transaction = begin()
  locking(transaction, 'balance', ['p2/USDC'])
  expect(() => locking(transaction, 'balance', ['p2/USDC', 'p1/USDC'])).toThrow('balance may not be locked')
})

it('a record that a transaction has locked or created may be named again', () => {
  const transaction = begin()
  holding(transaction, 'deposit', ['d1'])
  locking(transaction, 'balance', ['p1/USDC', 'p2/USDC'])
  locking(transaction, 'customer clock', ['c1'])
  locking(transaction, 'balance', ['p2/USDC'])
  locking(transaction, 'deposit', ['d1'])
  locking(transaction, 'bank amount', [])
})

it('further locks of a kind may be shared later, and not once one of them is locked alone', () => {
  const [sharing, alone] = [begin(), begin()]
  forShare(sharing, 'rule', ['r2'])
  forShare(sharing, 'rule', ['r1'])
  expect(() => forUpdate(sharing, 'rule', ['r3'])).toThrow('rule may not be locked after rule')
  forUpdate(alone, 'account', ['a1'])
  expect(() => forShare(alone, 'account', ['a2'])).toThrow('account may not be locked after account')
})

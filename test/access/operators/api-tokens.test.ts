/** Lookups of API tokens, which concurrent calls share. `roles` tests the tokens' rights. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ApiTokens } from '../../../src/access/operators/api-tokens.ts'
import type { OperatorTables } from '../../../src/access/operators/tables.ts'
import { StatementFailed } from '../../../src/platform/store/db.ts'
import { type OperatorNode, openOperatorNode } from './operator-node.ts'

const CALLS = 10

let node: OperatorNode
let tokens: ApiTokens
let operators = 0
beforeAll(async () => {
  node = await openOperatorNode()
  tokens = new ApiTokens(node.db, node.clock)
})
afterAll(() => node?.close())

/** A new operator's token that was used just now. */
async function usedToken() {
  const name = `operator-${++operators}`
  await node.ask('POST', '/operators', { name, role: 'viewer' })
  const { body } = await node.ask('POST', `/operators/${name}/tokens`, { name: 'token' })
  expect(await tokens.operatorOf(body.token)).toMatchObject({ name })
  return { id: body.id as string, token: body.token as string, name }
}

const calls = (token: string) => Array.from({ length: CALLS }, () => tokens.operatorOf(token))

it('calls with one token at the same time need two lookups, and calls with two tokens four', async () => {
  const [one, other] = [await usedToken(), await usedToken()]
  let statements = 0
  node.db.observeStatements(() => void statements++)
  const found = await Promise.all([...calls(one.token), ...calls(other.token)])
  expect(found.map((operator) => operator?.name)).toEqual([
    ...Array(CALLS).fill(one.name),
    ...Array(CALLS).fill(other.name),
  ])
  expect(statements).toBe(4)
  await tokens.operatorOf(one.token)
  expect(statements).toBe(5)
})

it('a call made after the revocation was committed never shares a lookup that began before it', async () => {
  const { id, token } = await usedToken()
  const before = tokens.operatorOf(token)
  await node.db.tables<OperatorTables>().deleteFrom('operator_tokens').where('id', '=', id).execute()
  expect(await Promise.all(calls(token))).toEqual(Array(CALLS).fill(undefined))
  await before
})

it('a lookup that fails fails for all calls that wait for it, and the next call looks the token up again', async () => {
  const { token, name } = await usedToken()
  let failures = 1
  const db = {
    tables: () => {
      if (failures-- > 0) throw new StatementFailed('a failure', '22000')
      return node.db.tables()
    },
  }
  const failing = new ApiTokens(db as never, node.clock)
  const results = await Promise.allSettled([failing.operatorOf(token), failing.operatorOf(token)])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await failing.operatorOf(token)).toMatchObject({ name })
})

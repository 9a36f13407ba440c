/** The operator API of a process whose roles move no money: what it answers itself, and what it leaves to others. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OPERATOR_CALLS } from '../../src/contract/operator-calls.ts'
import { operatorProblemsOf } from '../../src/service/api-docs/operator-problems.ts'
import { RestNode } from '../support/rest.ts'

let node: RestNode

beforeAll(async () => {
  node = await RestNode.open({ movesMoney: false })
})
afterAll(() => node.close())

/** Calls of the stream have no parts in this node, and a setup link ends its session. */
const NOT_TRIED = /^\w+ \/(markets|connections|nodes|overview|doctor|session|setup|login)/

test('a process that moves no money refuses exactly the calls whose description says so', async () => {
  const tried = Object.keys(OPERATOR_CALLS).filter((call) => !NOT_TRIED.test(call)) as (keyof typeof OPERATOR_CALLS)[]
  const refused: string[] = []
  for (const call of tried) {
    const [method, path] = call.split(' ') as [string, string]
    const url = path.replaceAll(/:\w+/g, '00000000-0000-4000-8000-000000000000')
    const answer = await node.operator(method, url, method === 'GET' ? undefined : {})
    if (answer.status !== 503) continue
    expect(answer.body).toMatchObject({ code: 'role_missing', meta: { roles: ['api', 'worker'] } })
    refused.push(call)
  }
  const described = tried.filter((call) => operatorProblemsOf(call, false).get(503)?.includes('role_missing'))
  expect(refused).toEqual(described)
  expect(refused.length).toBeGreaterThan(30)
})

/** What doctor says about screenings without an answer. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { newAddress, reportOf } from '../../money/deposits/deposits-node.ts'
import { RestNode } from '../../support/rest.ts'
import { newAccount } from '../../support/rules.ts'

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true })
})
afterAll(() => node?.close())
beforeEach(() => sql`delete from screenings`.execute(node.db.tables()))

async function ask(ageSeconds: number, fault: string | null): Promise<void> {
  await sql`
    insert into screenings (id, kind, movement_id, customer_id, profile_id, asset, amount, status, question_id, asked_at,
      next_attempt_at, fault, created_at)
    values (${newId()}, 'deposit', ${newId()}, ${newId()}, ${newId()}, 'USDC', 1, 'PENDING', ${newId()},
      clock_timestamp() - ${ageSeconds} * interval '1 second', clock_timestamp(), ${fault}, clock_timestamp())
  `.execute(node.db.tables())
}

async function findings(url: string) {
  node.live.config = { ...node.live.config, 'screening.url': url }
  const { body } = await node.operator('GET', '/doctor')
  return body.findings.filter(({ name }: { name: string }) => name === 'screening')
}

it('doctor reports a hook that does not answer, with the last fault and the oldest question’s age', async () => {
  await ask(5, 'the connection failed: ECONNREFUSED')
  expect(await findings('https://hook.example/')).toMatchObject([{ verdict: 'ok' }])
  await ask(600, 'answered with status 500')
  expect(await findings('https://hook.example/')).toMatchObject([
    {
      verdict: 'bad',
      detail: expect.stringMatching(
        /^deposits and payments without an answer: 2, the oldest for 60\d s: answered with status 500$/,
      ),
      next: expect.stringMatching(/check-screening/),
    },
  ])
})

it('doctor warns of deposits held for an answer while screening.url is empty, and is silent about ended movements', async () => {
  await ask(5, null)
  expect(await findings('')).toEqual([])
  node.live.config = { ...node.live.config, 'screening.url': 'https://hook.example/' }
  const customer = await node.newCustomer()
  const { profileId } = await newAccount(customer)
  const address = await newAddress({ node, customer, profileId }, profileId)
  const held = await node.operator('POST', '/deposits', reportOf(address))
  expect(held.body).toMatchObject({ secondary_status: 'HELD' })
  expect(await findings('')).toMatchObject([
    { verdict: 'warn', detail: 'screening.url is empty, and deposits are held for an answer: 1' },
  ])
})

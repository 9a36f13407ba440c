/** What doctor says about screenings without an answer. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { RestNode } from '../../support/rest.ts'

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open()
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
      detail: expect.stringMatching(/^2 deposits and payments .* for 60\d s: answered with status 500$/),
      next: expect.stringMatching(/check-screening/),
    },
  ])
})

it('doctor warns of movements that wait for an answer while screening.url is empty, and is silent without any', async () => {
  expect(await findings('')).toEqual([])
  await ask(5, null)
  expect(await findings('')).toMatchObject([
    { verdict: 'warn', detail: expect.stringMatching(/screening.url is empty/) },
  ])
})

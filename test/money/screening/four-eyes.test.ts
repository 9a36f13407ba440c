/** A person's decision about a screened movement under four eyes: one person requests it, another one confirms it. */
import { expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import { newAddress, reportOf } from '../deposits/deposits-node.ts'
import { decide, useScreening } from './screening-stand.ts'

const stand = useScreening()

it('a decision of one person changes nothing until another one has confirmed it', async () => {
  const [ada, grace] = [
    await stand.node.newOperator('ada', 'reviewer'),
    await stand.node.newOperator('grace', 'reviewer'),
  ]
  stand.set({ 'operator.four_eyes': ['approvals'] })
  stand.otherwise = decide('HOLD', 'unusual')
  const payment = await stand.pay()
  await stand.ask()
  const { id } = await stand.screeningOf(payment)
  const asked = await ada('POST', `/screening/${id}/decide`, {
    decision: 'ALLOW',
    note: 'the customer called',
    comment: 'called',
  })
  expect(asked.status, asked.text).toBe(202)
  expect(await stand.handOut()).toEqual([])
  const path = `/change-requests/${asked.body.request.id}`
  const { version } = (await grace('GET', path)).body
  expect((await ada('POST', `${path}/confirm`, { version })).status).toBe(403)
  expect(await stand.handOut()).toEqual([])
  const confirmed = await grace('POST', `${path}/confirm`, { version })
  expect(confirmed.body, confirmed.text).toMatchObject({ id, status: 'ALLOWED', decided_by: 'operator:grace' })
  expect(await stand.handOut()).toEqual([payment])
})

it('a requested decision is not confirmed when the screening was decided otherwise meanwhile', async () => {
  const [tom, ann] = [await stand.node.newOperator('tom', 'reviewer'), await stand.node.newOperator('ann', 'reviewer')]
  stand.set({ 'operator.four_eyes': ['approvals'] })
  stand.otherwise = decide('HOLD', 'unusual')
  const payment = await stand.pay()
  await stand.ask()
  const { id } = await stand.screeningOf(payment)
  const asked = await tom('POST', `/screening/${id}/decide`, {
    decision: 'ALLOW',
    note: 'the customer called',
    comment: 'called',
  })
  const path = `/change-requests/${asked.body.request.id}`
  const { version } = (await ann('GET', path)).body
  stand.set({ 'operator.four_eyes': [] })
  expect((await ann('POST', `/screening/${id}/decide`, { decision: 'REJECT', note: 'on a list' })).status).toBe(200)
  stand.set({ 'operator.four_eyes': ['approvals'] })
  expect(await ann('POST', `${path}/confirm`, { version })).toMatchObject({ status: 409 })
  expect(await stand.orchestration(payment)).toMatchObject({ fail_reason: { code: 'screening_rejected' } })
  expect(await stand.handOut()).toEqual([])
})

it('a change request stores the parties of its record and its body encrypted, and its second operator sees and reports them', async () => {
  const [tim, eve] = [
    await stand.node.newOperator('tim', 'treasurer'),
    await stand.node.newOperator('eve', 'treasurer'),
  ]
  const parties = {
    originator: { name: 'Ann Example', address: 'Main Street 1' },
    beneficiary: { name: 'Bob Example' },
  }
  const { node, customer, account } = stand
  const address = await newAddress({ node, customer, profileId: '' }, account.profileId)
  const payment = await stand.pay({ parties })
  const deposit = (await node.operator('POST', '/deposits', reportOf(address, { parties }))).body
  // The hook's answers change the records.
  await stand.ask()
  const delivery = (await node.operator('GET', `/deliveries?orchestration_id=${payment}`)).body.items[0]
  stand.set({ 'operator.four_eyes': ['deposits', 'settlements'] })
  const comment = 'as agreed'
  const ask = async (path: string, body: object) => {
    const asked = await tim('POST', path, { ...body, comment })
    expect(asked.status, asked.text).toBe(202)
    return `/change-requests/${asked.body.request.id}`
  }
  const changes = [
    await ask(`/orchestrations/${payment}/retry`, {}),
    await ask(`/deliveries/${delivery.id}/fail`, { reason: 'returned', attempt: 1 }),
    await ask(`/deposits/${deposit.id}/correct`, { amount: '7', reason: 'a typing error' }),
  ]
  const reported = [reportOf(address, { parties }), { deposits: [reportOf(address, { parties })] }]
  const reports = [await ask('/deposits', reported[0] as object), await ask('/deposits', reported[1] as object)]
  const { rows } = await sql<{ readonly text: string }>`
    select to_json(change_requests)::text as text from change_requests
    union all select detail::text from audit
  `.execute(node.db.tables())
  expect(rows.map(({ text }) => text).join('')).not.toMatch(/Example|Main Street/)
  for (const path of changes) {
    const { body } = await eve('GET', path)
    expect([path, body.record.parties, body.changes]).toEqual([path, { originator: {}, beneficiary: {} }, []])
  }
  expect((await eve('GET', '/change-requests')).text).not.toMatch(/Example/)
  for (const [index, path] of reports.entries()) {
    const { body } = await eve('GET', path)
    expect(body.body).toEqual(reported[index])
    const confirmed = await eve('POST', `${path}/confirm`, { version: body.version })
    expect(confirmed.status, confirmed.text).toBe(200)
    const { id } = index === 0 ? confirmed.body : confirmed.body.results[0].deposit
    expect((await node.operator('GET', `/deposits/${id}`)).body.parties).toEqual(parties)
  }
  expect((await tim('POST', '/deposits', { ...reported[0], comment })).status).toBe(202)
})

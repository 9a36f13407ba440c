/** A person's decision about a screened movement under four eyes: one person requests it, another one confirms it. */
import { expect, it } from 'vitest'
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

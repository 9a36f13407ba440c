/** What the operator API says about the installation of the node that answers: its settings, and the doctor's findings. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { examineReview } from '../../../src/service/doctor/review.ts'
import { configOf, RestNode } from '../../support/rest.ts'

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open()
})
afterAll(() => node?.close())

it('doctor lists every setting with its value, its origin and its meaning, and masks secrets', async () => {
  node.live.config = { ...node.live.config, 'operator.token': 'a-secret-of-the-operator' }
  node.live.origins = { ...node.live.origins, 'operator.token': '--operator.token', 'http.port': 'tidegate.yaml' }
  const { status, body, text } = await node.operator('GET', '/settings')
  expect(status).toBe(200)
  const items = body.items as { key: string }[]
  const row = (key: string) => items.find((item) => item.key === key)
  expect(row('operator.token')).toMatchObject({ value: '********', origin: '--operator.token', live: false })
  expect(row('http.port')).toMatchObject({ origin: 'tidegate.yaml', value: expect.any(Number) })
  expect(row('log.level')).toMatchObject({ live: true, meaning: expect.stringMatching(/./) })
  expect(items.map(({ key }) => key)).toEqual(Object.keys(node.live.config))
  expect(text).not.toContain('a-secret-of-the-operator')
})

it('doctor examines the files and the store of this node, and says what to do next', async () => {
  const { status, body } = await node.operator('GET', '/doctor')
  expect(status).toBe(200)
  const findings = body.findings as { name: string; verdict: string; detail: string; next?: string }[]
  const names = new Set(findings.map(({ name }) => name))
  for (const name of ['configuration', 'data folder', 'readiness', 'clock', 'signing key', 'ledger', 'node']) {
    expect(names).toContain(name)
  }
  expect(findings.find(({ name }) => name === 'review')).toMatchObject({
    verdict: 'warn',
    detail: 'review_above.deposits and review_above.payments are empty: any amount passes without a person',
  })
  // A finding that is not well has a next step, and no other one has.
  expect(findings.filter(({ verdict, next }) => (verdict === 'ok') === (next !== undefined))).toEqual([])
})

it('doctor warns of the setting review_above.payments alone when large deposits wait for a person', () => {
  const config = configOf({ 'review_above.deposits': '{USDC: 100000}' })
  expect(examineReview(config)).toMatchObject([
    { verdict: 'warn', detail: expect.stringMatching(/^review_above.payments is/) },
  ])
  const both = configOf({ 'review_above.deposits': '{USDC: 1}', 'review_above.payments': '{USDC: "0.5"}' })
  expect(examineReview(both)).toMatchObject([{ verdict: 'ok' }])
  expect(examineReview(configOf({ 'rest.sandbox': 'true' }))).toEqual([])
  expect(examineReview({ ...config, roles: ['gateway'] })).toEqual([])
})

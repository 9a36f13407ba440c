/** The controls in the operator API. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { RestNode } from '../../support/rest.ts'

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open()
})
afterAll(() => node?.close())

it('controls that were never changed have no time of a change', async () => {
  const { body } = await node.operator('GET', '/controls')
  expect(body).toEqual({ paused: { assets: [], networks: [], pairs: [], deliveries: false } })
  const changed = await node.operator('PATCH', '/controls', { paused: { deliveries: true } })
  expect(changed.body.updated_at).toMatch(/Z$/)
})

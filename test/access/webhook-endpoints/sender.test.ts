/** The sender of webhooks: order, retries, slow and broken receivers, and what it leaves in the store. */
import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import type { RestCustomer } from '../../support/rest.ts'
import { WebhookStand } from './webhook-stand.ts'

const stand = WebhookStand.open()

async function endpointOf(customer: RestCustomer, id: string) {
  return (await customer.call('GET', `/v2/webhooks/endpoints/${id}`)).body
}

async function deliveriesOf(customer: RestCustomer, id: string) {
  const { status, body } = await customer.call('GET', `/v2/webhooks/endpoints/${id}/deliveries?order=ASC`)
  expect(status).toBe(200)
  return body.items
}

it('an event reaches the endpoint as a signed request with the document of the list', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await stand.sender.start()
  const account = { account: { identity_id: 'identity', ref_id: 'first' } }
  expect((await customer.call('POST', '/v2/identity/accounts', account)).status).toBe(200)
  await stand.until('the request', () => stand.received.length > 0)
  const [request] = stand.received
  const { body: listed } = await customer.call('GET', '/v2/events')
  const event = listed.items.at(-1)
  expect(request?.event).toEqual(event)
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = request?.headers ?? {}
  expect(id).toBe(event.id)
  const key = Buffer.from(endpoint.secret.slice('whsec_'.length), 'base64')
  expect(signature).toBe(`v1,${createHmac('sha256', key).update(`${id}.${time}.${request?.body}`).digest('base64')}`)
  expect(await endpointOf(customer, endpoint.id)).toMatchObject({ status: 'ACTIVE', last_sequence: event.sequence })
  expect(await deliveriesOf(customer, endpoint.id)).toMatchObject([
    { event_id: event.id, sequence: event.sequence, attempt: 1, status: 200 },
  ])
})

it('an object whose event fails waits alone, and its events arrive in order afterwards', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await stand.sender.start()
  stand.answer = ({ event }) => (event.data.ref_id === 'b' ? 500 : 200)
  const objects = await stand.addEvents(customer.customerId, ['a', 'b', 'c', 'b', 'a'])
  await stand.until('the others', () => stand.names().filter((name) => name !== 'b').length === 3)
  await stand.idle()
  expect([...stand.names()].sort()).toEqual(['a', 'a', 'b', 'c'])
  await stand.addEvents(customer.customerId, ['b', 'c'], objects)
  await stand.until('the next', () => stand.names().length === 5)
  const first = (await endpointOf(customer, endpoint.id)).last_sequence
  stand.answer = () => 200
  stand.received.splice(0)
  await stand.letPass()
  await stand.until('the rest', () => stand.names().length === 3)
  expect(stand.names()).toEqual(['b', 'b', 'b'])
  const sequences = stand.received.map(({ event }) => event.sequence)
  expect(sequences).toEqual([first + 1, first + 3, first + 5])
  expect((await endpointOf(customer, endpoint.id)).last_sequence).toBe(first + 6)
  const waiting = await sql`select from webhook_backlogs where endpoint_id = ${endpoint.id}`.execute(
    stand.node.db.tables(),
  )
  expect(waiting.rows).toEqual([])
})

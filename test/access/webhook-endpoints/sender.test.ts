/** The sender of webhooks: order, retries, slow and broken receivers, and what it leaves in the store. */
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { until } from '../../support/awaited.ts'
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

async function oldestSeconds(): Promise<number> {
  const lines = (await stand.registry.metrics()).split('\n')
  return Number(lines.find((line) => line.startsWith('tidegate_webhooks_oldest_seconds '))?.split(' ')[1])
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
  expect(request?.headers['webhook-id']).toBe(event.id)
  expect(new Webhook(endpoint.secret).verify(request?.body ?? '', request?.headers ?? {})).toEqual(event)
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

it('a dead receiver costs one request per interval, and gets everything in order when it is back', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await stand.sender.start()
  stand.answer = () => 503
  const names = Array.from({ length: 400 }, (_, index) => `object ${index % 150}`)
  const objects = await stand.addEvents(customer.customerId, names)
  await stand.until('failures', () => stand.received.length >= 5)
  await stand.idle()
  expect(stand.received.length).toBeLessThanOrEqual(12)
  for (let interval = 0; interval < 3; interval++) {
    const before = stand.received.length
    await stand.addEvents(customer.customerId, names.slice(0, 20), objects)
    await stand.letPass()
    await stand.idle()
    expect(stand.received.length).toBe(before + 1)
  }
  // What waits is bounded by one round, however many events there are.
  const { rows } = await sql<{ events: number }>`
    select sum(cardinality(sequences))::integer as events from webhook_backlogs where endpoint_id = ${endpoint.id}
  `.execute(stand.node.db.tables())
  expect(rows[0]?.events).toBeLessThanOrEqual(100)
  expect((await endpointOf(customer, endpoint.id)).last_sequence).toBe(1)
  stand.answer = () => 200
  stand.received.splice(0)
  await stand.letPass()
  await stand.until('everything', () => stand.received.length >= 460)
  await stand.idle()
  expect(stand.received.length).toBe(460)
  const last = new Map<string, number>()
  for (const { event } of stand.received) {
    expect(event.sequence).toBeGreaterThan(last.get(event.subject) ?? 0)
    last.set(event.subject, event.sequence)
  }
  expect((await endpointOf(customer, endpoint.id)).last_sequence).toBe(461)
})

it('an endpoint whose event has failed for three days is disabled, with reason, notice, event and audit row', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await stand.sender.start()
  stand.answer = () => 500
  await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the request', () => stand.received.length === 1)
  await stand.letPass(71)
  await stand.until('the next request', () => stand.received.length === 2)
  expect((await endpointOf(customer, endpoint.id)).status).toBe('ACTIVE')
  await stand.letPass(2)
  await stand.until('the last request', () => stand.received.length === 3)
  const disabled = await endpointOf(customer, endpoint.id)
  expect(disabled.status).toBe('DISABLED')
  expect(disabled.disabled_reason).toMatch(
    /^event 2 about transfer .* failed for 72 hours, at last: answered with status 500$/,
  )
  const { items: events } = (await customer.call('GET', '/v2/events?types=webhook.endpoint.disabled')).body
  expect(events).toMatchObject([{ data: { id: endpoint.id, status: 'DISABLED' } }])
  const notices = (await stand.node.operator('GET', `/notices?customer_id=${customer.customerId}`)).body.items
  expect(notices).toMatchObject([
    { type: 'webhook_endpoint.disabled', facts: { reason: disabled.disabled_reason } },
    {},
  ])
  const audit = (await stand.node.operator('GET', `/audit?subject=${endpoint.id}`)).body.items
  expect(audit[0]).toMatchObject({ actor: 'worker', action: 'webhook_endpoint.disable' })
  await stand.letPass()
  await stand.idle()
  expect(stand.received.length).toBe(3)
  stand.answer = () => 200
  const resumed = await customer.call('PATCH', `/v2/webhooks/endpoints/${endpoint.id}`, { status: 'ACTIVE' })
  expect(resumed.body).toMatchObject({ status: 'ACTIVE', last_sequence: 1 })
  expect(resumed.body).not.toHaveProperty('disabled_reason')
  await stand.until('both events', () => stand.received.length === 5)
  expect(stand.received.map(({ event }) => event.sequence).slice(3)).toEqual([2, 3])
})

it('an object whose event is always refused waits alone on an endpoint without other events, too', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await stand.sender.start()
  stand.answer = ({ event }) => (event.data.ref_id === 'a' ? 422 : 200)
  await stand.addEvents(customer.customerId, ['a'])
  for (let attempts = 1; attempts <= 5; attempts++) {
    await stand.letPass()
    await stand.until('an attempt', () => stand.received.length === attempts)
  }
  await stand.addEvents(customer.customerId, ['b', 'c'])
  await stand.idle()
  expect(stand.names().filter((name) => name !== 'a')).toEqual(['b', 'c'])
  await stand.letPass(73)
  await stand.idle()
  expect((await endpointOf(customer, endpoint.id)).status).toBe('DISABLED')
})

it('an event that fails while its endpoint gets another address is sent there at once, and can disable it', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer, '/old')
  await stand.sender.start()
  stand.answer = () => 500
  await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the first request', () => stand.received.length === 1)
  await stand.letPass()
  stand.answer =
    ({ path }) =>
    (_request, response) =>
      void (path === '/new'
        ? response.writeHead(500).end()
        : customer
            .call('PATCH', `/v2/webhooks/endpoints/${endpoint.id}`, { url: `${stand.url}/new` })
            .then(() => response.writeHead(500).end()))
  await stand.until('the second request', () => stand.received.length >= 2)
  await stand.idle()
  expect(stand.received.map(({ path }) => path)).toEqual(['/old', '/old', '/new'])
  await stand.letPass(73)
  await stand.idle()
  expect((await endpointOf(customer, endpoint.id)).status).toBe('DISABLED')
})

it('a receiver that never answers delays neither other objects nor other customers', async () => {
  const slow = await stand.node.newCustomer()
  const fast = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(slow, '/slow')
  const { id: other } = await stand.newEndpoint(fast, '/fast')
  await fast.call('PATCH', `/v2/webhooks/endpoints/${other}`, { status: 'PAUSED' })
  let isHanging = true
  stand.answer = ({ path }) => (path === '/slow' && isHanging ? () => undefined : 200)
  const objects = await stand.addEvents(slow.customerId, ['a', 'b'])
  await stand.addEvents(fast.customerId, ['x', 'y'])
  // The clock stands: no request ends by its time limit.
  await stand.sender.start()
  await until('the hanging requests', () => stand.names('/slow').length === 2)
  await fast.call('PATCH', `/v2/webhooks/endpoints/${other}`, { status: 'ACTIVE' })
  await until('the other customer’s events', async () => (await endpointOf(fast, other)).last_sequence === 3)
  expect(stand.names('/fast')).toEqual(['x', 'y'])
  stand.clock.advance(10_000)
  await stand.sender.settled()
  expect(await deliveriesOf(slow, endpoint.id)).toMatchObject([
    { attempt: 1, error: 'no complete answer within 10 seconds', milliseconds: 10_000 },
    { attempt: 1, error: 'no complete answer within 10 seconds' },
  ])
  isHanging = false
  await stand.addEvents(slow.customerId, ['c', 'a'], objects)
  await stand.until('the new object', () => stand.names('/slow').includes('c'))
  await stand.letPass()
  await stand.until('the rest', () => stand.names('/slow').length === 6)
  expect(stand.names('/slow').slice(2).sort()).toEqual(['a', 'a', 'b', 'c'])
})

it('a name that resolves to a private address gets no request', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await customer.call('PATCH', `/v2/webhooks/endpoints/${endpoint.id}`, { url: stand.url.replace('http', 'https') })
  await stand.sender.stop()
  stand.sender = stand.newSender({ allowPrivate: () => false, resolve: async () => ['10.0.0.1'] })
  await stand.sender.start()
  await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the attempt', async () => (await deliveriesOf(customer, endpoint.id)).length === 1)
  expect(await deliveriesOf(customer, endpoint.id)).toMatchObject([{ error: 'the address is not public' }])
  await customer.call('PATCH', `/v2/webhooks/endpoints/${endpoint.id}`, { url: 'https://customer.example/' })
  await stand.until('the next attempt', async () => (await deliveriesOf(customer, endpoint.id)).length === 2)
  const [, second] = await deliveriesOf(customer, endpoint.id)
  expect(second).toMatchObject({ error: 'the name resolves to an address that is not public' })
  expect(stand.received).toEqual([])
})

it('the requests of a round share their connections', async () => {
  const customer = await stand.node.newCustomer()
  await stand.newEndpoint(customer)
  await stand.sender.start()
  const ports = new Set<number | undefined>()
  stand.answer = () => (_, response) => {
    ports.add(response.socket?.remotePort)
    response.writeHead(200).end()
  }
  const names = Array.from({ length: 100 }, (_, index) => `object ${index}`)
  await stand.addEvents(customer.customerId, names)
  await stand.until('the requests', () => stand.received.length === names.length)
  // A round's requests at a time, and one round more in case that the first one has read only a part.
  expect(ports.size).toBeLessThanOrEqual(16)
})

it('a redirect is a failure and is not followed', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await stand.sender.start()
  stand.answer = () => (_, response) => response.writeHead(302, { location: `${stand.url}/elsewhere` }).end()
  await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the request', () => stand.received.length === 1)
  await stand.idle()
  expect(stand.received.map(({ path }) => path)).toEqual(['/'])
  const [delivery] = await deliveriesOf(customer, endpoint.id)
  expect(delivery).toMatchObject({ status: 302, error: 'answered with status 302' })
})

it('an answer’s body is neither read nor kept, however long it is', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await stand.sender.start()
  stand.answer = () => (_, response) => {
    response.writeHead(200)
    const more = () => {
      while (!response.destroyed && response.write('secret '.repeat(10_000)));
    }
    response.on('drain', more).on('error', () => undefined)
    more()
  }
  await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the request', () => stand.received.length === 1)
  const deliveries = await deliveriesOf(customer, endpoint.id)
  expect(deliveries).toMatchObject([{ status: 200 }])
  expect(JSON.stringify([deliveries, stand.logged.lines])).not.toContain('secret ')
})

it('events that are no longer kept are left out, and the log says so', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await stand.addEvents(customer.customerId, ['a', 'b', 'c', 'd'])
  await sql`delete from events where customer_id = ${customer.customerId} and sequence < 4`.execute(
    stand.node.db.tables(),
  )
  await stand.sender.start()
  await stand.until('the rest', () => stand.received.length === 2)
  expect(stand.names()).toEqual(['c', 'd'])
  const [first] = await deliveriesOf(customer, endpoint.id)
  expect(first).toMatchObject({ sequence: 4, attempt: 0 })
  expect(first.error).toBe('the events before 4 that were not sent yet are no longer kept')
  expect((await endpointOf(customer, endpoint.id)).last_sequence).toBe(5)
})

it('a round that could not be recorded is repeated with the same ids', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await stand.sender.start()
  const tables = stand.node.db.tables()
  // As after a kill between answer and record: the claim has ended, and another sender has its own.
  const steal = sql`update webhook_endpoints set attempt = attempt + 1, leased_until = clock_timestamp() where id = ${endpoint.id}`
  stand.answer = () => (_, response) => void steal.execute(tables).then(() => response.writeHead(200).end())
  await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the request', () => stand.received.length === 1)
  expect((await endpointOf(customer, endpoint.id)).last_sequence).toBe(1)
  expect(await deliveriesOf(customer, endpoint.id)).toEqual([])
  stand.answer = () => 200
  await stand.until('the repetition', () => stand.received.length === 2)
  const [first, second] = stand.received
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  expect(second?.body).toBe(first?.body)
  await stand.idle()
  expect(stand.received.length).toBe(2)
})

it('an endpoint receives its types, of the objects that its client may read at the time', async () => {
  const scopes = ['events:write_webhook', 'transfer:read_transfer']
  const customer = await stand.node.newCustomer(scopes)
  await stand.newEndpoint(customer, '/all')
  await stand.newEndpoint(customer, '/others', ['transfer.deposit.completed'])
  await stand.sender.start()
  const objects = await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the event', () => stand.names('/all').length === 1)
  const change = { scopes: ['events:write_webhook'] }
  expect((await stand.node.operator('PATCH', `/clients/${customer.clientId}`, change)).status).toBe(200)
  await stand.addEvents(customer.customerId, ['b', 'a'], objects)
  await stand.idle()
  expect(stand.received.map(({ path, event }) => [path, event.data.ref_id])).toEqual([['/all', 'a']])
})

it('the endpoint of a disabled client is disabled, and that of a disabled customer waits', async () => {
  const customer = await stand.node.newCustomer()
  const other = await stand.node.newClient(customer.customerId)
  const endpoint = await stand.newEndpoint(customer)
  const waiting = await stand.newEndpoint(other, '/other')
  await stand.sender.start()
  await stand.node.operator('PATCH', `/clients/${customer.clientId}`, { enabled: false })
  await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the other endpoint’s event', () => stand.names('/other').includes('a'))
  await stand.idle()
  expect(await endpointOf(other, endpoint.id)).toMatchObject({
    status: 'DISABLED',
    disabled_reason: 'its client is disabled',
  })
  await stand.node.operator('PATCH', `/customers/${customer.customerId}`, { enabled: false })
  await stand.addEvents(customer.customerId, ['b'])
  await stand.idle()
  await stand.node.operator('PATCH', `/customers/${customer.customerId}`, { enabled: true })
  expect(await endpointOf(other, waiting.id)).toMatchObject({ status: 'ACTIVE' })
  expect(stand.names('/other').at(-1)).not.toBe('b')
  await stand.letPass()
  await stand.until('the event', () => stand.names('/other').at(-1) === 'b')
  expect(stand.names('/')).toEqual([])
})

it('the metric has the age of an event that no request was made for, until it was sent', async () => {
  const customer = await stand.node.newCustomer()
  await stand.newEndpoint(customer)
  await stand.addEvents(customer.customerId, ['a'])
  await sql`
    update events set created_at = created_at - interval '1 hour' where customer_id = ${customer.customerId}
  `.execute(stand.node.db.tables())
  expect(await oldestSeconds()).toBeGreaterThan(3_599)
  await stand.sender.start()
  await stand.until('the event', () => stand.names().length === 1)
  expect(await oldestSeconds()).toBe(0)
})

it('events that no process has the key for are seen in the metric, and those of a disabled customer are not', async () => {
  const customer = await stand.node.newCustomer()
  await stand.newEndpoint(customer)
  await stand.sender.stop()
  stand.sender = stand.newSender({ encryptionKey: undefined })
  await stand.sender.start()
  await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the log line', () => stand.logged.lines.some((line) => line.includes('lacks the key')))
  await sql`
    update events set created_at = created_at - interval '1 hour' where customer_id = ${customer.customerId}
  `.execute(stand.node.db.tables())
  expect(await oldestSeconds()).toBeGreaterThan(3_599)
  await stand.node.operator('PATCH', `/customers/${customer.customerId}`, { enabled: false })
  expect(await oldestSeconds()).toBe(0)
  expect(stand.received).toEqual([])
})

it('the sender reads the state of a client from the store, not from the directory of its node', async () => {
  const { customerId } = await stand.node.newCustomer()
  const tables = stand.node.db.tables()
  // Without the change that nodes read.
  const clientId = newId()
  await sql`
    insert into clients (id, customer_id, name, scopes, enabled)
    values (${clientId}, ${customerId}, 'new', '{transfer:read_transfer}', true)
  `.execute(tables)
  const path = `/customers/${customerId}/webhook-endpoints`
  const { body: endpoint } = await stand.node.operator('POST', path, { client_id: clientId, url: `${stand.url}/` })
  await stand.sender.start()
  await stand.addEvents(customerId, ['a'])
  await stand.idle()
  expect(stand.names()).toEqual(['a'])
  const stateOf = async () => (await stand.node.operator('GET', `/webhook-endpoints/${endpoint.id}`)).body
  expect(await stateOf()).toMatchObject({ status: 'ACTIVE' })
  await sql`update clients set enabled = false where id = ${clientId}`.execute(tables)
  await stand.addEvents(customerId, ['b'])
  await stand.idle()
  expect(stand.names()).toEqual(['a'])
  expect(await stateOf()).toMatchObject({ status: 'DISABLED' })
})

it('a paused endpoint gets a test and no events, and afterwards everything since', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  const path = `/v2/webhooks/endpoints/${endpoint.id}`
  await customer.call('PATCH', path, { status: 'PAUSED' })
  await stand.sender.start()
  await stand.addEvents(customer.customerId, ['a', 'b'])
  const { body: test } = await customer.call('POST', `${path}/test`)
  await stand.until('the test', () => stand.received.length === 1)
  await stand.idle()
  const [request] = stand.received
  expect(request?.event).toMatchObject({ id: test.event_id, is_test: true, sequence: 0, type: 'webhook.endpoint.test' })
  expect(new Webhook(endpoint.secret).verify(request?.body ?? '', request?.headers ?? {})).toBeDefined()
  expect(await deliveriesOf(customer, endpoint.id)).toMatchObject([{ event_id: test.event_id, status: 200 }])
  await customer.call('PATCH', path, { status: 'ACTIVE' })
  await stand.until('the events', () => stand.received.length === 3)
  expect(stand.names().slice(1)).toEqual(['a', 'b'])
})

it('a deleted endpoint gets nothing more, neither what waits nor a requested test', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  const path = `/v2/webhooks/endpoints/${endpoint.id}`
  await stand.sender.start()
  stand.answer = () => 500
  await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the failure', async () => (await deliveriesOf(customer, endpoint.id)).length === 1)
  await stand.sender.stop()
  await customer.call('POST', `${path}/test`)
  await customer.call('DELETE', path)
  stand.sender = stand.newSender()
  await stand.sender.start()
  await stand.letPass()
  await stand.idle()
  expect(stand.received.length).toBe(1)
  const { rows } = await sql`select from webhook_backlogs where endpoint_id = ${endpoint.id}`.execute(
    stand.node.db.tables(),
  )
  expect(rows).toEqual([])
})

it('both secrets sign until the rotation ends', async () => {
  const customer = await stand.node.newCustomer()
  const { secret: old, ...endpoint } = await stand.newEndpoint(customer)
  const path = `/v2/webhooks/endpoints/${endpoint.id}`
  const { secret: next, secrets } = (await customer.call('PATCH', path, { rotate_secret: true })).body
  expect(secrets).toHaveLength(2)
  await stand.sender.start()
  await stand.addEvents(customer.customerId, ['a'])
  await stand.until('the event', () => stand.received.length === 1)
  const verify = (secret: string, { body, headers } = stand.received.at(-1) as (typeof stand.received)[number]) =>
    new Webhook(secret).verify(body, headers)
  expect(verify(old)).toEqual(verify(next))
  expect((await customer.call('PATCH', path, { end_rotation: true })).body.secrets).toHaveLength(1)
  await stand.addEvents(customer.customerId, ['b'])
  await stand.until('the event', () => stand.received.length === 2)
  expect(verify(next)).toBeDefined()
  expect(() => verify(old)).toThrow()
})

it('a replay sends the events after a sequence again, with the same ids, and what waits only once', async () => {
  const customer = await stand.node.newCustomer()
  const endpoint = await stand.newEndpoint(customer)
  await stand.sender.start()
  stand.answer = ({ event }) => (event.data.ref_id === 'b' ? 500 : 200)
  await stand.addEvents(customer.customerId, ['a', 'b', 'c'])
  await stand.until('the events', () => stand.received.length === 3)
  const ids = new Map(stand.received.map(({ event, headers }) => [event.sequence, headers['webhook-id']]))
  stand.answer = () => 200
  stand.received.splice(0)
  const path = `/v2/webhooks/endpoints/${endpoint.id}/replay`
  expect((await customer.call('POST', path, { after: 1 })).body.last_sequence).toBe(1)
  await stand.until('the events', () => stand.received.length === 3)
  await stand.idle()
  expect(new Map(stand.received.map(({ event, headers }) => [event.sequence, headers['webhook-id']]))).toEqual(ids)
  expect((await endpointOf(customer, endpoint.id)).last_sequence).toBe(4)
  expect((await customer.call('POST', path, { after: 5 })).status).toBe(400)
})

import { afterAll, beforeAll, expect, it } from 'vitest'
import { LockoutNotices } from '../../../src/access/clients/token-endpoint/lockout-notices.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { StoreUnavailable } from '../../../src/platform/store/db.ts'
import { captureLog } from '../../support/captured-log.ts'
import { RestNode } from '../../support/rest.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open()
})
afterAll(() => node?.close())

async function newClient() {
  const { body: customer } = await node.operator('POST', '/customers', { name: crypto.randomUUID() })
  const path = `/customers/${customer.id}/clients`
  const { body: client } = await node.operator('POST', path, { name: 'feed', scopes: ['identity:read_account'] })
  return { customer, client }
}

async function guess(client_id: string): Promise<number> {
  const form = { grant_type: 'client_credentials', client_id, client_secret: 'wrong', scope: 'identity:read_account' }
  return (await fetch(`${node.url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })).status
}

async function lockoutsOf(customerId: string) {
  const { items } = (await node.operator('GET', `/notices?customer_id=${customerId}`)).body
  return items.filter(({ type }: { type: string }) => type === 'sign_in.locked')
}

function recordOf(client: { client_id: string; customer_id: string; name: string }) {
  const { client_id: clientId, customer_id: customerId, name } = client
  return { clientId, customerId, name, scopes: new Set([]), enabled: true }
}

it('a client whose sign-ins are delayed is reported once, with the address', async () => {
  const { customer, client } = await newClient()
  const statuses: number[] = []
  for (let count = 0; count < 9; count++) statuses.push(await guess(client.client_id))
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429, 429])
  await expect
    .poll(() => lockoutsOf(customer.id))
    .toMatchObject([
      {
        subject: client.client_id,
        facts: { client: 'feed', client_id: client.client_id, address: expect.any(String) },
      },
    ])
})

it('a client whose sign-ins are delayed is reported once a day, on whichever node', async () => {
  const { customer, client } = await newClient()
  const { log } = captureLog()
  for (let count = 0; count < 2; count++) {
    const notices = new LockoutNotices({ db: node.db, clock: new VirtualClock(), log })
    notices.note(recordOf(client), '192.0.2.1')
    await notices.stop()
  }
  expect(await lockoutsOf(customer.id)).toMatchObject([{ facts: { address: '192.0.2.1' } }])
})

it('a lockout during an outage of the store is reported by the next failure after it', async () => {
  const { customer, client } = await newClient()
  const { log, lines } = captureLog()
  let isDown = true
  const unreliable = new Proxy(node.db, {
    get: (db, name) =>
      name === 'transaction' && isDown
        ? () => Promise.reject(new StoreUnavailable('gone'))
        : Reflect.get(db, name).bind?.(db),
  }) as Db
  const notices = new LockoutNotices({ db: unreliable, clock: new VirtualClock(), log })
  notices.note(recordOf(client), '192.0.2.1')
  await notices.stop()
  expect(lines.join('')).toContain('could not be queued')
  isDown = false
  notices.note(recordOf(client), '192.0.2.2')
  await notices.stop()
  expect(await lockoutsOf(customer.id)).toMatchObject([{ facts: { address: '192.0.2.2' } }])
})

/**
 * Two nodes on one store: what one changes ends the access of streams at the other. No time passes on the clocks of the
 * nodes, so that notifications alone carry the changes, not the reads that repeat every half second.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { createSecret, ensureClient } from '../../../src/access/clients/clients.ts'
import { changeCustomer, ensureCustomer } from '../../../src/access/clients/customers.ts'
import { changePlan, createPlan } from '../../../src/access/clients/plans/store.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { AuthNode, write } from '../../support/auth-node.ts'
import { captureLog } from '../../support/captured-log.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { proxyPostgres } from '../../support/postgres-proxy.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import type { TcpProxy } from '../../support/tcp-proxy.ts'
import { openTestStore } from '../../support/test-store.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

const { log } = captureLog()
/** The connections of the second node pass it, where they are connections. */
let proxy: TcpProxy | undefined
let stores: readonly [Db, Db]
let here: AuthNode
let there: AuthNode

beforeAll(async () => {
  stores = inject('engine') === 'embedded' ? await sameStore() : await storesOfServer()
  const clock = new NodeClock(Date.now())
  here = await AuthNode.open({ db: stores[0], clock })
  there = await AuthNode.open({ db: stores[1], clock })
})
afterAll(async () => {
  await here?.close()
  await there?.close()
  for (const db of new Set(stores)) await db.close()
  proxy?.close()
})

async function sameStore(): Promise<readonly [Db, Db]> {
  const db = await openTestStore({ log })
  return [db, db]
}

async function storesOfServer(): Promise<readonly [Db, Db]> {
  const url = await migratedDatabase()
  const proxied = await proxyPostgres(url)
  proxy = proxied.proxy
  const open = (address: string) =>
    openPostgres({ url: address, connectionsMax: 5, log, clock: createSlowClock(), random: () => 0.5 })
  const db = open(url)
  return [db, open(proxied.url)]
}

let number = 0
/** Two customers with a stream each at the second node. */
async function openStreams() {
  const parties = []
  for (const name of [`customer ${++number}`, `customer ${++number}`]) {
    const { customer, client, secret } = await write(stores[0], async (transaction) => {
      const made = await ensureCustomer(transaction, 'test', { name, streaming: true })
      const wanted = { name: 'feed', scopes: [STREAM_SCOPE] } as const
      const { client } = await ensureClient(transaction, 'test', made.customer.id, wanted)
      return { ...made, client, secret: await createSecret(transaction, 'test', client.client_id) }
    })
    await here.loader.refresh()
    await there.until((directory) => directory.secretHashes(client.client_id).length > 0)
    const credentials = { client_id: client.client_id, client_secret: secret.client_secret }
    const token = await here.token(credentials, STREAM_SCOPE)
    const { socket, closed } = await there.stream(token)
    parties.push({ customer, credentials, token, socket, closed })
  }
  const [first, second] = parties
  if (first === undefined || second === undefined) throw new Error('no parties')
  return { first, second }
}

const setStreaming = (id: string, streaming: boolean) =>
  write(stores[0], (transaction) => changeCustomer(transaction, 'test', id, { streaming }))

const CUTS = [
  ['', () => undefined],
  [', also when its connections to the store were cut just before', () => proxy?.cut()],
] as const

describe.each(CUTS.slice(0, inject('engine') === 'embedded' ? 1 : 2))('at the other node%s', (_, cut) => {
  beforeEach(() => {
    // Changes that are read because a connection was lost are read at most once a second.
    there.clock.advance(1_000)
  })

  it('a revoked token ends its stream, and no other', async () => {
    const { first, second } = await openStreams()
    cut()
    expect((await here.post('/oauth2/revoke', { token: first.token, ...first.credentials })).status).toBe(200)
    expect(await first.closed).toBe(4001)
    expect([await there.status(first.token), await there.status(second.token)]).toEqual([401, 426])
    expect(second.socket.readyState).toBe(second.socket.OPEN)
  })

  it('a customer that leaves the allow list loses its stream, and can open one when it is back', async () => {
    const { first, second } = await openStreams()
    cut()
    await setStreaming(first.customer.id, false)
    expect(await first.closed).toBe(4003)
    expect([await there.status(first.token), await there.status(second.token)]).toEqual([403, 426])
    expect(second.socket.readyState).toBe(second.socket.OPEN)
    cut()
    await setStreaming(first.customer.id, true)
    await there.until((directory) => directory.customer(first.customer.id)?.streaming === true)
    expect(await there.status(first.token)).toBe(426)
  })

  it('a plan, and a change of it, bounds its handshakes, and no others', async () => {
    const { first, second } = await openStreams()
    const [name, customerId] = [`plan-${number}`, first.customer.id]
    const boundThere = (most: number) =>
      there.until((directory) => {
        const [held] = directory.plansOf({ customerId, clientId: '', tokenId: '', keyId: '', issuedAtSeconds: 0 })
        return held?.plan.connectionsMax === most
      })
    cut()
    await write(stores[0], async (transaction) => {
      await createPlan(transaction, 'test', name, { connections_max: 1 })
      await changeCustomer(transaction, 'test', customerId, { plan: name })
    })
    await boundThere(1)
    expect([await there.status(first.token), await there.status(second.token)]).toEqual([429, 426])
    await write(stores[0], (transaction) => changePlan(transaction, 'test', name, { connections_max: 2 }))
    await boundThere(2)
    expect(await there.status(first.token)).toBe(426)
    expect(first.socket.readyState).toBe(first.socket.OPEN)
  })
})

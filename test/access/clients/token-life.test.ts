/** The life of tokens, keys and connections on two nodes that share only the store; the test sets the store's clock. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { changeClient, ensureClient, revokeClientTokens } from '../../../src/access/clients/clients.ts'
import { changeCustomer, ensureCustomer } from '../../../src/access/clients/customers.ts'
import { listSigningKeys, revokeSigningKey, rotateSigningKeys } from '../../../src/access/clients/signing-keys.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { listAudit } from '../../../src/platform/store/audit.ts'
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { AuthNode, write } from '../../support/auth-node.ts'
import { hasPostgres, sharedDatabase } from '../../support/postgres.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { createStoreClock, prepareStoreClock, setStoreClock } from '../../support/store-time.ts'
import { dropSchema, openTemporaryStore } from '../../support/test-store.ts'
import { itemsOf } from '../../support/text-page.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

const silent = createLog('silent')
const clock = createSlowClock()
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The stores of two nodes: the same store twice, or two pools on one database. */
async function openEmbeddedStores(): Promise<Db[]> {
  const db = await openTemporaryStore(silent, clock)
  await dropSchema(db)
  await createStoreClock(db, wallMilliseconds)
  return [db, db]
}

async function openPostgresStores(): Promise<Db[]> {
  const url = await sharedDatabase()
  await prepareStoreClock(url)
  const open = () => openPostgres({ url, connectionsMax: 5, log: silent, clock, random: () => 0.5 })
  const opened = [open(), open()]
  await createStoreClock(opened[0] as Db, wallMilliseconds)
  return opened
}

interface Client {
  readonly customerId: string
  readonly credentials: { readonly client_id: string; readonly client_secret: string }
}

let stores: Db[]
let db: Db
let time: NodeClock
let nodes: AuthNode[]
let one: AuthNode
let other: AuthNode
let number = 0
let wallMilliseconds = Date.UTC(2026, 0, 1)

async function newClient(): Promise<Client> {
  const client = await write(db, async (transaction) => {
    const name = `customer ${++number}`
    const { customer } = await ensureCustomer(transaction, 'test', { name, streaming: true })
    const wanted = { name: 'feed', scopes: [STREAM_SCOPE] }
    const { client, secret } = await ensureClient(transaction, 'test', customer.id, wanted)
    const credentials = { client_id: client.client_id, client_secret: secret?.client_secret as string }
    return { customerId: customer.id, credentials }
  })
  const { client_id } = client.credentials
  await Promise.all(nodes.map((node) => node.until((directory) => directory.secretHashes(client_id).length === 1)))
  return client
}

const tokenOf = (node: AuthNode, { credentials }: Client) => node.token(credentials, STREAM_SCOPE)
const revoke = (node: AuthNode, { credentials }: Client, token: string) =>
  node.post('/oauth2/revoke', { ...credentials, token })
const nowMilliseconds = () => time.wallInstant().milliseconds
/** Advances the time of the store and of the nodes. */
async function pass(milliseconds: number): Promise<void> {
  await setStoreClock(db, nowMilliseconds() + milliseconds)
  time.advance(milliseconds)
}
/** Waits until every node has the store's current content, including what is read at most once a second. */
async function reloadAll(): Promise<void> {
  await pass(1_000)
  for (const { loader } of nodes) await loader.refresh()
}
const statuses = (token: string) => Promise.all(nodes.map((node) => node.status(token)))
const keyIdOf = (token: string) => JSON.parse(atob(token.split('.', 1)[0] as string)).kid as string

function describeOn(engine: string, open: () => Promise<Db[]>): void {
  describe(`on ${engine}`, () => {
    beforeAll(async () => {
      stores = await open()
      db = stores[0] as Db
      await migrate(db, silent)
    })
    afterAll(async () => {
      for (const store of new Set(stores)) await store.close()
    })
    beforeEach(async () => {
      // Time advances from test to test, as it does for a store, so that every pending key has become active.
      time = new NodeClock(wallMilliseconds)
      await pass(2 * HOUR)
      nodes = await Promise.all(stores.map((store) => AuthNode.open({ db: store, clock: time })))
      one = nodes[0] as AuthNode
      other = nodes[1] as AuthNode
    })
    afterEach(async () => {
      await Promise.all(nodes.map((node) => node.close()))
      wallMilliseconds = nowMilliseconds()
    })
    describe('revoking access', describeTakenAway)
    describe('a revocation by the client', describeRevocation)
    describe('signing keys', describeKeys)
  })
}

if (!hasPostgres || process.env.TIDEGATE_LONG === '1') describeOn('the embedded store', openEmbeddedStores)
describe.skipIf(!hasPostgres)('with a PostgreSQL server (needs PostgreSQL)', () => {
  describeOn('PostgreSQL', openPostgresStores)
})

function describeTakenAway(): void {
  const ways: [string, (client: Client, token: string) => Promise<unknown>, number][] = [
    ['the token', (client, token) => revoke(one, client, token), 401],
    [
      'all tokens of the client',
      ({ credentials: { client_id } }) =>
        write(db, (transaction) => revokeClientTokens(transaction, 'test', client_id)),
      401,
    ],
    [
      'the key',
      (_client, token) =>
        write(db, (transaction) => revokeSigningKey(transaction, 'test', keyIdOf(token), nowMilliseconds())),
      401,
    ],
    [
      'the client',
      ({ credentials: { client_id } }) =>
        write(db, (transaction) => changeClient(transaction, 'test', client_id, { enabled: false })),
      403,
    ],
    [
      'the scope',
      ({ credentials: { client_id } }) =>
        write(db, (transaction) => changeClient(transaction, 'test', client_id, { scopes: [] })),
      403,
    ],
    [
      'the customer',
      ({ customerId }) =>
        write(db, (transaction) => changeCustomer(transaction, 'test', customerId, { enabled: false })),
      403,
    ],
    [
      'the allow-list entry',
      ({ customerId }) =>
        write(db, (transaction) => changeCustomer(transaction, 'test', customerId, { streaming: false })),
      403,
    ],
  ]

  it.each(ways)(
    "a revocation through %s closes the token's connections on every node with the documented code and refuses it later",
    async (...way) => {
      const [what, take, refused] = way
      const code = refused === 401 ? 4001 : 4003
      const client = await newClient()
      const bystander = await newClient()
      const token = await tokenOf(one, client)
      const bystanders = what === 'the key' ? [] : [await other.stream(await tokenOf(one, bystander))]
      const streams = [await one.stream(token), await other.stream(token)]
      expect(await statuses(token)).toEqual([426, 426])
      // Time does not advance on either node: nothing here waits for a timer.
      await take(client, token)
      expect(await Promise.all(streams.map(({ closed }) => closed))).toEqual([code, code])
      expect(await statuses(token)).toEqual([refused, refused])
      // After a 4001 a new token opens the stream again at once.
      if (code === 4001) expect(await statuses(await tokenOf(one, client))).toEqual([426, 426])
      for (const { socket } of bystanders) expect(socket.readyState).toBe(socket.OPEN)
    },
  )

  it('revoking all tokens of a client spares a token granted in the same second, and its secrets', async () => {
    const client = await newClient()
    const { client_id } = client.credentials
    const old = await tokenOf(one, client)
    await pass(400)
    for (const round of [1, 2, 3]) {
      const before = round === 1 ? old : await tokenOf(one, client)
      await write(db, (transaction) => revokeClientTokens(transaction, 'test', client_id))
      await Promise.all(
        nodes.map((node) =>
          node.until((directory) => {
            const seconds = directory.client(client_id)?.tokensValidFromSeconds ?? 0
            return seconds === Math.floor(nowMilliseconds() / 1000) + round
          }),
        ),
      )
      expect(await statuses(before), `round ${round}`).toEqual([401, 401])
      expect(await statuses(await tokenOf(other, client)), `round ${round}`).toEqual([426, 426])
    }
  })

  it('revoking all tokens of a client also ends those from a node whose clock is ahead', async () => {
    const client = await newClient()
    const { client_id } = client.credentials
    const ahead = await AuthNode.open({ db, clock: new NodeClock(nowMilliseconds() + MINUTE) })
    const token = await tokenOf(ahead, client)
    expect(await statuses(token)).toEqual([426, 426])
    await write(db, (transaction) => revokeClientTokens(transaction, 'test', client_id))
    for (const node of [...nodes, ahead]) {
      await node.until((directory) => directory.client(client_id)?.tokensValidFromSeconds !== undefined)
    }
    expect([...(await statuses(token)), await ahead.status(token)]).toEqual([401, 401, 401])
    expect(await statuses(await tokenOf(ahead, client))).toEqual([426, 426])
    await ahead.close()
  })
}

function describeRevocation(): void {
  it('a revocation is in force on this node when it is answered, returns no body, and leaves one audit row', async () => {
    const client = await newClient()
    const token = await tokenOf(one, client)
    const kept = await tokenOf(one, client)
    const answer = await revoke(one, client, token)
    expect([answer.status, answer.body, answer.headers.get('cache-control')]).toEqual([200, {}, 'no-store'])
    expect(await one.status(token)).toBe(401)
    const refusal = await fetch(one.url, { headers: { authorization: `Bearer ${token}` } })
    expect(refusal.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    expect(await refusal.json()).toMatchObject({ detail: 'the token is not valid: it has been revoked' })
    expect(await one.status(kept)).toBe(426)
    expect((await revoke(one, client, token)).status).toBe(200)
    const items = itemsOf(await listAudit(db, { order: 'DESC', limit: 2 }))
    expect(items[0]).toMatchObject({ actor: client.credentials.client_id, action: 'token.revoke' })
    expect(items[1]?.action).not.toBe('token.revoke')
  })

  it("a revocation has no effect on another client's token, an invalid token, or an expired one", async () => {
    const client = await newClient()
    const stranger = await newClient()
    const token = await tokenOf(one, client)
    expect((await revoke(one, stranger, token)).status).toBe(200)
    expect((await revoke(one, client, 'noise')).status).toBe(200)
    expect(await one.status(token)).toBe(426)
    await pass(HOUR)
    const rows = itemsOf(await listAudit(db, { order: 'DESC', limit: 1000 })).length
    expect((await revoke(one, client, token)).status).toBe(200)
    expect(itemsOf(await listAudit(db, { order: 'DESC', limit: 1000 })).length).toBe(rows)
    expect(await one.status(token)).toBe(401)
  })

  it('a revocation that cannot be stored is 503, and the token remains valid', async () => {
    const client = await newClient()
    const token = await tokenOf(one, client)
    const failing: Db = { ...db, transaction: () => Promise.reject(new StoreUnavailable('the store is gone')) }
    const node = await AuthNode.open({ db: failing, clock: time })
    const answer = await node.post('/oauth2/revoke', { ...client.credentials, token })
    expect(answer).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } })
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await node.status(token)).toBe(426)
    await node.close()
  })

  it('a revocation that this node cannot read back is 503 too: it may be in force elsewhere, but not here', async () => {
    const client = await newClient()
    const token = await tokenOf(one, client)
    const node = await AuthNode.open({ db, clock: time })
    await node.loader.stop()
    expect((await node.post('/oauth2/revoke', { ...client.credentials, token })).status).toBe(503)
    expect(await node.status(token)).toBe(426)
    await other.until((directory) => [...directory.revokedTokens].length > 0)
    await node.close()
  })

  it('a revocation counts towards 10,000 stored ones per client, also expired ones; revoking all tokens resets the count', async () => {
    const client = await newClient()
    const { client_id } = client.credentials
    const [issued, expiry] = [-2 * HOUR, -HOUR].map((after) => new Date(nowMilliseconds() + after).toISOString())
    await sql`insert into revoked_tokens (token_id, client_id, issued_at, expires_at)
      select gen_random_uuid(), ${client_id}, ${issued}::timestamptz, ${expiry}::timestamptz
      from generate_series(1, 10000)`.execute(db.tables())
    const token = await tokenOf(one, client)
    const refusal = await revoke(one, client, token)
    expect(refusal).toMatchObject({ status: 503, body: { error_description: expect.stringContaining('25 hours') } })
    expect(await one.status(token)).toBe(426)
    await write(db, (transaction) => revokeClientTokens(transaction, 'test', client_id))
    await one.until((directory) => directory.client(client_id)?.tokensValidFromSeconds !== undefined)
    expect(await one.status(token)).toBe(401)
    expect((await revoke(one, client, await tokenOf(one, client))).status).toBe(200)
  })

  const idOf = (token: string) => (JSON.parse(atob(token.split('.')[1] as string)) as { jti: string }).jti
  const knows = (node: AuthNode, token: string) =>
    [...node.directory.revokedTokens].some(({ tokenId }) => tokenId === idOf(token))

  it("a revocation is deleted 25 hours after its token has expired by the store's clock, and not before", async () => {
    const client = await newClient()
    const token = await tokenOf(one, client)
    await revoke(one, client, token)
    await pass(26 * HOUR - MINUTE)
    await one.runUpkeep()
    expect(knows(one, token)).toBe(true)
    await pass(MINUTE)
    await one.runUpkeep()
    await Promise.all(nodes.map((node) => node.until(() => !knows(node, token))))
  })

  it('a revocation is not undone by a node whose clock is ahead', async () => {
    const client = await newClient()
    const token = await tokenOf(one, client)
    await revoke(one, client, token)
    for (const hours of [3, 48]) {
      const ahead = new NodeClock(nowMilliseconds() + hours * HOUR)
      const keeper = await AuthNode.open({ db, clock: ahead })
      await keeper.runUpkeep()
      await reloadAll()
      expect(await statuses(token), `${hours} h`).toEqual([401, 401])
      expect(knows(keeper, token), `${hours} h`).toBe(true)
      await keeper.close()
    }
  })

  it('a revocation holds on a node with a lagging clock as long as that node considers the token unexpired', async () => {
    const client = await newClient()
    const token = await tokenOf(one, client)
    const behind = new NodeClock(nowMilliseconds() - 20 * HOUR)
    const late = await AuthNode.open({ db, clock: behind })
    const own = await tokenOf(late, client)
    for (const each of [token, own]) expect((await revoke(late, client, each)).status).toBe(200)
    await pass(20 * HOUR)
    behind.advance(20 * HOUR)
    await one.runUpkeep()
    await late.loader.refresh()
    // By its own clock the first token has not expired yet: only the revocation refuses it.
    expect(await late.status(token)).toBe(401)
    expect([knows(late, token), knows(late, own)]).toEqual([true, true])
    await late.close()
  })

  it('revoking all tokens restores none that was revoked individually, whichever clock issued it', async () => {
    const client = await newClient()
    const ahead = await AuthNode.open({ db, clock: new NodeClock(nowMilliseconds() + 3 * HOUR) })
    const tokens = [await tokenOf(one, client), await tokenOf(ahead, client)]
    for (const token of tokens) expect((await revoke(ahead, client, token)).status).toBe(200)
    await write(db, (transaction) => revokeClientTokens(transaction, 'test', client.credentials.client_id))
    for (const node of [one, other]) {
      await node.until(
        (directory) => directory.client(client.credentials.client_id)?.tokensValidFromSeconds !== undefined,
      )
    }
    await reloadAll()
    for (const token of tokens) expect(await statuses(token)).toEqual([401, 401])
    await ahead.close()
  })
}

function describeKeys(): void {
  const jwks = async (node: AuthNode) => {
    const { keys } = (await (await fetch(`${node.url}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] }
    return keys.map(({ kid }) => kid)
  }
  const documents = async () => (await listSigningKeys(db, nowMilliseconds(), { limit: 1000, order: 'DESC' })).items
  const stateOf = async (id: string) => (await documents()).find((key) => key.id === id)?.state
  const rotate = () => write(db, (transaction) => rotateSigningKeys(transaction, 'test', nowMilliseconds()))

  it('signing keys rotate without a token being refused: published, signing, verifying, retired', async () => {
    const keepers = await Promise.all(
      stores.map((store) => AuthNode.open({ db: store, clock: time, signingKeyDays: 30 })),
    )
    nodes.push(...keepers)
    const client = await newClient()
    const before = await tokenOf(one, client)
    const firstKey = keyIdOf(before)
    const { id, state } = await rotate()
    expect([state, id]).not.toContain(firstKey)
    await Promise.all(nodes.map((node) => node.until((directory) => directory.verificationKey(id) !== undefined)))
    for (const node of nodes) expect(await jwks(node)).toEqual(expect.arrayContaining([firstKey, id]))
    expect(keyIdOf(await tokenOf(one, client))).toBe(firstKey)

    await pass(HOUR - 1)
    const last = await tokenOf(other, client)
    expect(keyIdOf(last)).toBe(firstKey)
    await pass(1)
    expect([await stateOf(firstKey), await stateOf(id)]).toEqual(['verifying', 'signing'])
    const after = await tokenOf(one, client)
    expect(keyIdOf(after)).toBe(id)
    expect(await statuses(last)).toEqual([426, 426, 426, 426])
    expect(await statuses(after)).toEqual([426, 426, 426, 426])

    await pass(DAY + 4 * MINUTE)
    expect(await stateOf(firstKey)).toBe('verifying')
    await pass(MINUTE)
    await Promise.all(nodes.map((node) => node.until((directory) => directory.verificationKey(firstKey) === undefined)))
    expect(await stateOf(firstKey)).toBe('retired')
    expect(await jwks(one)).not.toContain(firstKey)
    expect(await statuses(await tokenOf(one, client))).toEqual([426, 426, 426, 426])
  })

  it('signing keys rotate automatically: one successor, an hour before it is due, whichever node acts first', async () => {
    const first = one.directory.keys.at(-1)
    const start = first?.signsFromMilliseconds ?? Number.NaN
    const days = Math.ceil((nowMilliseconds() - start) / DAY) + 2
    const keepers = await Promise.all(
      stores.map((store) => AuthNode.open({ db: store, clock: time, signingKeyDays: days })),
    )
    nodes.push(...keepers)
    await pass(start + days * DAY - HOUR - nowMilliseconds() - 1)
    await one.loader.refresh()
    expect(one.directory.keys.at(-1)).toEqual(first)
    await pass(MINUTE)
    await Promise.all(nodes.map((node) => node.until((directory) => directory.keys.at(-1)?.keyId !== first?.keyId)))
    const newest = one.directory.keys.at(-1)
    for (const node of nodes) {
      await node.loader.refresh()
      expect(node.directory.keys.map(({ keyId }) => keyId).slice(-2)).toEqual([first?.keyId, newest?.keyId])
      expect(node.directory.keys.at(-2)?.signsUntilMilliseconds).toBe(newest?.signsFromMilliseconds)
    }
    await pass(10 * MINUTE)
    await one.loader.refresh()
    expect(one.directory.keys.at(-1)).toEqual(newest)
  })

  it('a published key starts to sign while the store is unavailable, and a due rotation runs when it is back', async () => {
    const client = await newClient()
    const state = { isDown: false }
    const broken: Db = {
      ...db,
      transaction: (work, options) =>
        state.isDown ? Promise.reject(new StoreUnavailable('down')) : db.transaction(work, options),
      tables: () => {
        if (state.isDown) throw new StoreUnavailable('down')
        return db.tables()
      },
    }
    const { id } = await rotate()
    const node = await AuthNode.open({ db: broken, clock: time, signingKeyDays: 1 })
    await node.until((directory) => directory.verificationKey(id) !== undefined)
    state.isDown = true
    await node.loader.refresh()
    await pass(HOUR)
    expect(keyIdOf(await tokenOf(node, client))).toBe(id)
    await pass(2 * DAY)
    expect(keyIdOf(await tokenOf(node, client))).toBe(id)
    state.isDown = false
    await pass(MINUTE)
    await node.until((directory) => directory.keys.at(-1)?.keyId !== id)
    await node.close()
  })

  it('a pending signing key is created once: rotating again changes nothing', async () => {
    const { id } = await rotate()
    const rows = (await documents()).length
    expect((await rotate()).id).toBe(id)
    expect((await documents()).length).toBe(rows)
  })

  it('a signing key that is revoked while it signs is replaced at once, by the pending key or a new one', async () => {
    const client = await newClient()
    for (const isComing of [true, false]) {
      const coming = isComing ? (await rotate()).id : undefined
      if (coming !== undefined) await one.until((directory) => directory.verificationKey(coming) !== undefined)
      const before = await tokenOf(one, client)
      const revokeKey = () =>
        write(db, (transaction) => revokeSigningKey(transaction, 'test', keyIdOf(before), nowMilliseconds()))
      expect(await revokeKey()).toMatchObject({ state: 'revoked' })
      await Promise.all(
        nodes.map((node) => node.until(({ keys }) => keys.every((key) => key.keyId !== keyIdOf(before)))),
      )
      const after = await tokenOf(other, client)
      if (coming !== undefined) expect(keyIdOf(after)).toBe(coming)
      expect(await statuses(after)).toEqual([426, 426])
      expect(await statuses(before)).toEqual([401, 401])
      expect(await jwks(one)).not.toContain(keyIdOf(before))
      expect(await revokeKey()).toMatchObject({ state: 'revoked' })
    }
  })

  it('a key that is revoked before it signs leaves its predecessor signing', async () => {
    const client = await newClient()
    const keyId = keyIdOf(await tokenOf(one, client))
    const { id } = await rotate()
    await write(db, (transaction) => revokeSigningKey(transaction, 'test', id, nowMilliseconds()))
    await one.loader.refresh()
    await pass(2 * HOUR)
    expect(await stateOf(keyId)).toBe('signing')
    expect(keyIdOf(await tokenOf(one, client))).toBe(keyId)
  })

  it('a signing key that has ended keeps no private key', async () => {
    const { id } = await rotate()
    await write(db, (transaction) => revokeSigningKey(transaction, 'test', id, nowMilliseconds()))
    const rows = await db
      .tables<{ signing_keys: { id: string; private_jwk: unknown } }>()
      .selectFrom('signing_keys')
      .selectAll()
      .where('id', '=', id)
      .execute()
    expect(rows).toMatchObject([{ private_jwk: null }])
  })
}

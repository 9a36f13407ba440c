import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readAuthority } from '../../../src/access/clients/authority.ts'
import { changeClient, ensureClient } from '../../../src/access/clients/clients.ts'
import { ensureCustomer } from '../../../src/access/clients/customers.ts'
import { ensureDemoClient } from '../../../src/access/clients/demo-client.ts'
import { Directory } from '../../../src/access/clients/directory.ts'
import { DirectoryLoader } from '../../../src/access/clients/directory-loader.ts'
import type { SigningKey } from '../../../src/access/clients/directory-records.ts'
import { matchesSecret } from '../../../src/access/clients/secrets.ts'
import { readSigningKeys } from '../../../src/access/clients/signing-keys.ts'
import type { AuthTables } from '../../../src/access/clients/tables.ts'
import { STREAM_SCOPE, servedScopes } from '../../../src/contract/scopes.ts'
import { listAudit } from '../../../src/platform/store/audit.ts'
import type { Db, NotificationListener, Transaction } from '../../../src/platform/store/db.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openTestStore } from '../../support/test-store.ts'
import { itemsOf } from '../../support/text-page.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const { log, lines } = captureLog()
let db: Db
let directory: Directory
let clock: VirtualClock
let loader: DirectoryLoader
beforeAll(async () => {
  db = await openTestStore({ log })
})
afterAll(() => db?.close())
beforeEach(() => {
  directory = new Directory()
  clock = new VirtualClock()
  lines.length = 0
  loader = new DirectoryLoader({ db, directory, clock, log, publicUrl: '' })
  return () => loader.stop()
})

function write<Result>(work: (transaction: Transaction<AuthTables>) => Promise<Result>): Promise<Result> {
  return db.transaction(work)
}

let number = 0
function newCustomer() {
  const name = `customer ${++number}`
  return write(async (transaction) => (await ensureCustomer(transaction, 'test', { name, streaming: true })).customer)
}

/** Resolves with the next change that the directory applies. */
function nextChange(): Promise<void> {
  return new Promise((resolve) => {
    const end = directory.onChange(() => {
      end()
      resolve()
    })
  })
}

/** The store behind injected faults; its listeners can be paused. */
function faultyStore(): {
  readonly faulty: Db
  fail: boolean
  reads: number
  readonly listeners: NotificationListener[]
} {
  const state = { fail: false, reads: 0, listeners: [] as NotificationListener[] }
  const faulty: Db = {
    ...db,
    tables: () => {
      state.reads++
      if (state.fail) throw new Error('the store is gone')
      return db.tables()
    },
    listen: (_channel, listener) => {
      if (state.fail) return Promise.reject(new Error('the store is gone'))
      state.listeners.push(listener)
      return Promise.resolve(async () => undefined)
    },
  }
  return Object.assign(state, { faulty })
}

describe('the authority', () => {
  it('the authority is created once: all nodes that start at the same time agree on it', async () => {
    const urls = ['', 'https://one.test', 'https://two.test']
    const seen = await Promise.all(urls.map((url) => readAuthority(db, url)))
    for (const authority of seen) expect(authority).toEqual(seen[0])
    expect(await readAuthority(db, 'https://later.test')).toEqual(seen[0])
    expect(seen[0]?.pepper).toHaveLength(32)
    expect((await readSigningKeys(db)).keys).toHaveLength(1)
  })
})

describe('the directory', () => {
  it('the directory is loaded in full, and applies a write of another node on its notification alone', async () => {
    const customer = await newCustomer()
    expect(directory.loaded).toBe(false)
    await loader.refresh()
    expect(directory.loaded).toBe(true)
    expect(directory.customer(customer.id)).toEqual({
      id: customer.id,
      name: customer.name,
      enabled: true,
      streaming: true,
    })
    expect(directory.authority?.issuer).toMatch(/^(urn:uuid:|https:)/)
    const { keyId } = directory.signingKeyAt(clock.wallInstant().milliseconds) as SigningKey
    expect(directory.verificationKey(keyId)).toBeDefined()

    let changed = nextChange()
    const { client } = await write((transaction) =>
      ensureClient(transaction, 'test', customer.id, { name: 'feed', scopes: [STREAM_SCOPE] }),
    )
    await changed
    expect(directory.client(client.client_id)).toEqual({
      clientId: client.client_id,
      customerId: customer.id,
      name: 'feed',
      scopes: new Set([STREAM_SCOPE]),
      enabled: true,
    })

    changed = nextChange()
    await write((transaction) => changeClient(transaction, 'test', client.client_id, { enabled: false }))
    await changed
    expect(directory.client(client.client_id)?.enabled).toBe(false)
  })

  it('the directory does not apply a write that was rolled back', async () => {
    await loader.refresh()
    const rolledBack = write(async (transaction) => {
      await ensureCustomer(transaction, 'test', { name: 'nobody', streaming: true })
      throw new Error('changed my mind')
    })
    await expect(rolledBack).rejects.toThrow('changed my mind')
    const changed = nextChange()
    await newCustomer()
    await changed
    const items = itemsOf(await listAudit(db, { limit: 1, order: 'DESC' }))
    expect(items[0]?.detail.name).not.toBe('nobody')
  })

  it('the directory ignores a scope that this version does not serve, and keeps the other scopes of the client', async () => {
    const { id } = await newCustomer()
    const unserved = ['from:the_future', 'of:no_operation']
    const row = { id, customer_id: id, name: 'x', scopes: [...unserved, STREAM_SCOPE], enabled: true }
    await db.tables<AuthTables>().insertInto('clients').values(row).execute()
    await loader.refresh()
    expect(directory.client(id)?.scopes).toEqual(new Set([STREAM_SCOPE]))
  })
})

describe('a reload of the directory', () => {
  it('a directory reload that fails keeps the previous content, logs the error, and is retried with backoff', async () => {
    const store = faultyStore()
    const own = new DirectoryLoader({ db: store.faulty, directory, clock, log, publicUrl: '' })
    await own.refresh()
    const { id } = await newCustomer()
    store.fail = true
    for (const [failures, delay] of [100, 200, 400, 800, 1600, 3200, 5000, 5000].entries()) {
      const reads = store.reads
      if (failures === 0) await own.refresh()
      expect(directory.loaded).toBe(true)
      expect(directory.customer(id)).toBeUndefined()
      expect(lines.filter((line) => line.includes('directory not loaded'))).toHaveLength(failures + 1)
      clock.advance(delay - 1)
      expect(store.reads).toBe(reads + (failures === 0 ? 1 : 0))
      clock.advance(1)
      // A retry is running; a request made now causes one more reload after it.
      if (failures === 7) store.fail = false
      await expect.poll(() => lines.filter((line) => line.includes('directory not loaded')).length).toBe(failures + 2)
    }
    await own.refresh()
    expect(directory.customer(id)).toBeDefined()
    await own.stop()
  })

  it('a directory reload that fails at the start leaves it unloaded, and the retry subscribes to notifications as well', async () => {
    const store = faultyStore()
    store.fail = true
    const own = new DirectoryLoader({ db: store.faulty, directory, clock, log, publicUrl: '' })
    await own.refresh()
    expect([directory.loaded, store.listeners.length]).toEqual([false, 0])
    store.fail = false
    const changed = nextChange()
    clock.advance(100)
    await changed
    expect([directory.loaded, store.listeners.length]).toEqual([true, 1])
    await own.stop()
  })

  it('a directory reload runs when the connection to the store is restored', async () => {
    const store = faultyStore()
    const own = new DirectoryLoader({ db: store.faulty, directory, clock, log, publicUrl: '' })
    await own.refresh()
    clock.advance(1_000)
    store.listeners[0]?.onReconnect()
    await own.refresh()
    expect(own.counts.full).toBe(2)
    await own.stop()
  })

  it('a directory reload serves all requests made before it began: a burst of requests causes two reads', async () => {
    const store = faultyStore()
    const own = new DirectoryLoader({ db: store.faulty, directory, clock, log, publicUrl: '' })
    await own.refresh()
    let reads = store.reads
    await Promise.all(Array.from({ length: 50 }, () => own.refresh()))
    expect(store.reads - reads).toBe(2)
    reads = store.reads
    // Requested at the very end of a reload while another is queued: the queued one serves the request, and no third
    // runs beside it.
    const first = own.refresh()
    const late = first.then(() => own.refresh())
    await Promise.all([first, late, own.refresh()])
    expect(store.reads - reads).toBe(2)
    await own.stop()
  })

  it('a directory reload that a writer waits for begins after the request', async () => {
    await loader.refresh()
    for (let round = 0; round < 10; round++) {
      const first = loader.refresh()
      const { id } = await newCustomer()
      await loader.refresh()
      expect(directory.customer(id)).toBeDefined()
      await first
    }
  })

  it('changes without a notification are read twice a second from a server; the embedded store announces each', async () => {
    await loader.refresh()
    expect(clock.isDueIn(db.engine === 'embedded' ? 2_000 : 500)).toBe(true)
  })

  it('a directory reload changes nothing after stop', async () => {
    const loading = loader.refresh()
    await loader.stop()
    await loading
    await loader.refresh()
    expect(directory.loaded).toBe(false)
  })
})

describe('the demo client', () => {
  it('the demo client is created once; credentials that work are kept, others are replaced by a new secret', async () => {
    const made = await ensureDemoClient(db, servedScopes(true), undefined)
    await loader.refresh()
    const opens = (clientSecret: string) =>
      matchesSecret(directory.authority!.pepper, clientSecret, directory.secretHashes(made.clientId))
    expect(opens(made.clientSecret)).toBe(true)
    expect(directory.client(made.clientId)?.scopes).toEqual(new Set(made.scopes))
    expect(directory.customer(directory.client(made.clientId)!.customerId)).toMatchObject({
      name: 'demo',
      streaming: true,
    })

    const before = itemsOf(await listAudit(db, { limit: 1, order: 'DESC' }))[0]?.id
    expect(await ensureDemoClient(db, servedScopes(true), made)).toEqual(made)
    expect(itemsOf(await listAudit(db, { limit: 1, order: 'DESC' }))[0]?.id).toBe(before)

    const lost = await ensureDemoClient(db, servedScopes(true), { ...made, clientSecret: 'tgs_stale' })
    await loader.refresh()
    expect(lost.clientId).toBe(made.clientId)
    expect([opens(made.clientSecret), opens(lost.clientSecret)]).toEqual([false, true])
    const foreign = await ensureDemoClient(db, servedScopes(true), { ...lost, clientId: 'somebody else' })
    expect(foreign.clientSecret).not.toBe(lost.clientSecret)
  })

  it('the demo client regains the scopes that a newer version has added', async () => {
    const { clientId, scopes } = await ensureDemoClient(db, servedScopes(true), undefined)
    await write((transaction) => changeClient(transaction, 'test', clientId, { scopes: [] }))
    await ensureDemoClient(db, servedScopes(true), undefined)
    await loader.refresh()
    expect(directory.client(clientId)?.scopes).toEqual(new Set(scopes))
  })
})

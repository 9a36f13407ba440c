/**
 * Every deposit address is assigned once and no index is skipped, under concurrency, after failures, and with any key.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import type { AddressFamily } from '../../../src/contract/crypto-networks.ts'
import {
  type KeyMaterial,
  testMaterials,
  watchedMaterial,
} from '../../../src/money/deposit-instructions/derivation/key-material.ts'
import type { DepositInstructionTables } from '../../../src/money/deposit-instructions/tables.ts'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { openEmbedded } from '../../../src/platform/store/embedded.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_KEYS, accountPublicKey } from '../../support/address-keys.ts'
import { until } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { type RestAnswer, type RestCustomer, RestNode, untilServed } from '../../support/rest.ts'
import { newAccount } from '../../support/rules.ts'

const PATH = '/v2/transfer/deposit-addresses'

/** Threads of embedded stores, newest last. */
const threads: Worker[] = []
const remember = (thread: Worker): void => void threads.push(thread)

let node: RestNode
const nodes: RestNode[] = []
beforeAll(async () => {
  process.on('worker', remember)
  node = await RestNode.open({ flags: ALL_KEYS })
})
afterEach(async () => {
  for (const other of nodes.splice(0)) await other.close()
})
afterAll(async () => {
  await node?.close()
  process.off('worker', remember)
})

/** Opens another node on the same store, with keys of its own. */
async function anotherNode(flags: Readonly<Record<string, string>>): Promise<RestNode> {
  const other = await RestNode.open({ db: node.db, flags })
  nodes.push(other)
  return other
}

interface Holder {
  readonly customer: RestCustomer
  readonly profileId: string
}

async function newHolder(at = node): Promise<Holder> {
  const customer = await at.newCustomer()
  return { customer, profileId: (await newAccount(customer)).profileId }
}

/** Requests an address at the node, or at another one. */
function create({ customer, profileId }: Holder, network: string, refId?: string, at = node): Promise<RestAnswer> {
  const request = { profile_id: profileId, crypto_network: network, ...(refId === undefined ? {} : { ref_id: refId }) }
  return at.send('POST', PATH, request, { authorization: `Bearer ${customer.token}` })
}

async function listed({ customer }: Holder): Promise<readonly string[]> {
  const { items } = (await customer.call('GET', `${PATH}?limit=1000`)).body
  return items.map(({ address }: { address: string }) => address)
}

async function indexes(
  family: AddressFamily,
  firstAddress: string,
  { db } = node,
): Promise<readonly (number | null)[]> {
  const rows = await db
    .tables<DepositInstructionTables>()
    .selectFrom('deposit_addresses')
    .select('key_index')
    .where('family', '=', family)
    .where('key_first_address', '=', firstAddress)
    .orderBy('key_index')
    .execute()
  return rows.map(({ key_index }) => key_index)
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)
const material = (family: 'bitcoin' | 'litecoin' | 'dogecoin' | 'evm'): KeyMaterial =>
  watchedMaterial(family, ALL_KEYS[`custody.${family}.xpub`] as string)

describe('fifty concurrent requests', () => {
  it('fifty concurrent requests with the same ref_id create one address, and 49 are answered 409 with it', async () => {
    const holder = await newHolder()
    const answers = await Promise.all(upTo(50).map(() => untilServed(() => create(holder, 'LITECOIN', 'once'))))
    const made = answers.filter(({ status }) => status === 200)
    expect(made).toHaveLength(1)
    for (const { status, body } of answers) {
      if (status === 200) continue
      expect([status, body.code, body.meta.existing]).toEqual([409, 'already_exists', made[0]?.body])
    }
    expect(await listed(holder)).toEqual([made[0]?.body.address])
    // The refused requests consumed no index.
    expect(await indexes('litecoin', material('litecoin').firstAddress)).toEqual([0])
  })

  it('fifty concurrent requests of several customers at two nodes get consecutive indexes, each once', async () => {
    const other = await anotherNode(ALL_KEYS)
    const holders = await Promise.all(upTo(5).map(() => newHolder()))
    const answers = await Promise.all(
      upTo(40).map((n) =>
        untilServed(() => create(holders[n % 5] as Holder, 'DOGECOIN', undefined, n % 2 === 0 ? node : other)),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(upTo(40).map(() => 200))
    const { firstAddress, addressAt } = material('dogecoin')
    const given = answers.map(({ body }) => body.address)
    expect(new Set(given)).toEqual(new Set(upTo(40).map(addressAt)))
    expect(await indexes('dogecoin', firstAddress)).toEqual(upTo(40))
  })
})

describe('a failure', () => {
  it('a failure during a creation stores nothing, and the next request gets the index', async () => {
    const holder = await newHolder()
    const { firstAddress, addressAt } = material('bitcoin')
    expect((await create(holder, 'BITCOIN')).body.address).toBe(firstAddress)
    // The last statement of the transaction fails, after everything else has been done.
    const tables = node.db.tables()
    await sql`alter table audit add constraint broken check (action <> 'deposit_address.create') not valid`.execute(
      tables,
    )
    const failed = await create(holder, 'BITCOIN', 'again')
    await sql`alter table audit drop constraint broken`.execute(tables)
    expect([failed.status, failed.body.code]).toEqual([500, 'internal'])
    expect(failed.text).not.toContain(addressAt(1))
    expect(await listed(holder)).toEqual([firstAddress])
    expect((await create(holder, 'BITCOIN', 'again')).body.address).toBe(addressAt(1))
  })

  it('a failure of the store during creations assigns no address twice and loses no acknowledged one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidegate-allocation-'))
    const db = await openStoreToCut(folder)
    const cutNode = await RestNode.open({ db, flags: ALL_KEYS })
    const holder = await newHolder(cutNode)
    const given: string[] = []
    let cut: Promise<unknown> | undefined
    const client = async (): Promise<void> => {
      while (given.length < 40) {
        const { status, body } = await create(holder, 'ETHEREUM', undefined, cutNode)
        if (status === 200) given.push(body.address)
        else {
          expect(status).toBe(503)
          // Otherwise these requests would take the time that the store needs to recover.
          await setTimeout(50)
        }
        if (given.length >= 10) cut ??= cutStore(db)
      }
    }
    await Promise.all(upTo(6).map(client))
    await cut
    // The failure may have come so late that the store is still unavailable.
    const isBack = async () => (await holder.customer.call('GET', PATH)).status === 200
    await until('the store', isBack, () => setTimeout(50))
    const all = await listed(holder)
    expect(new Set(given).size).toBe(given.length)
    expect(new Set(all).size).toBe(all.length)
    // An address whose response was lost may exist too.
    for (const address of given) expect(all).toContain(address)
    expect(await indexes('evm', material('evm').firstAddress, cutNode)).toEqual(upTo(all.length))
    await cutNode.close()
    if (db !== node.db) await db.close()
    rmSync(folder, { recursive: true })
  })
})

/** An embedded store needs a folder to recover from. */
async function openStoreToCut(folder: string): Promise<Db> {
  if (inject('engine') === 'postgres') return node.db
  const { log } = captureLog()
  const db = await openEmbedded({ folder: join(folder, 'store'), log, clock: createSystemClock() })
  await migrate(db, log)
  return db
}

/** Kills the engine during its work: the thread of the embedded store, or every connection of the server. */
async function cutStore(db: Db): Promise<unknown> {
  if (inject('engine') === 'embedded') return await threads.at(-1)?.terminate()
  const others = sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`
  return await others.execute(db.tables())
}

describe('another address key', () => {
  it('another address key has a counter of its own; that of the previous key continues where it was', async () => {
    const holder = await newHolder()
    const [first, second] = [accountPublicKey(91), accountPublicKey(92)] as const
    const given: string[] = []
    for (const key of [first, second, first, second, first]) {
      const restarted = await anotherNode({ 'custody.bitcoin_cash.xpub': key })
      const { body } = await create(holder, 'BITCOIN_CASH', undefined, restarted)
      given.push(body.address)
    }
    const at = (key: string, index: number) => watchedMaterial('bitcoin_cash', key).addressAt(index)
    expect(given).toEqual([at(first, 0), at(second, 0), at(first, 1), at(second, 1), at(first, 2)])
  })
})

describe('an address pool', () => {
  const [solana, stellar] = ['solana', 'stellar'].map((family) =>
    testMaterials(Buffer.alloc(32, 200)).find((candidate) => candidate.family === family),
  ) as [KeyMaterial, KeyMaterial]
  const importing = (network: string, addresses: readonly unknown[]) =>
    node.operator('POST', '/address-pool', { network, addresses })
  const counts = async () => (await node.operator('GET', '/address-pool')).body.items

  it('an address pool is empty at first, and its requests are refused with the reason', async () => {
    expect(await counts()).toEqual([
      { network: 'SOLANA', free: 0, used: 0 },
      { network: 'STELLAR', free: 0, used: 0 },
    ])
    const { status, body, headers } = await create(await newHolder(), 'SOLANA')
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'pool_empty', '60'])
  })

  it('an address pool assigns the imported addresses in order, each once, until it is empty; a repeated import is ignored', async () => {
    const holder = await newHolder()
    const addresses = upTo(3).map(solana.addressAt)
    expect((await importing('SOLANA', addresses)).body).toEqual({ network: 'SOLANA', free: 3, used: 0, added: 3 })
    expect((await create(holder, 'SOLANA')).body.address).toBe(addresses[0])
    const again = await importing('SOLANA', [...addresses, solana.addressAt(3), ...addresses, solana.addressAt(3)])
    expect(again.body).toEqual({ network: 'SOLANA', free: 3, used: 1, added: 1 })
    for (const index of [1, 2, 3]) expect((await create(holder, 'SOLANA')).body.address).toBe(solana.addressAt(index))
    expect((await create(holder, 'SOLANA')).body.code).toBe('pool_empty')
    expect((await importing('SOLANA', addresses)).body).toEqual({ network: 'SOLANA', free: 0, used: 4, added: 0 })
    expect(await counts()).toEqual([
      { network: 'SOLANA', free: 0, used: 4 },
      { network: 'STELLAR', free: 0, used: 0 },
    ])
    const rows = (await node.operator('GET', '/audit?subject=SOLANA')).body.items
    expect(rows.map(({ detail }: { detail: object }) => detail)).toEqual([{ added: 1 }, { added: 3 }])
  })

  it('an address pool is imported concurrently and drained concurrently without assigning an address twice', async () => {
    const addresses = upTo(1_000).map(stellar.addressAt)
    const imports = await Promise.all(
      [addresses, addresses.toReversed()].map((list) => untilServed(() => importing('STELLAR', list))),
    )
    expect(imports.map(({ status }) => status)).toEqual([200, 200])
    expect(imports.map(({ body }) => body.added).toSorted()).toEqual([0, 1_000])
    const holders = await Promise.all(upTo(5).map(() => newHolder()))
    const ask = (n: number) => untilServed(() => create(holders[n % 5] as Holder, 'STELLAR'))
    const answers = await Promise.all(upTo(50).map(ask))
    const given = answers.map(({ body }) => body.address)
    expect(new Set(given).size).toBe(50)
    for (const address of given) expect(addresses).toContain(address)
    expect(await counts()).toContainEqual({ network: 'STELLAR', free: 950, used: 50 })
  })

  it('an address pool keeps an address whose assignment failed', async () => {
    const holder = await newHolder()
    await importing('SOLANA', [solana.addressAt(50)])
    await sql`alter table audit add constraint broken check (action <> 'deposit_address.create') not valid`.execute(
      node.db.tables(),
    )
    expect((await create(holder, 'SOLANA')).status).toBe(500)
    await sql`alter table audit drop constraint broken`.execute(node.db.tables())
    expect((await create(holder, 'SOLANA')).body.address).toBe(solana.addressAt(50))
  })

  it('an address pool refuses to import an address that is already assigned, unless it came from the pool', async () => {
    const holder = await newHolder()
    const taken = solana.addressAt(60)
    const { body: made } = await create(holder, 'BITCOIN')
    const change = sql`
      update deposit_addresses
      set family = 'solana', address = ${taken}, key_first_address = null, key_index = null where id = ${made.id}`
    await change.execute(node.db.tables())
    const { status, body } = await importing('SOLANA', [solana.addressAt(61), taken])
    expect([status, body.code, body.meta]).toEqual([
      409,
      'already_exists',
      { existing: { id: made.id, address: taken } },
    ])
    expect(await counts()).toContainEqual(expect.objectContaining({ network: 'SOLANA', free: 0 }))
  })

  it.each<[string, string, readonly unknown[], string]>([
    ['another network', 'BITCOIN', [solana.addressAt(0)], '/network'],
    ['no addresses', 'SOLANA', [], '/addresses'],
    ['over 1000 addresses', 'SOLANA', upTo(1_001).map(solana.addressAt), '/addresses'],
    ['a broken address', 'STELLAR', [stellar.addressAt(0), `${stellar.addressAt(1).slice(0, -1)}A`], '/addresses/1'],
    ['an address of another network', 'STELLAR', [solana.addressAt(0)], '/addresses/0'],
    ['a secret seed', 'STELLAR', ['SBGWSG6BTNCKCOB3DIFBGCVMUPQFYPA2G4O34RMTB343OYPXU5DJDVMN'], '/addresses/0'],
    ['what is no text', 'SOLANA', [1], '/addresses/0'],
  ])('an address pool refuses to import %s', async (_what, network, addresses, pointer) => {
    const { status, body } = await importing(network, addresses)
    expect([status, body.errors?.[0].pointer]).toEqual([400, pointer])
  })

  it('an address pool reports at most twenty errors, and then imports nothing', async () => {
    const before = await counts()
    const { body } = await importing('SOLANA', [solana.addressAt(70), ...upTo(30).map(() => 'x')])
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(
      upTo(20).map((index) => `/addresses/${index + 1}`),
    )
    expect(await counts()).toEqual(before)
  })
})

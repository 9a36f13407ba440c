/**
 * What directory changes cost a node with many clients and sessions. First, how long one change occupies the event
 * loop, including the check of the sessions it affects. Then the full reload every 30 seconds: its processor time, and
 * the longest time it occupies the event loop. On PostgreSQL, or on the embedded store where there are no server
 * programs.
 */
import { randomUUID } from 'node:crypto'
import { announceChange, DIRECTORY_CHANNEL } from '../src/access/clients/changes.ts'
import { Directory } from '../src/access/clients/directory.ts'
import { DirectoryLoader } from '../src/access/clients/directory-loader.ts'
import type { AuthTables } from '../src/access/clients/tables.ts'
import { createTokenVerifier } from '../src/access/clients/token-verifier.ts'
import { STREAM_SCOPE } from '../src/contract/scopes.ts'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import type { Db } from '../src/platform/store/db.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import { sql } from '../src/platform/store/sql.ts'
import { createGateway } from '../src/streaming/gateway/gateway.ts'
import { Hub } from '../src/streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../src/streaming/gateway/metrics.ts'
import { createMemoryBus } from '../src/streaming/sequencing/bus-memory.ts'
import { FakeTransport } from '../test/support/fake-transport.ts'
import { SETTINGS } from '../test/support/stream-simulation.ts'
import type { BenchResult } from './result.ts'
import { measureStores } from './stores.ts'

const CUSTOMERS = 1_000
const CLIENTS = 10_000
const SESSIONS = 20_000

const log = createLog('silent')
const clock = createSystemClock()

/** Measures how long each applied change occupies the event loop, listeners included. */
class TimedDirectory extends Directory {
  appliedMilliseconds = 0

  override apply(...change: Parameters<Directory['apply']>): void {
    const start = performance.now()
    super.apply(...change)
    this.appliedMilliseconds = performance.now() - start
  }
}

export function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  return measureStores((engine, db) => measure(engine, db, quick ? 3 : 10))
}

async function measure(engine: string, db: Db, rounds: number): Promise<BenchResult[]> {
  await migrate(db, log)
  const clientIds = await fill(db)
  const directory = new TimedDirectory()
  const loader = new DirectoryLoader({ db, directory, clock, log, publicUrl: '' })
  await loader.refresh()
  const stop = openSessions(directory, clientIds)
  const results: BenchResult[] = []
  const result = (what: string, unit: string): number[] => {
    const made = { name: `${engine}: ${what}`, unit, runs: [] }
    results.push(made)
    return made.runs
  }
  const ofClient = result(`one change of a client, ${SESSIONS} sessions`, 'ms')
  const ofCustomer = result('one change of a customer with 10 clients', 'ms')
  const processor = result(`reading ${CLIENTS} clients again, processor time`, 'ms')
  const longest = result(`reading ${CLIENTS} clients again, longest tick`, 'ms')
  for (let round = 0; round <= rounds; round++) {
    const clientId = clientIds[round * 7] as string
    await rename(db, 'client', clientId, `renamed ${round}`)
    await loader.refresh()
    const forClient = directory.appliedMilliseconds
    const customerId = directory.client(clientId)?.customerId as string
    await rename(db, 'customer', customerId, `renamed ${round}`)
    await loader.refresh()
    const forCustomer = directory.appliedMilliseconds
    const read = await reload(db, loader)
    // The first round warms up the compiler.
    if (round === 0) continue
    ofClient.push(forClient)
    ofCustomer.push(forCustomer)
    processor.push(read.processor)
    longest.push(read.longest)
  }
  stop()
  await loader.stop()
  return results
}

/** Customers with ten clients each, all of which have a secret. */
async function fill(db: Db): Promise<string[]> {
  const customers = Array.from({ length: CUSTOMERS }, () => randomUUID())
  const clients = Array.from({ length: CLIENTS }, () => randomUUID())
  const scopes = `{${STREAM_SCOPE}}`
  await sql`insert into customers (id, name, streaming)
    select id, 'customer ' || id, true from unnest(${customers}::uuid[]) as id`.execute(db.tables())
  await sql`insert into clients (id, customer_id, name, scopes)
    select id, (${customers}::uuid[])[1 + (place - 1) % ${CUSTOMERS}::int], 'client ' || place, ${scopes}::text[]
    from unnest(${clients}::uuid[]) with ordinality as t (id, place)`.execute(db.tables())
  await sql`insert into client_secrets (id, client_id, hash)
    select id, id, decode(repeat('ab', 32), 'hex') from unnest(${clients}::uuid[]) as id`.execute(db.tables())
  return clients
}

/** A change that closes no session. */
function rename(db: Db, kind: 'client' | 'customer', id: string, name: string): Promise<void> {
  return db.transaction<AuthTables, void>(async (transaction) => {
    await transaction.updateTable(`${kind}s`).set({ name }).where('id', '=', id).execute()
    await announceChange(transaction, { kind, id })
  })
}

function openSessions(directory: Directory, clientIds: readonly string[]): () => void {
  const metrics = createGatewayMetrics(createMetricsRegistry())
  const hub = new Hub({
    replicas: [],
    bus: createMemoryBus(),
    clock,
    log,
    metrics,
    settings: SETTINGS,
    random: () => 0,
  })
  const settings = { inboundBytesMax: 65_536, connectionsPerClientMax: 100, connectionsMax: SESSIONS }
  const verifier = createTokenVerifier({ directory, clock })
  const gateway = createGateway({ hub, directory, verifier, clock, log, metrics, settings })
  for (let count = 0; count < SESSIONS; count++) {
    const clientId = clientIds[count % clientIds.length] as string
    hub.open(new FakeTransport(65_536, () => undefined), {
      clientId,
      customerId: directory.client(clientId)?.customerId as string,
      scopes: new Set([STREAM_SCOPE]),
      tokenId: randomUUID(),
      keyId: 'key',
      issuedAtSeconds: 1_000_000_000,
      expiresAtMilliseconds: Number.MAX_SAFE_INTEGER,
    })
  }
  return () => gateway.stop()
}

/** Forces a full reload, with a notification without a version, as often as the loader permits: once a second. */
async function reload(db: Db, loader: DirectoryLoader): Promise<{ processor: number; longest: number }> {
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const full = loader.counts.full
  const ticks = watchTicks()
  const start = process.cpuUsage()
  await sql`select pg_notify(${DIRECTORY_CHANNEL}, '')`.execute(db.tables())
  while (loader.counts.full === full) await loader.refresh()
  const { user, system } = process.cpuUsage(start)
  return { processor: (user + system) / 1_000, longest: ticks() }
}

/** Returns the longest time between two ticks of the event loop since the call. */
function watchTicks(): () => number {
  let last = performance.now()
  let longest = 0
  let isWatching = true
  const look = (): void => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (isWatching) setTimeout(look, 1)
  }
  setTimeout(look, 1)
  return () => {
    isWatching = false
    return Math.max(longest, performance.now() - last)
  }
}

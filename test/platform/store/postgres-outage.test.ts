/**
 * The PostgreSQL store with a server that is missing, does not answer, ends connections or fails half-way. The test
 * owns the clock of the store; data from the network is awaited.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Db, STATEMENT_MILLISECONDS_MAX, StoreUnavailable } from '../../../src/platform/store/db.ts'
import {
  CONNECT_MILLISECONDS_MAX,
  HEARTBEAT_ANSWER_MILLISECONDS_MAX,
  HEARTBEAT_MILLISECONDS,
  RECONNECT_MILLISECONDS,
} from '../../../src/platform/store/limits.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { once, until } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { newCertificate } from '../../support/certificates.ts'
import { claimPort } from '../../support/ports.ts'
import { hasPostgres, PostgresServer, withClient } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const PASSWORD = 'geheim-Pa55-wort'

const { log, lines } = captureLog()
/** Everything that was logged or thrown in this file, to be searched for the password. */
const failures: unknown[] = []
let clock: VirtualClock
let db: Db | undefined
const cleanups: (() => unknown)[] = []

afterEach(async () => {
  const closing = db?.close()
  for (const cleanup of cleanups.splice(0)) await cleanup()
  await closing
  db = undefined
})

function open(address: string): Db {
  clock = new VirtualClock()
  db = openPostgres({ url: address, connectionsMax: 3, log, clock, random: () => 1 })
  return db
}

async function failure(promise: Promise<unknown>): Promise<Error | undefined> {
  try {
    await promise
    return undefined
  } catch (error) {
    failures.push(error)
    return error as Error
  }
}

const one = (store: Db) => sql<{ n: number }>`select 1 as n`.execute(store.tables())

async function tick(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

/** Resolves when the store is available again: time advances during the pauses between attempts, and not otherwise. */
async function untilBack(store: Db): Promise<void> {
  const { first, longest } = RECONNECT_MILLISECONDS
  const pauses = [longest]
  for (let pause = first; pause < longest; pause *= 2) pauses.push(pause)
  await until('the store', () => {
    if (store.available) return true
    for (const pause of pauses) if (clock.isDueIn(pause)) clock.advance(pause)
    return false
  })
}

async function listen(onConnection: (socket: Socket) => void): Promise<{ server: Server; port: number }> {
  const server = createServer(onConnection)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close())
  return { server, port: (server.address() as AddressInfo).port }
}

describe('the PostgreSQL store without a server', () => {
  it('the PostgreSQL store without a server opens at once, refuses callers, and keeps trying to connect', async () => {
    // A socket in a folder of its own: no other process can listen there.
    const folder = mkdtempSync(join(tmpdir(), 'tidegate-no-server-'))
    cleanups.push(() => rmSync(folder, { recursive: true }))
    const store = open(`postgres://tidegate:${PASSWORD}@/nothing?host=${encodeURIComponent(folder)}&port=5432`)
    expect(store.available).toBe(false)
    const [query, transaction, listening] = await Promise.all([
      failure(one(store)),
      failure(store.transaction(async () => undefined)),
      failure(store.listen('channel', { onNotify: () => undefined, onReconnect: () => undefined })),
    ])
    for (const error of [query, transaction, listening]) expect(error).toBeInstanceOf(StoreUnavailable)
    expect(query?.message).toContain('ENOENT')
    const attempts: Socket[] = []
    const again = createServer((socket) => attempts.push(socket))
    cleanups.push(() => again.close())
    again.listen(join(folder, '.s.PGSQL.5432'))
    await once(again, 'listening')
    clock.advance(RECONNECT_MILLISECONDS.first)
    await until('an attempt', () => attempts.length > 0)
    for (const socket of attempts) socket.destroy()
  })

  it('the PostgreSQL store waits for a silent server only as long as an attempt may take', async () => {
    const sockets: Socket[] = []
    const { port } = await listen((socket) => sockets.push(socket))
    const store = open(`postgres://tidegate:${PASSWORD}@127.0.0.1:${port}/nothing`)
    const first = failure(one(store))
    await until('a connection', () => sockets.length === 1)
    clock.advance(CONNECT_MILLISECONDS_MAX)
    expect(await first).toBeInstanceOf(StoreUnavailable)
    // The outage is known now, so no caller waits any longer.
    expect(await failure(one(store))).toBeInstanceOf(StoreUnavailable)
    expect(CONNECT_MILLISECONDS_MAX).toBeLessThan(STATEMENT_MILLISECONDS_MAX)
  })

  it.each([
    ['57P03', 'the database system is starting up'],
    ['57P01', 'terminating connection due to administrator command'],
    ['53300', 'sorry, too many clients already'],
    ['28P01', 'password authentication failed for user "tidegate"'],
    ['3D000', 'database "nothing" does not exist'],
  ])('the PostgreSQL store without a server is unavailable while the server answers %s', async (code, message) => {
    const { port } = await listen((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(fatal(code, message)))
    })
    const store = open(`postgres://tidegate:${PASSWORD}@127.0.0.1:${port}/nothing`)
    const error = await failure(one(store))
    expect(error).toBeInstanceOf(StoreUnavailable)
    expect(error?.message).toContain(message)
    expect(store.available).toBe(false)
  })

  it('the PostgreSQL store is unavailable when the address requires TLS and the server does not support it', async () => {
    const { port } = await listen((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.write('N'))
    })
    const store = open(`postgres://tidegate:${PASSWORD}@127.0.0.1:${port}/nothing?sslmode=verify-full`)
    expect((await failure(one(store)))?.message).toContain('does not support SSL')
  })
})

/** An ErrorResponse of the protocol: severity, code and message. */
function fatal(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

describe.skipIf(!hasPostgres)('with a PostgreSQL server (needs PostgreSQL)', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = PostgresServer.create({ password: PASSWORD })
    await server.start()
  })
  afterAll(() => server?.remove())

  /** A store on a new database, and the path to it. */
  async function behindProxy(): Promise<{ store: Db; proxy: TcpProxy; address: string }> {
    const address = await server.createDatabase()
    const proxy = await TcpProxy.listen(`${server.folder}/.s.PGSQL.5432`)
    cleanups.push(() => proxy.close())
    const { pathname } = new URL(address.replace('@/', '@host/'))
    const store = open(`postgres://tidegate:${PASSWORD}@127.0.0.1:${proxy.port}${pathname}`)
    await sql`create table mark (n int primary key)`.execute(store.tables())
    return { store, proxy, address }
  }

  const marks = (address: string) =>
    withClient(address, async (client) =>
      (await client.query<{ n: number }>('select n from mark order by n')).rows.map(({ n }) => n),
    )

  it('the PostgreSQL store recovers after its connections were ended: running calls fail, listeners are notified', async () => {
    const { store, address } = await behindProxy()
    const received: string[] = []
    await store.listen('marks', {
      onNotify: (payload) => received.push(payload),
      onReconnect: () => received.push('reconnect'),
    })
    const running = failure(sql`select pg_sleep(600)`.execute(store.tables()))
    await withClient(address, async (client) => {
      const others = 'datname = current_database() and pid <> pg_backend_pid()'
      for (let active = 0; active === 0; ) {
        const { rows } = await client.query(
          `select count(*)::int as n from pg_stat_activity where ${others} and query like '%pg_sleep%'`,
        )
        active = rows[0].n
      }
      await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`)
    })
    expect(await running).toBeInstanceOf(StoreUnavailable)
    await until('a message', () => received.length > 0)
    expect(received).toEqual(['reconnect'])
    expect((await one(store)).rows).toEqual([{ n: 1 }])
    await sql`select pg_notify('marks', 'after')`.execute(store.tables())
    await until('a second message', () => received.length === 2)
    expect(received).toEqual(['reconnect', 'after'])
  })

  it('the PostgreSQL store detects a silent path, refuses callers at once from then on, and recovers with it', async () => {
    const { store, proxy, address } = await behindProxy()
    const received: string[] = []
    await store.listen('marks', { onNotify: () => undefined, onReconnect: () => received.push('reconnect') })
    proxy.freeze()
    const inTransaction = failure(
      store.transaction(async (transaction) => {
        await sql`insert into mark values (1)`.execute(transaction)
      }),
    )
    clock.advance(HEARTBEAT_MILLISECONDS)
    await tick()
    clock.advance(HEARTBEAT_ANSWER_MILLISECONDS_MAX)
    await tick()
    expect(store.available).toBe(false)
    expect(await failure(one(store))).toBeInstanceOf(StoreUnavailable)
    clock.advance(STATEMENT_MILLISECONDS_MAX - HEARTBEAT_MILLISECONDS - HEARTBEAT_ANSWER_MILLISECONDS_MAX)
    expect(await inTransaction).toBeInstanceOf(StoreUnavailable)
    expect(HEARTBEAT_MILLISECONDS + HEARTBEAT_ANSWER_MILLISECONDS_MAX).toBeLessThanOrEqual(STATEMENT_MILLISECONDS_MAX)
    proxy.thaw()
    await untilBack(store)
    expect(received).toEqual(['reconnect'])
    await sql`insert into mark values (2)`.execute(store.tables())
    expect(await marks(address)).toEqual([2])
  })

  /** Takes all three connections of the store until `finish` is called. */
  async function takeAllConnections(store: Db): Promise<{ finish: () => void; ended: Promise<unknown> }> {
    let finish = (): void => undefined
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    let taken = 0
    const take = () =>
      store.transaction(
        async (transaction) => {
          await sql`select 1`.execute(transaction)
          taken++
          await finished
        },
        { statementMillisecondsMax: 60_000 },
      )
    const ended = Promise.allSettled([take(), take(), take()])
    await until('three connections', () => taken === 3)
    return { finish, ended }
  }

  it('the PostgreSQL store refuses callers that wait for a connection as soon as the server is known to be silent', async () => {
    const { store, proxy } = await behindProxy()
    const { finish, ended } = await takeAllConnections(store)
    const patient = failure(store.transaction(async () => undefined, { statementMillisecondsMax: 60_000 }))
    proxy.freeze()
    clock.advance(HEARTBEAT_MILLISECONDS)
    await tick()
    clock.advance(HEARTBEAT_ANSWER_MILLISECONDS_MAX)
    await until('the outage', () => !store.available)
    expect(store.connections.waiting).toBe(0)
    expect((await patient)?.message).toContain('cannot be reached')
    finish()
    proxy.thaw()
    await untilBack(store)
    await ended
  })

  it('the PostgreSQL store refuses a caller at once when too many wait, and serves those that waited', async () => {
    const { store } = await behindProxy()
    const { finish, ended } = await takeAllConnections(store)
    // Of 4,000 places, our own work has those that are not kept for clients.
    const waiting = Array.from({ length: 3_600 }, () => failure(one(store)))
    await until('3,600 waiting transactions', () => store.connections.waiting === 3_600)
    expect(await failure(one(store))).toBeInstanceOf(StoreUnavailable)
    finish()
    expect((await Promise.all(waiting)).filter((error) => error !== undefined)).toEqual([])
    await ended
  })

  it.each(['08006', '25006', '25P03', '53100', '53200', '57014', '57P01', '58030'])(
    'the PostgreSQL store is unavailable when the server answers %s, and recovers',
    async (code) => {
      const { store } = await behindProxy()
      const raise = sql.raw(`do $$ begin raise exception 'as asked' using errcode = '${code}'; end $$`)
      const error = await failure(raise.execute(store.tables()))
      expect(error).toBeInstanceOf(StoreUnavailable)
      expect(error?.message).toContain('as asked')
      expect((await one(store)).rows).toEqual([{ n: 1 }])
    },
  )

  it.each(['40001', '55P03', 'P0001'])('the PostgreSQL store fails one statement for %s', async (code) => {
    const { store } = await behindProxy()
    const raise = sql.raw(`do $$ begin raise exception 'as asked' using errcode = '${code}'; end $$`)
    expect(await failure(raise.execute(store.tables()))).toMatchObject({ name: 'StatementFailed', sqlState: code })
  })

  it('the PostgreSQL store uses TLS where the address requires it, and refuses a certificate that it cannot verify', async () => {
    const [known, stranger] = await Promise.all([newCertificate('known'), newCertificate('stranger')])
    const address = await server.createDatabase()
    const { pathname } = new URL(address.replace('@/', '@host/'))
    const port = await claimPort()
    await server.stop('fast')
    const ssl_key_file = server.addFile('server.key', known.key)
    const ssl_cert_file = server.addFile('server.crt', known.cert)
    await server.start({ ssl: 'on', ssl_key_file, ssl_cert_file, listen_addresses: '127.0.0.1', port })
    const trusting = (name: string, cert: string) =>
      `postgres://tidegate:${PASSWORD}@127.0.0.1:${port}${pathname}?sslmode=verify-full&sslrootcert=${server.addFile(name, cert)}`
    const wary = open(trusting('stranger.crt', stranger.cert))
    expect((await failure(one(wary)))?.message).toMatch(/certificate/)
    await wary.close()
    const store = open(trusting('known.crt', known.cert))
    const query = sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`
    expect((await query.execute(store.tables())).rows).toEqual([{ ssl: true }])
    await store.close()
    await server.stop('fast')
    await server.start()
  })

  it('the PostgreSQL store reports that a commit whose answer was lost may have been applied', async () => {
    const { store, proxy, address } = await behindProxy()
    proxy.breakAfter('commit')
    const committed = await failure(
      store.transaction(async (transaction) => {
        await sql`insert into mark values (1)`.execute(transaction)
      }),
    )
    expect(committed).toBeInstanceOf(StoreUnavailable)
    expect(await marks(address)).toEqual([1])
    expect((await one(store)).rows).toEqual([{ n: 1 }])
  })

  it('the PostgreSQL store treats a read-only server as unavailable until it accepts writes', async () => {
    const { store, address } = await behindProxy()
    const readOnly = (value: 'on' | 'off') =>
      withClient(address, async (client) => {
        const { rows } = await client.query('select current_database() as name')
        // A connection that writes nothing else may change the default of other connections.
        await client.query('set default_transaction_read_only = off')
        await client.query(`alter database ${rows[0].name} set default_transaction_read_only = ${value}`)
        await client.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
          [rows[0].name],
        )
      })
    await readOnly('on')
    await until('the outage', () => !store.available)
    await tick()
    const refused = await failure(one(store))
    expect(refused).toBeInstanceOf(StoreUnavailable)
    expect(refused?.message).toContain('is read-only')
    await readOnly('off')
    await untilBack(store)
    await sql`insert into mark values (1)`.execute(store.tables())
    expect(await marks(address)).toEqual([1])
  })

  it.each(['fast', 'immediate'] as const)(
    'the PostgreSQL store recovers after a %s shutdown, with everything that was committed',
    async (how) => {
      const { store, address } = await behindProxy()
      await sql`insert into mark values (1)`.execute(store.tables())
      await server.stop(how)
      await until('the outage', () => !store.available)
      expect(await failure(sql`insert into mark values (2)`.execute(store.tables()))).toBeInstanceOf(StoreUnavailable)
      await server.start()
      await untilBack(store)
      await sql`insert into mark values (3)`.execute(store.tables())
      expect(await marks(address)).toEqual([1, 3])
    },
  )
})

it('the password appears neither in the log nor in an error', () => {
  const written = [...lines, ...failures.map((error) => inspect(error, { depth: 10, showHidden: true }))].join('\n')
  expect(lines.join('\n')).toContain('store unreachable')
  expect(failures.length).toBeGreaterThan(9)
  expect(written).not.toContain(PASSWORD)
})

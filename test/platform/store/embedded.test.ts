/**
 * The embedded store: the conformance suite, and its own guarantees. All tests share one folder, because a new one
 * takes seconds.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { type Db, STATEMENT_MILLISECONDS_MAX, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { openEmbedded } from '../../../src/platform/store/embedded.ts'
import {
  CLOSE_MILLISECONDS_MAX,
  RESTART_MILLISECONDS,
  TRANSACTION_IDLE_MILLISECONDS_MAX,
} from '../../../src/platform/store/limits.ts'
import { readSchemaState } from '../../../src/platform/store/migrate.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { once } from '../../support/awaited.ts'
import { FAST_STORE_STARTS } from '../../support/command-line.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { scriptArguments } from '../../support/test-scripts.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { describeStore } from './conformance.ts'

const WRITER = join(import.meta.dirname, '../../support/store-writer.ts')

const log = createLog('silent')
let root = ''
let folder = ''
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidegate-store-'))
  folder = join(root, 'store')
  // The remains of a killed start must not prevent the next start.
  await mkdir(`${folder}.new`)
  await writeFile(join(`${folder}.new`, 'PG_VERSION'), 'half made')
})
afterAll(() => rm(root, { recursive: true, force: true }))

describeStore('PGlite', async () => ({ db: await openEmbedded({ folder, log, clock: createSlowClock() }) }))

describe('the embedded store', () => {
  const clock = new VirtualClock()
  let db: Db
  const opened = async () => {
    db = await openEmbedded({ folder, log, clock })
    await sql`drop table if exists mark; create table mark (n int)`.execute(db.tables())
  }
  /** A gate in the store: a statement with `pass_gate()` waits until the gate is opened. */
  const shutGate = async () => {
    rmSync(join(folder, 'gate'), { force: true })
    await sql`
      create or replace function pass_gate() returns void language plpgsql as $$
      begin
        while (pg_stat_file('gate', true)).size is null loop perform pg_sleep(0.01); end loop;
      end $$`.execute(db.tables())
  }
  const openGate = () => writeFileSync(join(folder, 'gate'), '')
  afterEach(() => db.close())
  const marks = async () =>
    (await sql<{ n: number }>`select n from mark order by n`.execute(db.tables())).rows.map(({ n }) => n)
  const mark = (n: number) => sql`insert into mark values (${n})`.execute(db.tables())
  /** Resolves when all work that is ready in this process has run, so that a statement has been sent. */
  const underWay = async () => {
    for (let tick = 0; tick < 5; tick++) await new Promise((resolve) => setImmediate(resolve))
  }
  /** A promise with its resolve function. */
  const signal = () => {
    let give: () => void = () => undefined
    const given = new Promise<void>((resolve) => {
      give = resolve
    })
    return { give, given }
  }
  const failure = (promise: Promise<unknown>) => promise.then(() => undefined).catch((error: unknown) => error)

  it('the embedded store restarts its thread when a statement does not end, keeps all commits, and notifies listeners', async () => {
    await opened()
    const received: string[] = []
    const notified = signal()
    const reconnected = signal()
    const asleep = signal()
    await db.listen('marks', {
      onNotify(payload) {
        received.push(payload)
        notified.give()
      },
      onReconnect() {
        received.push('reconnect')
        reconnected.give()
      },
    })
    await mark(1)
    const transaction = failure(
      db.transaction(async (open) => {
        await sql`insert into mark values (2)`.execute(open)
        asleep.give()
        await sql`select pg_sleep(600)`.execute(open)
      }),
    )
    await asleep.given
    const waiting = failure(mark(3))
    await underWay()
    expect(db.available).toBe(true)
    clock.advance(STATEMENT_MILLISECONDS_MAX)
    expect(db.available).toBe(false)
    expect(await transaction).toBeInstanceOf(StoreUnavailable)
    // It had waited for the full time of a caller.
    expect(await waiting).toBeInstanceOf(StoreUnavailable)
    // New callers wait for the restart; time does not advance meanwhile.
    await mark(4)
    expect(db.available).toBe(true)
    expect(await marks()).toEqual([1, 4])
    await reconnected.given
    await sql`select pg_notify('marks', 'after')`.execute(db.tables())
    await notified.given
    expect(received).toEqual(['reconnect', 'after'])
  })

  it('the embedded store restarts its thread when the thread dies', async () => {
    const threads: Worker[] = []
    const remember = (thread: Worker) => threads.push(thread)
    process.on('worker', remember)
    await opened()
    await mark(1)
    const cut = failure(sql`select pg_sleep(600)`.execute(db.tables()))
    await underWay()
    await threads[0]?.terminate()
    expect(await cut).toBeInstanceOf(StoreUnavailable)
    await mark(2)
    expect(await marks()).toEqual([1, 2])
    expect(threads).toHaveLength(2)
    process.off('worker', remember)
  })

  it('the embedded store refuses callers whose time expires while they wait for the restart', async () => {
    await opened()
    const wedged = failure(sql`select pg_sleep(600)`.execute(db.tables()))
    await underWay()
    clock.advance(STATEMENT_MILLISECONDS_MAX)
    await wedged
    const impatient = failure(mark(1))
    await underWay()
    expect(db.available).toBe(false)
    clock.advance(STATEMENT_MILLISECONDS_MAX)
    expect(await impatient).toBeInstanceOf(StoreUnavailable)
    await mark(2)
    expect(await marks()).toEqual([2])
  })

  it('the embedded store refuses waiting callers as soon as a start has failed, and recovers when one succeeds', async () => {
    await opened()
    await mark(1)
    const reconnected = signal()
    await db.listen('marks', { onNotify: () => undefined, onReconnect: reconnected.give })
    const away = `${folder}-away`
    const transaction = failure(sql`select pg_sleep(600)`.execute(db.tables()))
    await underWay()
    renameSync(folder, away)
    writeFileSync(folder, 'no folder')
    clock.advance(STATEMENT_MILLISECONDS_MAX)
    // Time does not advance from here: only the failed start can answer this caller.
    const waiting = failure(mark(2))
    expect(await transaction).toBeInstanceOf(StoreUnavailable)
    expect(await waiting).toBeInstanceOf(StoreUnavailable)
    rmSync(folder)
    renameSync(away, folder)
    clock.advance(RESTART_MILLISECONDS.first)
    await reconnected.given
    expect(await marks()).toEqual([1])
  })

  it('the embedded store answers a caller on time without ending a statement that has time left', async () => {
    await opened()
    await shutGate()
    const [begun, finish] = [signal(), signal()]
    const holding = db.transaction(async () => {
      begun.give()
      await finish.given
    })
    await begun.given
    const late = failure(sql`insert into mark values (1) returning pass_gate()`.execute(db.tables()))
    await underWay()
    clock.advance(STATEMENT_MILLISECONDS_MAX - 1)
    finish.give()
    await holding
    await underWay()
    clock.advance(1)
    expect(await late).toBeInstanceOf(StoreUnavailable)
    expect(db.available).toBe(true)
    openGate()
    // The outcome was unknown to that caller; the statement itself was not affected.
    expect(await marks()).toEqual([1])
  })

  it('the embedded store gives a statement of a transaction the time that the transaction was opened with', async () => {
    await opened()
    await shutGate()
    const asleep = signal()
    const migration = db.transaction(
      async (transaction) => {
        await sql`insert into mark values (1)`.execute(transaction)
        asleep.give()
        await sql`select pass_gate()`.execute(transaction)
      },
      { statementMillisecondsMax: 60_000 },
    )
    await asleep.given
    await underWay()
    clock.advance(STATEMENT_MILLISECONDS_MAX * 2)
    openGate()
    await migration
    expect(await marks()).toEqual([1])
  })

  it('the embedded store rolls back a transaction whose statements together take too long', async () => {
    await opened()
    await shutGate()
    const [first, second] = [signal(), signal()]
    const slow = failure(
      db.transaction(async (transaction) => {
        await sql`insert into mark values (1)`.execute(transaction)
        first.give()
        await second.given
        await sql`insert into mark values (2) returning pass_gate()`.execute(transaction)
      }),
    )
    await first.given
    clock.advance(STATEMENT_MILLISECONDS_MAX - 500)
    second.give()
    await underWay()
    clock.advance(500)
    expect(await Promise.race([slow, underWay().then(() => 'not answered')])).toBeInstanceOf(StoreUnavailable)
    // The statement itself had time left, so the thread was not ended for it.
    expect(db.available).toBe(true)
    openGate()
    await mark(3)
    expect(await marks()).toEqual([3])
  })

  it('the embedded store rolls back a transaction that is not committed in time, also between its statements', async () => {
    await opened()
    const [stalling, resume] = [signal(), signal()]
    const stalled = failure(
      db.transaction(async (transaction) => {
        await sql`insert into mark values (1)`.execute(transaction)
        stalling.give()
        await resume.given
      }),
    )
    await stalling.given
    clock.advance(STATEMENT_MILLISECONDS_MAX)
    await mark(2)
    resume.give()
    expect(await stalled).toBeInstanceOf(StoreUnavailable)
    expect(await marks()).toEqual([2])
  })

  it('the embedded store rolls back a transaction that waits for something else', async () => {
    await opened()
    const [stalling, resume] = [signal(), signal()]
    const stalled = failure(
      db.transaction(
        async (transaction) => {
          await sql`insert into mark values (1)`.execute(transaction)
          stalling.give()
          await resume.given
          await sql`insert into mark values (2)`.execute(transaction)
        },
        { statementMillisecondsMax: 60_000 },
      ),
    )
    await stalling.given
    clock.advance(TRANSACTION_IDLE_MILLISECONDS_MAX)
    await mark(3)
    expect(await marks()).toEqual([3])
    resume.give()
    expect(await stalled).toBeInstanceOf(StoreUnavailable)
    expect(await marks()).toEqual([3])
  })

  it('the embedded store closes in order: refuses waiting and new callers after the running call has ended', async () => {
    await opened()
    const running = mark(1)
    const waiting = failure(mark(2))
    const closing = db.close()
    expect(await failure(mark(3))).toBeInstanceOf(StoreUnavailable)
    await running
    expect(await waiting).toBeInstanceOf(StoreUnavailable)
    await closing
    expect(db.available).toBe(false)
    db = await openEmbedded({ folder, log, clock })
    expect(await marks()).toEqual([1])
  })

  it('the embedded store never reports success for a statement that ended without a result of PostgreSQL', async () => {
    await opened()
    await sql`drop table if exists document; create table document (body jsonb)`.execute(db.tables())
    // So deep that the stack of WebAssembly overflows, which is not an error of PostgreSQL.
    const deep = '['.repeat(60_000) + ']'.repeat(60_000)
    expect(await failure(sql`insert into document values (${deep}::jsonb)`.execute(db.tables()))).toBeInstanceOf(Error)
    // Waits for the restart, for which time does not advance.
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from document`.execute(db.tables())
    expect(rows).toEqual([{ count: 0 }])
  })

  it('the embedded store leaves no caller waiting for a flush when it is closed while a session does not end', async () => {
    await opened()
    const [first, last] = [signal(), signal()]
    const holding = db.transaction(() => first.given)
    await underWay()
    const unflushed = failure(mark(1))
    const begun = signal()
    const blocking = failure(
      db.transaction(() => {
        begun.give()
        return last.given
      }),
    )
    await underWay()
    first.give()
    await holding
    await begun.given
    const closing = db.close()
    clock.advance(CLOSE_MILLISECONDS_MAX)
    await closing
    expect(await unflushed).toBeInstanceOf(StoreUnavailable)
    last.give()
    await blocking
    db = await openEmbedded({ folder, log, clock })
  })

  it('the embedded store refuses a folder that is not a store', async () => {
    await opened()
    await expect(openEmbedded({ folder: '/dev/null/store', log, clock })).rejects.toBeInstanceOf(StoreUnavailable)
  })

  it('the embedded store creates a store atomically: a kill on the way leaves nothing that the next start uses as a store', async () => {
    await opened()
    await db.close()
    const other = await mkdtemp(join(tmpdir(), 'tidegate-store-new-'))
    const writer = spawn(process.execPath, [...FAST_STORE_STARTS, ...scriptArguments(WRITER), join(other, 'store')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(writer, 'exit')
    while (readdirSync(other).length === 0 && writer.exitCode === null) {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    writer.kill('SIGKILL')
    await ended
    // Whenever the kill came: a folder with the name of a store is complete, and a draft is created again.
    db = await openEmbedded({ folder: join(other, 'store'), log, clock })
    expect(await readSchemaState(db)).toBe('current')
    expect(await readdir(other)).toEqual(['store'])
    await rm(other, { recursive: true })
  })

  it('the embedded store keeps every acknowledged row when its process is killed', async () => {
    await opened()
    await sql`drop table if exists survivor`.execute(db.tables())
    await db.close()
    const writer = spawn(process.execPath, [...FAST_STORE_STARTS, ...scriptArguments(WRITER), folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const acknowledged = await acknowledgements(writer, 100)
    db = await openEmbedded({ folder, log, clock })
    const { rows } = await sql<{ n: number; half: number }>`select n, half from survivor order by n`.execute(
      db.tables(),
    )
    // The row after the last acknowledged one may exist too; no other, and none in part.
    expect(rows.length - acknowledged).toBeGreaterThanOrEqual(0)
    expect(rows.length - acknowledged).toBeLessThanOrEqual(1)
    expect(rows.every(({ n, half }, index) => n === index && half === index)).toBe(true)
  })
})

/** Kills the writer after `count` rows. @returns the number of rows acknowledged by then */
async function acknowledgements(writer: ChildProcess, count: number): Promise<number> {
  let named = 0
  const lines = createInterface({ input: writer.stdout as NodeJS.ReadableStream })
  lines.on('line', () => {
    if (++named === count) writer.kill('SIGKILL')
  })
  await Promise.all([once(lines, 'close'), once(writer, 'exit')])
  expect(named).toBeGreaterThanOrEqual(count)
  return named
}

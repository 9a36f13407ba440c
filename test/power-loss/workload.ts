/**
 * The process whose disk loses its power: four concurrent callers write transactions of many kinds to the embedded
 * store in a folder. It marks in the recording which transaction begins (START n), is about to commit (SENT n) and was
 * acknowledged (ACK n). Arguments: the set-up, the folder, the seed, the number of transactions. It ends without
 * closing the store.
 *
 * `product` is the store as the service opens it. The others are defective set-ups: `unsynced` opens PGlite without our
 * files, `no-page-images` with syncs but without full-page writes, one caller after the other.
 */
import { accessSync } from 'node:fs'
import { PGlite } from '@electric-sql/pglite'
import { createLog } from '../../src/platform/base/log.ts'
import { DurableFiles } from '../../src/platform/store/durable-files.ts'
import { openEmbedded } from '../../src/platform/store/embedded.ts'
import { sql } from '../../src/platform/store/sql.ts'
import { Random } from '../support/random.ts'
import { createSlowClock } from '../support/slow-clock.ts'

type Run = (text: string) => Promise<readonly Record<string, unknown>[]>

interface Store {
  readonly callers: number
  run: Run
  /** Commits what the work did, unless it returns false. */
  transaction(work: (run: Run) => Promise<boolean>): Promise<void>
}

const RATE_ROLLBACK = 0.06
const [setUp, folder, seed, count] = process.argv.slice(2) as [string, string, string, string]
const random = new Random(Number(seed))
const store = setUp === 'product' ? await openProduct() : await openPglite(setUp === 'no-page-images')
const number = await highest()
let next = number
const sides: string[] = []
await Promise.all(Array.from({ length: store.callers }, call))
mark('END')
process.exit(0)

function mark(text: string): void {
  try {
    accessSync(`/RECORD ${text}`)
  } catch {
    // The recorder has seen the path, which does not exist.
  }
}

async function openProduct(): Promise<Store> {
  const db = await openEmbedded({ folder, log: createLog('silent'), clock: createSlowClock() })
  class RolledBack extends Error {}
  return {
    callers: 4,
    run: async (text) => (await sql.raw<Record<string, unknown>>(text).execute(db.tables())).rows,
    async transaction(work) {
      try {
        await db.transaction(async (transaction) => {
          const run: Run = async (text) => (await sql.raw<Record<string, unknown>>(text).execute(transaction)).rows
          if (!(await work(run))) throw new RolledBack()
        })
      } catch (error) {
        if (!(error instanceof RolledBack)) throw error
      }
    },
  }
}

async function openPglite(isSynced: boolean): Promise<Store> {
  const settings = ['fsync=on', 'full_page_writes=off', 'wal_sync_method=fsync'].flatMap((one) => ['-c', one])
  const startParams = [...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'), ...settings]
  const pglite = isSynced
    ? await PGlite.create({ fs: new DurableFiles(folder, () => process.exit(70)), startParams })
    : await PGlite.create({ dataDir: folder })
  const run: Run = async (text) => (await pglite.exec(text)).at(-1)?.rows ?? []
  return {
    callers: 1,
    run,
    async transaction(work) {
      await run('begin')
      await run((await work(run)) ? 'commit' : 'rollback')
    },
  }
}

async function highest(): Promise<number> {
  const rows = await store.run('select coalesce(max(tx), 0)::int as tx from done')
  return (rows[0] as { tx: number }).tx
}

async function call(): Promise<void> {
  while (next < number + Number(count)) {
    const tx = ++next
    mark(`START ${tx}`)
    await store.transaction(async (run) => {
      const kept = await kindOf(tx)(run, tx)
      const [{ n }] = (await run('update counter set n = n + 1 returning n::int')) as [{ n: number }]
      await run(`insert into done values (${tx}, ${n}, ${kept})`)
      mark(`SENT ${tx}`)
      return true
    })
    mark(`ACK ${tx}`)
    if (random.chance(RATE_ROLLBACK)) await rollBack()
    if (random.chance(0.05)) await store.run('checkpoint')
    if (random.chance(0.02)) await store.run('vacuum')
  }
}

async function rollBack(): Promise<void> {
  await store.transaction(async (run) => {
    await run(`insert into entry (tx, amount, note) select 0, i, 'never' from generate_series(1, 200) i`)
    await run('update account set balance = balance + 7')
    return false
  })
}

/** Runs a random transaction; returns how many rows of `entry` it leaves. */
type Kind = (run: Run, tx: number) => Promise<number>

function kindOf(tx: number): Kind {
  const kinds: Kind[] = [transfer, transfer, transfer, transfer, rewrite, remove, large, bulk, makeTable, truncate]
  return tx < 5 ? transfer : random.pick(kinds)
}

function text(length: number): string {
  let made = ''
  while (made.length < length) made += Math.floor(random.next() * 2 ** 32).toString(36)
  return made.slice(0, length)
}

async function transfer(run: Run, tx: number): Promise<number> {
  const rows = 1 + random.integer(5)
  for (let row = 0; row < rows; row++) {
    await run(
      `insert into entry (tx, amount, note) values (${tx}, ${random.integer(100)}, '${text(5 + random.integer(300))}')`,
    )
  }
  const [from, to, amount] = [1 + random.integer(40), 1 + random.integer(40), random.integer(50)]
  await run(`update account set balance = balance - ${amount} where id = ${from}`)
  await run(`update account set balance = balance + ${amount} where id = ${to}`)
  return rows
}

async function rewrite(run: Run): Promise<number> {
  await run(`update entry set note = '${text(10 + random.integer(200))}' where id % ${3 + random.integer(30)} = 0`)
  return 0
}

/** Undoes the rows of an earlier transaction, and records that there. */
async function remove(run: Run, tx: number): Promise<number> {
  const victim = 1 + random.integer(tx)
  await run(`delete from entry where tx = ${victim}`)
  await run(`update done set kept = 0 where tx = ${victim}`)
  return 0
}

async function large(run: Run, tx: number): Promise<number> {
  const data = text(3_000 + random.integer(57_000))
  await run(`insert into large values (${tx}, md5('${data}'), '${data}')`)
  return 0
}

async function bulk(run: Run, tx: number): Promise<number> {
  const rows = 300 + random.integer(1_000)
  await run(
    `insert into entry (tx, amount, note) select ${tx}, i % 97, md5(i::text) || repeat('z', ${random.integer(200)})
      from generate_series(1, ${rows}) i`,
  )
  return rows
}

async function makeTable(run: Run, tx: number): Promise<number> {
  const rows = random.integer(300)
  await run(`create table side_${tx} (n int primary key, t text)`)
  await run(`insert into side_${tx} select i, md5(i::text) from generate_series(1, ${rows}) i`)
  await run(`insert into side values ('side_${tx}', ${rows})`)
  sides.push(`side_${tx}`)
  if (sides.length > 8) {
    const old = sides.shift()
    await run(`drop table if exists ${old}; delete from side where name = '${old}'`)
  }
  return 0
}

async function truncate(run: Run): Promise<number> {
  const rows = random.integer(400)
  await run('truncate scratch')
  await run(`insert into scratch select i, md5(i::text) from generate_series(1, ${rows}) i`)
  await run(`update scratch_rows set n = ${rows}`)
  return 0
}

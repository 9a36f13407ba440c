/**
 * Deposits to COMPLETED a second, beside the transfers a second of a ledger in the manner of pgledger on the same server
 * with as many connections, in turns. PostgreSQL runs on this machine with its own defaults and waits for the disk.
 */
import { createSystemClock } from '../src/base/clock.ts'
import { createLog } from '../src/base/log.ts'
import { openPostgres } from '../src/store/postgres.ts'
import { sql } from '../src/store/sql.ts'
import { hasPostgres, PostgresServer } from '../test/support/postgres.ts'
import { ANCHOR_ACCOUNTS_CONTENDED, ANCHOR_ACCOUNTS_SPREAD, createLedgerAnchor } from './ledger-anchor.ts'
import type { BenchResult } from './result.ts'

/** The default of `store.connections_max`. */
const CONNECTIONS = 10
/** Callers of the anchor at once: enough to keep every connection busy, as in that project's benchmark. */
const CALLERS = 20
const log = createLog('error')
const clock = createSystemClock()

interface Size {
  readonly rounds: number
  readonly milliseconds: number
}

/** One measurement that takes part in every round: what it does in one, and what came of it. */
interface Contender {
  readonly name: string
  readonly unit: string
  readonly reference?: string
  run(): Promise<number>
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick ? { rounds: 3, milliseconds: 1_000 } : { rounds: 7, milliseconds: 5_000 }
  return hasPostgres ? await onPostgres(size) : []
}

async function onPostgres({ rounds, milliseconds }: Size): Promise<BenchResult[]> {
  const server = PostgresServer.create({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' } })
  await server.start()
  const open = async () =>
    openPostgres({
      url: await server.createDatabase(),
      connectionsMax: CONNECTIONS,
      log,
      clock,
      random: Math.random,
    })
  const db = await open()
  const anchor = await createLedgerAnchor(db)
  const contenders = [
    {
      name: 'driver: `select 1`',
      unit: '/s',
      run: () => perSecond(() => sql`select 1`.execute(db.tables()), milliseconds),
    },
    ...[ANCHOR_ACCOUNTS_CONTENDED, ANCHOR_ACCOUNTS_SPREAD].map((accounts) => ({
      name: `anchor: transfers among ${accounts} accounts`,
      unit: '/s',
      run: () => perSecond(() => anchor.transfer(accounts), milliseconds),
    })),
  ]
  const results = await interleaved(contenders, rounds)
  await anchor.verify()
  await db.close()
  await server.remove()
  return results
}

/** One run of each in turn, so that what the machine does meanwhile is in all of them alike; the first round is none. */
async function interleaved(contenders: readonly Contender[], rounds: number): Promise<BenchResult[]> {
  const results = contenders.map(({ name, unit, reference }) => ({
    name,
    unit,
    runs: [] as number[],
    ...(reference === undefined ? {} : { reference }),
  }))
  const processors = contenders.map(({ name }) => ({
    name: `${name}: this process`,
    unit: '% of a core',
    runs: [] as number[],
  }))
  for (let round = 0; round <= rounds; round++) {
    for (const [index, contender] of contenders.entries()) {
      const usage = process.cpuUsage()
      const start = performance.now()
      const value = await contender.run()
      const { user, system } = process.cpuUsage(usage)
      if (round === 0) continue
      results[index]?.runs.push(value)
      processors[index]?.runs.push((user + system) / 10 / (performance.now() - start))
    }
  }
  return results.flatMap((result, index) => [result, processors[index] as BenchResult])
}

async function perSecond(work: () => Promise<unknown>, milliseconds: number): Promise<number> {
  const start = performance.now()
  let done = 0
  const caller = async () => {
    while (performance.now() - start < milliseconds) {
      await work()
      done++
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return (done / (performance.now() - start)) * 1_000
}

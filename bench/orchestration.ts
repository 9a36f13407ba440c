/**
 * Deposits as users report them: over HTTP to the built program's operator listener, with a reporter's token, as JSON.
 * Rules convert them at par, convert them at a market, or pay them out. Each run lasts until every orchestration has
 * ended, and each deposit's outcome is checked. On PostgreSQL they are compared with another ledger's transfers on the
 * same server, batches with batches, alternately. PostgreSQL runs on this machine with its default settings, and both
 * stores sync to the disk.
 */
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import type { Db } from '../src/platform/store/db.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import { openPostgres } from '../src/platform/store/postgres.ts'
import { hasPostgres, PostgresServer } from '../test/support/postgres.ts'
import { createSlowClock } from '../test/support/slow-clock.ts'
import { ClaimingExecutor } from './claiming-executor.ts'
import { type Contender, interleaved } from './interleaved.ts'
import { anchorContenders, anchorName, createLedgerAnchor } from './ledger-anchor.ts'
import { MARKET_FLAGS, newEngineAccess, startEngine, untilLive } from './publishing-engine.ts'
import { PAYMENT_FLAGS, ReportedPayments, WAYS, type Way } from './reported-payments.ts'
import type { BenchResult } from './result.ts'
import { Api, newMachine, openStoreOf, type Program, REQUESTS_MAX, withProgram } from './served-program.ts'

const BATCH = 50
/** The reporter's concurrent requests with one deposit each, and with a batch each. */
const CALLERS = { single: REQUESTS_MAX, batch: 8 } as const
/** The default for `store.connections_max`, for the other ledger too. */
const CONNECTIONS = 10
/** The engine's pause between two changes: books that set prices are at most five seconds old. */
const ENGINE_MILLISECONDS = 1_000
const FLAGS = { ...MARKET_FLAGS, ...PAYMENT_FLAGS }
const log = createLog('error')
const clock = createSystemClock()

interface Size {
  readonly rounds: number
  readonly milliseconds: number
}

const QUICK: Size = { rounds: 1, milliseconds: 500 }
const ORDINARY: Size = { rounds: 3, milliseconds: 1_000 }

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick ? QUICK : ORDINARY
  return [...(hasPostgres ? await onPostgres(size) : []), ...(await onEmbedded(size))]
}

async function onPostgres(size: Size): Promise<BenchResult[]> {
  const server = PostgresServer.create({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' } })
  await server.start()
  const options = { connectionsMax: CONNECTIONS, log, clock, random: Math.random }
  const other = openPostgres({ ...options, url: await server.createDatabase() })
  const anchor = await createLedgerAnchor(other)
  const url = await server.createDatabase()
  // For statements about everything in the store, which take their time.
  const db = openPostgres({ ...options, url, clock: createSlowClock() })
  await migrate(db, log)
  const flags = { ...FLAGS, 'store.url': url, 'keys.encryption_key': Buffer.alloc(32, 7).toString('base64') }
  const results = await withProgram(flags, (program) =>
    measure(program, 'PostgreSQL', size, anchorContenders(anchor, BATCH, size.milliseconds), async () => db),
  )
  await anchor.verify()
  await other.close()
  await server.remove()
  return results
}

function onEmbedded(size: Size): Promise<BenchResult[]> {
  return withProgram(FLAGS, (program) => measure(program, 'embedded', size, [], () => openStoreOf(program)))
}

/** @param openStore opens the program's store after it has stopped */
async function measure(
  program: Program,
  engine: string,
  { rounds, milliseconds }: Size,
  references: readonly Contender[],
  openStore: () => Promise<Db>,
): Promise<BenchResult[]> {
  const stopEngine = startEngine(await newEngineAccess(program), ENGINE_MILLISECONDS)
  await untilLive(program)
  const payments = await ReportedPayments.create(program, await newMachine(program, 'deposit_reporter'))
  const executor = new ClaimingExecutor(await newMachine(program, 'executor'), 'executor')
  executor.start()
  const contenders = WAYS.flatMap((way) =>
    [1, BATCH].map((batch) => ({
      name: `${engine}: ${way}, ${batch === 1 ? 'one by one' : `in batches of ${batch}`}`,
      unit: '/s',
      ...(references.length === 0 ? {} : { reference: anchorName(batch) }),
      pid: program.pid,
      run: () => depositsPerSecond(program, payments, way, batch, milliseconds),
    })),
  )
  const results = await interleaved([...references, ...contenders], rounds)
  await executor.stop()
  await stopEngine()
  await program.stop()
  const db = await openStore()
  await payments.check(db, executor.references)
  await db.close()
  return results
}

/** Deposits per second from the first report until all orchestrations have ended. */
export async function depositsPerSecond(
  { operator }: Program,
  payments: ReportedPayments,
  way: Way,
  batch: number,
  milliseconds: number,
): Promise<number> {
  Api.repeated = 0
  const start = performance.now()
  let reported = 0
  const caller = async () => {
    while (performance.now() - start < milliseconds) {
      await payments.report(way, batch)
      reported += batch
    }
  }
  await Promise.all(Array.from({ length: batch === 1 ? CALLERS.single : CALLERS.batch }, caller))
  await untilEnded(operator, payments.isScreened)
  if (Api.repeated > 0) process.stderr.write(`${Api.repeated} calls were repeated, because the store was busy\n`)
  return (reported * 1_000) / (performance.now() - start)
}

/** Resolves when every deposit's screening is answered and no orchestration is unfinished. */
async function untilEnded(operator: Api, isScreened: boolean): Promise<void> {
  const open = async (list: string) =>
    (await operator.call<{ items: unknown[] }>('GET', `${list}&limit=1`)).items.length > 0
  for (const list of [...(isScreened ? ['/screening?status=PENDING'] : []), '/orchestrations?status=PROCESSING']) {
    while (await open(list)) await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

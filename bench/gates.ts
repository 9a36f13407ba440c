/**
 * Deposits per second with every gate but the screening on, and with the gates off: two built programs, one as a new
 * store of `serve` has its settings, the other with all gates off. Both credit, convert at par and pay out the same
 * kinds of payments, alternately. Every account and destination is approved and every amount is below the limits, so
 * the difference is the price of reading.
 */
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import { openPostgres } from '../src/platform/store/postgres.ts'
import { hasPostgres, PostgresServer } from '../test/support/postgres.ts'
import { ClaimingExecutor } from './claiming-executor.ts'
import { type Contender, interleaved } from './interleaved.ts'
import { depositsPerSecond } from './orchestration.ts'
import { PAYMENT_FLAGS, ReportedPayments, type Way } from './reported-payments.ts'
import type { BenchResult } from './result.ts'
import { newMachine, type Program, withProgram } from './served-program.ts'

const BATCH = 50
const MEASURED: readonly (readonly [way: Way, batch: number])[] = [
  ['at par, by address', 1],
  ['at par, by address', BATCH],
  ['at par and paid out, by memo', BATCH],
]
const LARGE = JSON.stringify({ USD: '100000000', USDC: '100000000', USDG: '100000000' })
const GATES_ON = {
  'accounts.approval': 'required',
  'destinations.required': 'true',
  'destinations.approval': 'required',
  'destinations.cooling_hours': '0',
  'limits.defaults': JSON.stringify(
    ['USDC', 'USDG'].flatMap((asset) =>
      ['day', 'movement'].map((window) => ({ scope: 'customer', asset, window, amount: '1000000000000' })),
    ),
  ),
  'review_above.deposits': LARGE,
  'review_above.payments': LARGE,
}
const GATES_OFF = { 'accounts.approval': 'auto', 'destinations.required': 'false' }
const log = createLog('error')

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick ? { rounds: 3, milliseconds: 400 } : { rounds: 8, milliseconds: 1_000 }
  return [...(hasPostgres ? await onPostgres(size) : []), ...(await both('embedded', {}, {}, size))]
}

interface Size {
  readonly rounds: number
  readonly milliseconds: number
}

async function onPostgres(size: Size): Promise<BenchResult[]> {
  const server = PostgresServer.create({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' } })
  await server.start()
  const flags = async () => {
    const url = await server.createDatabase()
    const db = openPostgres({ connectionsMax: 1, log, clock: createSystemClock(), random: Math.random, url })
    await migrate(db, log)
    await db.close()
    return { 'store.url': url, 'keys.encryption_key': Buffer.alloc(32, 7).toString('base64') }
  }
  const results = await both('PostgreSQL', await flags(), await flags(), size)
  await server.remove()
  return results
}

function both(
  engine: string,
  offStore: Readonly<Record<string, string>>,
  onStore: Readonly<Record<string, string>>,
  size: Size,
): Promise<BenchResult[]> {
  return withProgram({ ...PAYMENT_FLAGS, ...GATES_OFF, ...offStore }, (off) =>
    withProgram({ ...PAYMENT_FLAGS, ...GATES_ON, ...onStore }, async (on) => {
      const [plain, gated] = [await stand(off, false), await stand(on, true)]
      const contenders = MEASURED.flatMap(([way, batch]): Contender[] => {
        const how = `${engine}: ${way}, ${batch === 1 ? 'one by one' : `in batches of ${batch}`}`
        const rate = ({ program, payments }: Stand) =>
          depositsPerSecond(program, payments, way, batch, size.milliseconds)
        return [
          { name: `${how}, gates off`, unit: '/s', pid: off.pid, run: () => rate(plain) },
          { name: `${how}, gates on`, unit: '/s', pid: on.pid, run: () => rate(gated) },
        ]
      })
      const results = await interleaved(contenders, size.rounds)
      for (const { executor, program } of [plain, gated]) {
        await executor.stop()
        await program.stop()
      }
      return results
    }),
  )
}

interface Stand {
  readonly program: Program
  readonly payments: ReportedPayments
  readonly executor: ClaimingExecutor
}

async function stand(program: Program, isGated: boolean): Promise<Stand> {
  const reporter = await newMachine(program, 'deposit_reporter')
  const payments = await ReportedPayments.create(program, reporter, {
    ways: [...new Set(MEASURED.map(([way]) => way))],
    isGated,
  })
  const executor = new ClaimingExecutor(await newMachine(program, 'executor'), 'executor')
  executor.start()
  return { program, payments, executor }
}

/**
 * Deposits per second with the gates off, with every gate but the screening on, and with the screening too, by a hook
 * that answers at once: three built programs, the second as a new store of `serve` has its settings. They credit, convert
 * at par and pay out the same kinds of payments, alternately. Every account and destination is approved and every amount
 * is below the limits, so the differences are the prices of reading and asking.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const log = createLog('error')

interface Kind {
  readonly name: string
  readonly flags: Readonly<Record<string, string>>
  readonly isGated?: boolean
  readonly isScreened?: boolean
}

interface Size {
  readonly rounds: number
  readonly milliseconds: number
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick ? { rounds: 3, milliseconds: 400 } : { rounds: 8, milliseconds: 1_000 }
  const hook = await startHook()
  const screening = { 'screening.url': hook.url, 'screening.secrets': SECRET }
  const kinds: readonly Kind[] = [
    { name: 'gates off', flags: GATES_OFF },
    { name: 'gates on', flags: GATES_ON, isGated: true },
    { name: 'gates and screening on', flags: { ...GATES_ON, ...screening }, isGated: true, isScreened: true },
  ]
  const results = [
    ...(hasPostgres ? await onPostgres(kinds, size) : []),
    ...(await measured('embedded', kinds, async () => ({}), size)),
  ]
  hook.stop()
  return results
}

/** A hook that allows everything at once. */
async function startHook(): Promise<{ readonly url: string; stop(): void }> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    response.end(JSON.stringify({ id: JSON.parse(text).data.id, decision: 'ALLOW' }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function onPostgres(kinds: readonly Kind[], size: Size): Promise<BenchResult[]> {
  const server = PostgresServer.create({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' } })
  await server.start()
  const newStore = async () => {
    const url = await server.createDatabase()
    const db = openPostgres({ connectionsMax: 1, log, clock: createSystemClock(), random: Math.random, url })
    await migrate(db, log)
    await db.close()
    return { 'store.url': url, 'keys.encryption_key': Buffer.alloc(32, 7).toString('base64') }
  }
  const results = await measured('PostgreSQL', kinds, newStore, size)
  await server.remove()
  return results
}

/** Measures one program of each kind, alternately. */
async function measured(
  engine: string,
  kinds: readonly Kind[],
  newStore: () => Promise<Readonly<Record<string, string>>>,
  { rounds, milliseconds }: Size,
): Promise<BenchResult[]> {
  const withStands = async (left: readonly Kind[], stands: readonly Stand[]): Promise<BenchResult[]> => {
    const [kind, ...rest] = left
    if (kind === undefined) return await interleaved(contendersOf(engine, stands, milliseconds), rounds)
    return await withProgram({ ...PAYMENT_FLAGS, ...kind.flags, ...(await newStore()) }, async (program) => {
      const own = await stand(program, kind)
      const results = await withStands(rest, [...stands, own])
      await own.executor.stop()
      await program.stop()
      return results
    })
  }
  return await withStands(kinds, [])
}

function contendersOf(engine: string, stands: readonly Stand[], milliseconds: number): readonly Contender[] {
  return MEASURED.flatMap(([way, batch]) => {
    const how = `${engine}: ${way}, ${batch === 1 ? 'one by one' : `in batches of ${batch}`}`
    return stands.map(({ kind, program, payments }) => ({
      name: `${how}, ${kind.name}`,
      unit: '/s',
      pid: program.pid,
      run: () => depositsPerSecond(program, payments, way, batch, milliseconds),
    }))
  })
}

interface Stand {
  readonly kind: Kind
  readonly program: Program
  readonly payments: ReportedPayments
  readonly executor: ClaimingExecutor
}

async function stand(program: Program, kind: Kind): Promise<Stand> {
  const reporter = await newMachine(program, 'deposit_reporter')
  const payments = await ReportedPayments.create(program, reporter, {
    ways: [...new Set(MEASURED.map(([way]) => way))],
    isGated: kind.isGated ?? false,
    isScreened: kind.isScreened ?? false,
  })
  const executor = new ClaimingExecutor(await newMachine(program, 'executor'), 'executor')
  executor.start()
  return { kind, program, payments, executor }
}

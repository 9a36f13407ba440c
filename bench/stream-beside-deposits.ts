/**
 * The stream's delay in a program with the embedded store, without deposits and while they are reported at a constant
 * rate, alternately: from an engine's message until its UPDATE has arrived at a subscriber. Engine and subscriber are
 * one thread, so both instants are on one clock.
 */
import { startThread } from '../src/platform/base/thread.ts'
import { MARKET_FLAGS, newEngineAccess, untilLive } from './publishing-engine.ts'
import { PAYMENT_FLAGS, ReportedPayments } from './reported-payments.ts'
import type { BenchResult } from './result.ts'
import { newCustomerToken, newMachine, openStoreOf, type Program, withProgram } from './served-program.ts'
import type { StreamThreadStart } from './stream-delays-thread.ts'

/** Deposits per second. */
const PACE = 100
const SHARES = [0.5, 0.99]
const STREAM_SCOPE = 'exchange:read_aggregated_marketdata_stream'

interface Size {
  /** Pairs of runs, one without deposits and one with them. */
  readonly pairs: number
  /** Per run. */
  readonly milliseconds: number
}

const QUICK: Size = { pairs: 2, milliseconds: 3_000 }
const ORDINARY: Size = { pairs: 6, milliseconds: 10_000 }
const WITHOUT = 'without deposits'

function nameOf(share: number, how: string): string {
  return `embedded: the stream's p${share * 100}, ${how}`
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick ? QUICK : ORDINARY
  return await withProgram({ ...MARKET_FLAGS, ...PAYMENT_FLAGS }, async (program) => {
    const payments = await ReportedPayments.create(program, await newMachine(program, 'deposit_reporter'))
    const results = await measure(program, payments, size)
    await program.stop()
    const db = await openStoreOf(program)
    await payments.check(db, [])
    await db.close()
    return results
  })
}

async function measure(
  program: Program,
  payments: ReportedPayments,
  { pairs, milliseconds }: Size,
): Promise<BenchResult[]> {
  const { token } = await newCustomerToken(program, [STREAM_SCOPE])
  const workerData: StreamThreadStart = { engine: await newEngineAccess(program), ws: program.ws, token }
  const thread = startThread('./stream-delays-thread', import.meta.url, { workerData })
  // An error ends the benchmark.
  const takeDelays = () =>
    new Promise<Float64Array>((resolve) => {
      thread.once('message', resolve)
      thread.postMessage('take')
    })
  await untilLive(program)
  const arms = [WITHOUT, `with ${PACE} deposits/s`].map((how, index) => ({
    hasDeposits: index === 1,
    results: SHARES.map((share) => ({
      name: nameOf(share, how),
      unit: 'ms',
      runs: [] as number[],
      ...(index === 0 ? {} : { reference: nameOf(share, WITHOUT) }),
    })),
  }))
  // The first pair is a warm-up.
  for (let pair = 0; pair <= pairs; pair++) {
    for (const { hasDeposits, results } of pair % 2 === 0 ? arms : arms.toReversed()) {
      await takeDelays()
      await paced(milliseconds, async () => {
        if (hasDeposits) await payments.report('at par, by memo', 1)
      })
      const delays = await takeDelays()
      for (const [index, share] of SHARES.entries()) {
        const value = delays[Math.ceil(delays.length * share) - 1] as number
        process.stderr.write(`${results[index]?.name}: ${value.toFixed(2)} ms of ${delays.length}\n`)
        if (pair > 0) results[index]?.runs.push(value)
      }
    }
  }
  await thread.terminate()
  return arms.flatMap(({ results }) => results)
}

/** Calls `work` at a constant rate, however long it takes. Resolves when all calls have. */
async function paced(milliseconds: number, work: () => Promise<void>): Promise<void> {
  const start = performance.now()
  const calls: Promise<void>[] = []
  for (let number = 0; (number * 1_000) / PACE < milliseconds; number++) {
    const wait = start + (number * 1_000) / PACE - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    calls.push(work())
  }
  await Promise.all(calls)
}

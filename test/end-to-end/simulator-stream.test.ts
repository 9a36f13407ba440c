/**
 * The whole service on the simulator, read by the sample client and by `tidegate verify`: every message of every
 * channel of three markets compared with the commits and trades of the service. `TIDEGATE_LONG=1` runs a minute with a
 * fresh seed.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StreamChecker } from '../../src/conformance/judge/stream/stream-checker.ts'
import type { Violation } from '../../src/conformance/judge/stream/violations.ts'
import { startCommand } from '../support/command-line.ts'
import { note } from '../support/note.ts'
import { seedOf } from '../support/property.ts'
import { RecordedStreamVerifier } from '../support/recorded-stream-verifier.ts'
import {
  ensureBuilt,
  market,
  type ServiceInside,
  startServiceInside,
  temporaryFolder,
  tokenOf,
} from '../support/running-service.ts'
import { SampleClient } from '../support/sample-client.ts'

const isLong = process.env.TIDEGATE_LONG === '1'
const SECONDS = isLong ? 60 : 4
const SEED = seedOf(20_261_120)
/**
 * Updates per second of each market. The simulator's updates come in clusters, as real ones do, and those within one
 * millisecond are one commit: 500 a second make about 50 UPDATEs. The higher rate makes 500 UPDATEs a second, and 2,000
 * messages of all three markets.
 */
const RATES = isLong ? [500, 5_000] : [500]
/**
 * One market with all of its levels, one with a depth that rarely matters, one where levels enter and leave all the
 * time.
 */
const MARKETS = [market('BTC', 2, 0), market('ETH', 2, 500), market('SOL', 3, 25, 'simulator', 6)]
const SYMBOLS = MARKETS.map(({ symbol }) => symbol)

/** At least this many of each kind are compared, however long that takes on a busy machine. */
const MESSAGES_MIN = SECONDS * 10

const folder = temporaryFolder()

beforeAll(ensureBuilt)
afterAll(() => folder.remove())

describe.each(RATES)(`three simulated markets for ${SECONDS} s, seed ${SEED}, at %d updates/s each`, (rate) => {
  let service: ServiceInside

  beforeAll(async () => {
    service = await startServiceInside(folder.path, MARKETS, { 'simulator.rate': rate, 'simulator.seed': SEED })
  })

  afterAll(() => service?.stop())

  it('simulated markets reach two clients of the documented stream as they were committed and traded', async () => {
    const customer = await service.operator.createClient()
    const { verifier, client, violations, checker } = await connect(service, await tokenOf(service, customer))
    const verification = startCommand(
      ['verify', ...SYMBOLS, '--url', service.http, '--seconds', `${SECONDS}`, '--json'],
      {
        isBuilt: true,
        environment: { TIDEGATE_CLIENT_ID: customer.clientId, TIDEGATE_CLIENT_SECRET: customer.clientSecret },
      },
    )
    verifier.subscribing()
    await client.subscribeAll(...SYMBOLS)
    const end = performance.now() + SECONDS * 1000
    const isEnough = ({ updates, executions, tops, heartbeats }: typeof client.counts) =>
      Math.min(updates, executions, tops) > MESSAGES_MIN && heartbeats > 0
    await client.until(
      'the end of the run',
      () => performance.now() >= end && isEnough(client.counts),
      SECONDS * 2000 + 120_000,
    )
    const { stdout, stderr } = await verification.result
    const counts = SYMBOLS.map((symbol) => service.record.market(symbol).executionCount)
    await client.until(
      'every execution',
      () =>
        verifier.problems.length > 0 ||
        SYMBOLS.every((symbol, index) => (verifier.executionsUpTo(symbol) ?? 0) >= (counts[index] as number)),
    )
    verifier.compareWhole(client)

    const { record } = service
    const madeWithinBatch = SYMBOLS.reduce((sum, symbol) => sum + record.market(symbol).madeWithinBatch, 0)
    note(
      JSON.stringify({
        seed: SEED,
        ...client.counts,
        current: verifier.current,
        conflated: verifier.conflatedCommits,
        madeWithinBatch,
      }),
    )
    expect(client.problems).toEqual([])
    expect(verifier.problems).toEqual([])
    expect(record.problems).toEqual([])
    expect(withoutHeartbeats(violations)).toEqual([])
    expect(client.closed).toBeUndefined()
    // The comparison includes commits that were the newest when they arrived.
    expect(verifier.current).toBeGreaterThan(0)
    expect(checker.counts).toMatchObject({ updates: client.counts.updates, executions: client.counts.executions })

    expect(stderr).toBe('')
    const report = JSON.parse(stdout) as {
      counts: { updates: number; executions: number }
      violations: { name: string }[]
    }
    expect(withoutHeartbeats(report.violations)).toEqual([])
    expect(Math.min(report.counts.updates, report.counts.executions)).toBeGreaterThan(0)
    await client.close()
  })
})

/**
 * A sample client whose every message is checked twice: against the commits of the service, and by the rules of the
 * protocol.
 */
async function connect(service: ServiceInside, token: string) {
  const verifier = new RecordedStreamVerifier(service.record)
  const checker = new StreamChecker()
  const violations: Violation[] = []
  checker.onConnect()
  const client = await SampleClient.connect({
    wsUrl: service.ws,
    token,
    messagesKept: 1,
    executionsKept: 1,
    onMessage(message, sender, text) {
      verifier.onMessage(message, sender)
      violations.push(...checker.onMessage(text, performance.now()))
    },
  })
  return { verifier, checker, violations, client }
}

/** The delay of heartbeats depends on how busy this machine is. */
function withoutHeartbeats<Found extends { readonly name: string }>(violations: readonly Found[]): Found[] {
  return violations.filter(({ name }) => name !== 'heartbeat-late')
}

/**
 * The random model of money, through the built program alone: three reporters, executors that lie, crash and pay late,
 * customers, and operators of whom a second one confirms, while the processes of the service are killed. After each part,
 * everything becomes final or waits with a reason, and must be what an independent model computes from the answers and from
 * what was really paid.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createLog } from '../../src/platform/base/log.ts'
import { openEmbedded } from '../../src/platform/store/embedded.ts'
import { openPostgres } from '../../src/platform/store/postgres.ts'
import { TEST_BANK } from '../../src/service/config/banking.ts'
import { passTime } from '../money/orchestrations/kills/time.ts'
import { accountPublicKey } from '../support/address-keys.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import { propertySettings } from '../support/property.ts'
import { Random } from '../support/random.ts'
import { ensureBuilt, type Flags } from '../support/running-service.ts'
import { UNGUARDED_FLAGS } from '../support/simulated-markets.ts'
import { createSlowClock } from '../support/slow-clock.ts'
import { Bank } from './money-model/bank.ts'
import { compare, findStoreViolations } from './money-model/checks.ts'
import { changeDeposit } from './money-model/deposit-actions.ts'
import { drain, type WithStore } from './money-model/drain.ts'
import { bookEntry, reverseEntry } from './money-model/entry-actions.ts'
import { ASSETS } from './money-model/expected.ts'
import { Nodes } from './money-model/nodes.ts'
import { cancel, moveOut, operateOrchestration, pauseSomething } from './money-model/other-actions.ts'
import { execute, findOut, payByHand } from './money-model/payout-actions.ts'
import { reportAgain, reportNew } from './money-model/reports.ts'
import { FEE_BPS, REVIEWED } from './money-model/units.ts'
import { OPERATOR_TOKEN, World } from './money-model/world.ts'

const { seed = 1 } = propertySettings(1)
const KILLS = {
  postgres: Number(process.env.TIDEGATE_KILLS ?? 60),
  embedded: Number(process.env.TIDEGATE_KILLS ?? 20),
}
/** Kills between two comparisons. */
const KILLS_PER_PART = { postgres: 20, embedded: 10 }
/** Actors that do one thing after the other. */
const ACTORS = { postgres: 10, embedded: 6 }
const WEBHOOK_SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`

type Action = (world: World) => Promise<void>

const ACTIONS: readonly (readonly [weight: number, action: Action])[] = [
  [10, reportNew],
  [4, reportAgain],
  [8, changeDeposit],
  [6, moveOut],
  [8, execute],
  [4, findOut],
  [2, payByHand],
  [4, cancel],
  [3, operateOrchestration],
  [1, pauseSomething],
  [2, bookEntry],
  [1, reverseEntry],
]
const WHEEL = ACTIONS.flatMap(([weight, action]) => Array<Action>(weight).fill(action))

const FLAGS: Flags = {
  'operator.token': OPERATOR_TOKEN,
  'keys.encryption_key': Buffer.alloc(32, 9).toString('base64'),
  'custody.evm.xpub': accountPublicKey(5),
  'banking.instructions': JSON.stringify(TEST_BANK),
  'conversion.par_assets': '[USD, USDC, USDG]',
  'orchestrations.fee_bps': Number(FEE_BPS),
  'review_above.deposits': limitsOf(REVIEWED.deposit),
  'review_above.payments': limitsOf(REVIEWED.payment),
  'rest.rate_per_second': 10_000,
  'auth.token_seconds': 86_400,
}

function limitsOf(units: bigint): string {
  return JSON.stringify(Object.fromEntries(ASSETS.map((asset) => [asset, Number(units)])))
}

async function runModel(engine: 'embedded' | 'postgres'): Promise<void> {
  const random = new Random(seed)
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-money-model-'))
  const bank = new Bank(random)
  await bank.open()
  const log = createLog('error')
  const clock = createSlowClock()
  const url = engine === 'postgres' ? await migratedDatabase() : ''
  const db =
    engine === 'postgres' ? openPostgres({ url, connectionsMax: 3, random: Math.random, log, clock }) : undefined
  let hasFourEyes = false
  let slots = 0
  const flagsOf = (name: string): Flags => ({
    ...UNGUARDED_FLAGS,
    ...FLAGS,
    ...(engine === 'postgres' ? { 'store.url': url } : {}),
    ...(hasFourEyes ? { 'operator.four_eyes': '[approvals, settlements, controls, deposits, operators]' } : {}),
    // At the end, one process requests payments, and another one lets them be claimed.
    ...((bank.isWell ? slots++ % 2 === 0 : random.chance(0.5))
      ? { 'deliveries.webhook_url': bank.urlFor(name), 'deliveries.webhook_secrets': WEBHOOK_SECRET }
      : {}),
  })
  const nodes: Nodes = new Nodes({
    count: engine === 'postgres' ? 2 : 1,
    folder,
    random,
    flagsOf,
    // The claims of the killed process end at once.
    onStart: async () => {
      if (db !== undefined) await passTime(db, 0)
    },
  })
  bank.onRequest = (name) => nodes.onRequest(name)
  const world = new World(random, nodes, bank)
  const withStore: WithStore = async (work) => {
    if (db !== undefined) return await work(db)
    await nodes.stop()
    const store = await openEmbedded({ folder: join(folder, 'node-0', 'store'), log, clock })
    try {
      return await work(store)
    } finally {
      await store.close()
      await nodes.start()
    }
  }
  try {
    await nodes.start()
    await world.setUp(nodes.httpAddress)
    await nodes.stop()
    hasFourEyes = true
    await nodes.start()
    for (let part = 1; nodes.kills < KILLS[engine]; part++) {
      const from = new Date(Date.now() - 1_000).toISOString()
      const target = Math.min(KILLS[engine], nodes.kills + KILLS_PER_PART[engine])
      await disturb(world, target, ACTORS[engine])
      const begun = performance.now()
      await drain(world, withStore)
      const { violations, service } = await compare(world, from)
      const inStore = await withStore((store) => findStoreViolations(service, store))
      bank.isWell = false
      report(world, part, (performance.now() - begun) / 1_000)
      expect([...violations, ...inStore, ...nodes.violations]).toEqual([])
    }
  } finally {
    console.info(JSON.stringify(Object.fromEntries([...world.counts].sort())))
    for (const line of nodes.errors.values()) console.info(`logged: ${line.slice(0, 600)}`)
    nodes.abandon()
    bank.close()
    await db?.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Until that many processes were killed. */
async function disturb(world: World, kills: number, actors: number): Promise<void> {
  const { nodes, random } = world
  nodes.disturb()
  const actor = async () => {
    while (nodes.kills < kills && world.violations.length === 0) await random.pick(WHEEL)(world)
  }
  await Promise.all(Array.from({ length: actors }, actor))
}

function report({ nodes, payments, bank, requests }: World, part: number, seconds: number): void {
  console.info(
    `part ${part}: ${nodes.kills} kills, ${nodes.calls} calls, ${nodes.unanswered} unanswered, ${nodes.unavailable} unavailable, ` +
      `${payments.length} payments, ${requests.size} requests, ${bank.paid.size} paid; final after ${seconds.toFixed(0)} s`,
  )
}

describe('money through processes that are killed', () => {
  ensureBuilt()
  console.info(`money model: seed ${seed}`)

  it.skipIf(!hasPostgres)(
    `money is where the model has it after ${KILLS.postgres} kills of two processes (needs PostgreSQL)`,
    () => runModel('postgres'),
  )

  it(`money is where the model has it after ${KILLS.embedded} kills of one process with the embedded store`, () =>
    runModel('embedded'))
})

/**
 * A whole service in one process for simulations: the public and the operator API over a store whose process can die,
 * workers and senders of deliveries with stores of their own on the same engine, an executor behind a bad network, a
 * scripted book, and a clock of the store that the world sets. Every call is made as operators, customers and executors
 * make it; who gets no answer asks again.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { ensureLedgerAssets } from '../../../../src/money/ledger/assets.ts'
import type { ConvertSettings } from '../../../../src/money/orchestrations/convert.ts'
import { createStepMetrics } from '../../../../src/money/orchestrations/metrics.ts'
import type { PricingBook } from '../../../../src/money/orchestrations/pricing/context.ts'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import type { Db } from '../../../../src/platform/store/db.ts'
import { migrate } from '../../../../src/platform/store/migrate.ts'
import { openPostgres } from '../../../../src/platform/store/postgres.ts'
import { sql } from '../../../../src/platform/store/sql.ts'
import { captureLog } from '../../../support/captured-log.ts'
import { sharedDatabase, withClient } from '../../../support/postgres.ts'
import type { Random } from '../../../support/random.ts'
import { type RestAnswer, type RestCustomer, RestNode } from '../../../support/rest.ts'
import { newAccount, type TestAccount } from '../../../support/rules.ts'
import { createSlowClock } from '../../../support/slow-clock.ts'
import { createFaultyStore, type FaultyStore } from '../../../support/store-faults.ts'
import { createStoreClock, prepareStoreClock, setStoreClock } from '../../../support/store-time.ts'
import { dropSchema, openTemporaryStore } from '../../../support/test-store.ts'
import { Executor } from './executor.ts'
import type { Payment } from './model.ts'
import { convertSettings } from './settings.ts'
import { createSender, createWorker, type Worker } from './worker.ts'

const START_MILLISECONDS = Date.UTC(2026, 5, 1)
const CONNECTIONS_MAX = 5
/** Of the second worker, ahead of all others. */
const CLOCK_SKEW_MILLISECONDS = 3_600_000

const FLAGS = {
  markets: JSON.stringify(
    ['BTC', 'USDC'].map((base) => ({
      symbol: `${base}USD`,
      base_asset: base,
      quote_asset: 'USD',
      price_decimals: base === 'BTC' ? 2 : 4,
      amount_decimals: 8,
      depth: 100,
      sources: ['simulator'],
    })),
  ),
}

export interface Party {
  readonly customer: RestCustomer
  readonly account: TestAccount
}

export interface WorldRule {
  readonly id: string
  readonly party: Party
  readonly asset: string
  /** What a report names to reach it. */
  readonly place: Readonly<Record<string, unknown>>
}

export type Action = (world: World) => Promise<void>

export class World {
  readonly random: Random
  readonly node: RestNode
  /** The store that the API stands on. */
  readonly api: FaultyStore
  readonly workers: readonly Worker[]
  /** Processes that send deliveries. */
  readonly senders: readonly Worker[]
  readonly executor: Executor
  readonly parties: readonly Party[]
  /** What workers convert by. */
  readonly settings: () => ConvertSettings
  /** Of the engine, without faults: what oracles read. */
  readonly db: Db
  /** What the API logged. */
  readonly lines: readonly string[]
  readonly rules: WorldRule[] = []
  readonly payments: Payment[] = []
  /** Deliveries that were reported as failed, rightly or wrongly. */
  readonly failed = new Set<string>()
  /** Claims that executors got, which are of one executor each. */
  readonly claims = new Set<string>()
  /** What the service did to callers that it must never do. */
  readonly wrongs: string[] = []
  /** Calls that were not answered: whoever made them repeats them. */
  unanswered: (() => Promise<unknown>)[] = []
  /** Processes that died. */
  crashes = 0
  /** Deadlocks that the store ended. */
  deadlocks = 0
  peg = 1
  isBookLive = true
  milliseconds = START_MILLISECONDS
  readonly #close: () => Promise<void>

  private constructor(
    parts: Pick<
      World,
      'random' | 'node' | 'api' | 'workers' | 'senders' | 'executor' | 'parties' | 'settings' | 'db' | 'lines'
    >,
    close: () => Promise<void>,
  ) {
    this.random = parts.random
    this.node = parts.node
    this.api = parts.api
    this.workers = parts.workers
    this.senders = parts.senders
    this.executor = parts.executor
    this.parties = parts.parties
    this.settings = parts.settings
    this.db = parts.db
    this.lines = parts.lines
    this.#close = close
  }

  /** @param mutate changes the schema of the store before anything happens in it */
  static async open(
    random: Random,
    mutate: (db: Db) => Promise<void> = async () => undefined,
    engine = inject('engine'),
  ): Promise<World> {
    const stores = await openStores(engine)
    const [db, ...workerStores] = stores as [Db, Db, Db]
    await mutate(db)
    const folder = mkdtempSync(join(tmpdir(), 'tidegate-world-'))
    const api = createFaultyStore(db)
    const kept = captureLog()
    const system = createSystemClock()
    let world: World | undefined
    const settings = () => convertSettings(node.live.config, (symbol) => world?.bookOf(symbol))
    const node = await RestNode.open({
      db: api.db,
      // The time of the store passes for the API too.
      clock: {
        ...system,
        monotonicMilliseconds: () =>
          system.monotonicMilliseconds() + (world?.milliseconds ?? START_MILLISECONDS) - START_MILLISECONDS,
      },
      hasTestSeed: true,
      flags: { ...FLAGS, data_dir: folder },
      log: kept.log,
      converter: { settings, metrics: createStepMetrics(createMetricsRegistry()) },
    })
    await db.transaction((transaction) => ensureLedgerAssets(transaction, node.live.config.assets))
    const parties: Party[] = []
    for (const name of ['alice', 'bob', 'carol']) {
      const customer = parties.length === 2 ? (parties[1] as Party).customer : await node.newCustomer()
      parties.push({ customer, account: await newAccount(customer, name) })
    }
    const workers = workerStores.map((store, index) =>
      createWorker(createFaultyStore(store), settings, index * CLOCK_SKEW_MILLISECONDS),
    )
    const executor = await Executor.open(random)
    const senders = workerStores.map((store) =>
      createSender(createFaultyStore(store), executor, () => node.live.config['deliveries.webhook_url']),
    )
    const parts = { random, node, api, workers, senders, executor, parties, settings, db, lines: kept.lines }
    world = new World(parts, async () => {
      await node.close()
      await executor.close()
      for (const store of new Set(stores)) await store.close()
      rmSync(folder, { recursive: true, force: true })
    })
    for (const store of new Set(stores)) {
      store.observeStatements((_seconds, error) => {
        if ((error as { sqlState?: string } | undefined)?.sqlState === '40P01') (world as World).deadlocks++
      })
    }
    return world
  }

  close(): Promise<void> {
    return this.#close()
  }

  /** The book now: one BTC at the best price, more behind it; the price of USDC is the peg. */
  bookOf(symbol: string): PricingBook | undefined {
    const isPeg = symbol === 'USDCUSD'
    const price = isPeg ? BigInt(Math.round(this.peg * 10_000)) : 6_000_000n
    const step = isPeg ? 1n : 100n
    const level = (offset: bigint, amount: bigint) => ({ price: price + offset, amount: amount * 10n ** 18n })
    const depth = isPeg ? 1_000_000n : 1n
    return {
      cursor: 'd29ybGQ.1',
      time: new Date(this.milliseconds).toISOString(),
      ageMilliseconds: 0,
      isLive: this.isBookLive,
      isSimulated: true,
      bids: [level(-step, depth), level(-2n * step, 10n * depth)],
      asks: [level(step, depth), level(2n * step, 10n * depth)],
    }
  }

  async advance(milliseconds: number): Promise<void> {
    this.milliseconds += milliseconds
    await setStoreClock(this.db, this.milliseconds)
  }

  /** Whether deliveries without an attempt are sent to the executor, or wait for claims. */
  useWebhook(isUsed: boolean): void {
    const { live } = this.node
    live.config = { ...live.config, 'deliveries.webhook_url': isUsed ? this.executor.url : '' }
  }

  /** One of the records that a query finds, at random. */
  async pickId(query: string): Promise<string | undefined> {
    const { rows } = await sql.raw<{ id: string }>(`${query} order by id limit 200`).execute(this.db.tables())
    return rows.length === 0 ? undefined : this.random.pick(rows).id
  }

  /** A call that only the death of the process may leave without an answer; then it is made again later. */
  async call(send: () => Promise<RestAnswer>): Promise<RestAnswer> {
    const answer = await send()
    if (answer.status === 500) throw new Error(`500: ${this.lines.filter((line) => line.includes('"err"')).at(-1)}`)
    if (answer.status === 503) this.unanswered.push(() => this.call(send))
    return answer
  }

  operator(method: string, path: string, body?: unknown): Promise<RestAnswer> {
    return this.call(() => this.node.operator(method, path, body))
  }

  /** Everything that was not answered, once more; ends when all of it is. */
  async repeatUnanswered(): Promise<void> {
    while (this.unanswered.length > 0) {
      const calls = this.unanswered
      this.unanswered = []
      for (const call of calls) await call()
    }
  }
}

/** The store of the API and those of two workers: three pools on one database, or the one embedded store. */
async function openStores(engine: 'embedded' | 'postgres'): Promise<readonly Db[]> {
  const [log, clock] = [createLog('silent'), createSlowClock()]
  const stores: Db[] = []
  if (engine === 'embedded') {
    const db = await openTemporaryStore(log, clock)
    await dropSchema(db)
    stores.push(db, db, db)
  } else {
    const url = await sharedDatabase()
    await prepareStoreClock(url)
    await withClient(url, async (client) => {
      const { rows } = await client.query('select current_database() as name')
      // Deadlocks are to be seen, not to be waited for.
      await client.query(`alter database ${rows[0].name} set deadlock_timeout = '20ms'`)
    })
    for (let index = 0; index < 3; index++) {
      stores.push(openPostgres({ url, connectionsMax: CONNECTIONS_MAX, log, clock, random: () => 0.5 }))
    }
  }
  const [db] = stores as [Db]
  await createStoreClock(db, START_MILLISECONDS)
  await migrate(db, log)
  return stores
}

/** What tests of limits share: a node, a customer's requests, and a worker and an executor without a clock. */
import { lockDeliveryOf, releaseDelivery } from '../../../src/money/deliveries/create.ts'
import { claimDeliveries, reportFailed } from '../../../src/money/deliveries/reports.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { transactionWithRetries } from '../../../src/platform/store/retry.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { deliveryOwners } from '../../../src/service/parts/money/delivery-owners.ts'
import { gateSettings } from '../../../src/service/parts/money/settings.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { OPERATOR } from '../../support/deliveries.ts'
import { addAssets, credit } from '../../support/ledger.ts'
import { convertSettings, ORCHESTRATED_ASSETS } from '../../support/orchestrations.ts'
import { type RestAnswer, type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount, type TestAccount } from '../../support/rules.ts'

export const ORCHESTRATIONS = '/v2/orchestration/orchestrations'
export const LIMITS = '/v2/transfer/limits'

export interface LimitRow {
  readonly scope: 'customer' | 'destination'
  readonly asset: string
  readonly window: 'movement' | 'day'
  readonly amount: string
}

/** A destination outside the service. */
export function payee(digit: string) {
  return { crypto: { address: `0x${digit.repeat(40)}`, network: 'ETHEREUM' } }
}

export class LimitsStage {
  readonly node: RestNode
  readonly customer: RestCustomer
  readonly alice: TestAccount
  readonly bob: TestAccount
  #refs = 0

  private constructor(node: RestNode, customer: RestCustomer, [alice, bob]: readonly [TestAccount, TestAccount]) {
    this.node = node
    this.customer = customer
    this.alice = alice
    this.bob = bob
  }

  static async openNode(): Promise<RestNode> {
    const node = await RestNode.open({ hasTestSeed: true })
    await addAssets(node.db, ORCHESTRATED_ASSETS)
    return node
  }

  /** A new customer with two accounts. The first has 1,000,000 USDC. */
  static async open(node: RestNode): Promise<LimitsStage> {
    const customer = await node.newCustomer()
    const accounts = [await newAccount(customer, 'alice'), await newAccount(customer, 'bob')] as const
    await credit(node.db, accounts[0].profileId, 'USDC', 1_000_000_000_000n)
    return new LimitsStage(node, customer, accounts)
  }

  /** Adds money to the first account. */
  fund(asset: string, units: bigint): Promise<void> {
    return credit(this.node.db, this.alice.profileId, asset, units)
  }

  /** Requests a payment in USDC, which needs no conversion. */
  pay(amount: string, changes: Readonly<Record<string, unknown>> = {}): Promise<RestAnswer> {
    return this.customer.call('POST', ORCHESTRATIONS, {
      ref_id: `movement ${++this.#refs}`,
      source: { profile: { profile_id: this.alice.profileId } },
      source_asset: 'USDC',
      source_amount: amount,
      destination_asset: 'USDC',
      destination: payee('1'),
      ...changes,
    })
  }

  async get(id: string) {
    return (await this.customer.call('GET', `${ORCHESTRATIONS}/${id}`)).body
  }

  cancel(id: string): Promise<RestAnswer> {
    return this.customer.call('POST', `${ORCHESTRATIONS}/${id}/cancel`)
  }

  setLimits(limits: readonly LimitRow[]): Promise<RestAnswer> {
    return this.node.operator('PUT', '/limits', { customer_id: this.customer.customerId, limits })
  }

  async uses(scope: LimitRow['scope'], window: LimitRow['window'] = 'day') {
    const { items } = (await this.customer.call('GET', LIMITS)).body
    return items.filter((item: LimitRow) => item.scope === scope && item.window === window)
  }

  /** Lets a worker convert what is due. */
  async work(): Promise<void> {
    const claims = await claimWork(this.node.db, { kinds: ['convert'], limit: 50, claimSeconds: 60 }, ALL_DUE)
    const settings = convertSettings({ gates: gateSettings(this.node.live.config) })
    await transactionWithRetries(this.node.db, (transaction) => convertBatch(transaction, claims, settings))
  }

  /** Lets an executor claim all that is due. Returns the customer's orchestrations, in the order of their claims. */
  async claim(): Promise<readonly string[]> {
    const claimed: string[] = []
    for (let due = Number.POSITIVE_INFINITY; ; ) {
      claimed.push(...(await this.#claimSome()))
      const left = await this.#dueCount()
      if (left === 0 || left === due) return claimed
      due = left
    }
  }

  async #dueCount(): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::integer as count from deliveries
      where status = 'WAITING' and next_attempt_at <= clock_timestamp()
    `.execute(this.node.db.tables())
    return rows[0]?.count ?? 0
  }

  async #claimSome(): Promise<readonly string[]> {
    const request = { executor: 'treasury', limit: 100, lease_seconds: 86_400 }
    const owners = deliveryOwners(this.node.live)
    const claimed = await transactionWithRetries(this.node.db, (transaction) =>
      claimDeliveries(transaction, owners, 'operator', request, false, ALL_DUE),
    )
    return claimed
      .map(({ text }) => JSON.parse(text))
      .filter(({ customer_id }) => customer_id === this.customer.customerId)
      .map(({ orchestration_id }) => orchestration_id)
  }

  /** Reports a claimed payment as failed. */
  async fail(orchestrationId: string): Promise<void> {
    const owners = deliveryOwners(this.node.live)
    const { rows } = await sql<{ id: string; attempt: number }>`
      select id, attempt from deliveries where orchestration_id = ${orchestrationId}
    `.execute(this.node.db.tables())
    for (const { id, attempt } of rows) {
      const request = { reason: 'the bank refused it', attempt }
      await transactionWithRetries(this.node.db, (transaction) =>
        reportFailed(transaction, owners, OPERATOR, id, request),
      )
    }
  }

  /** Opens LIMIT for a waiting payment. */
  async release(orchestrationId: string): Promise<void> {
    await transactionWithRetries(this.node.db, async (transaction) => {
      const delivery = await lockDeliveryOf(transaction, orchestrationId)
      if (delivery !== undefined) await releaseDelivery(transaction, delivery, ['LIMIT'], undefined)
    })
  }

  /** Lets hours pass for what is counted, and makes everything due. */
  async pass(hours: number): Promise<void> {
    const tables = this.node.db.tables()
    await sql`
      update limit_uses set hour = hour - make_interval(hours => ${hours}) where customer_id = ${this.customer.customerId}
    `.execute(tables)
    await this.makeDue()
  }

  async makeDue(): Promise<void> {
    const tables = this.node.db.tables()
    await sql`update orchestration_queue set next_attempt_at = clock_timestamp()`.execute(tables)
    await sql`
      update deliveries set next_attempt_at = clock_timestamp() where status = 'WAITING' and next_attempt_at is not null
    `.execute(tables)
  }

  /** The hour by the store's clock, since 1970. */
  async hour(): Promise<number> {
    const { rows } = await sql<{ hour: number }>`
      select floor(extract(epoch from clock_timestamp()) / 3600)::integer as hour
    `.execute(this.node.db.tables())
    return rows[0]?.hour ?? 0
  }
}

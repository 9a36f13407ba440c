/**
 * Random movements by concurrent customers, operators, two workers and two executors. Any of them may die at a named
 * point: its transaction is rolled back, or what follows its transaction never happens. Gates close and open between
 * rounds. In a round, releases and screening answers open them.
 */

import type { GateSettings } from '../../../../src/money/controls/gates.ts'
import type { DeliveryOwners } from '../../../../src/money/deliveries/owner.ts'
import { claimDeliveries, reportFailed, reportSettled } from '../../../../src/money/deliveries/reports.ts'
import { cancelOrchestration } from '../../../../src/money/orchestrations/cancel.ts'
import { convertBatch } from '../../../../src/money/orchestrations/convert.ts'
import { releaseOrchestration } from '../../../../src/money/orchestrations/operator-actions.ts'
import { ClaimLost, claimWork } from '../../../../src/money/orchestrations/queue.ts'
import { requestOrchestration } from '../../../../src/money/orchestrations/request.ts'
import { newId } from '../../../../src/platform/base/ids.ts'
import { Problem } from '../../../../src/platform/http/problem.ts'
import type { Db, Transaction } from '../../../../src/platform/store/db.ts'
import { transactionWithRetries } from '../../../../src/platform/store/retry.ts'
import { type RawBuilder, sql } from '../../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../../support/all-due.ts'
import { OPERATOR, PAYEE } from '../../../support/deliveries.ts'
import { addOwner, credit } from '../../../support/ledger.ts'
import { convertSettings, newOrchestration, startAll } from '../../../support/orchestrations.ts'
import type { Random } from '../../../support/random.ts'
import {
  type Circumstances,
  type Gate,
  type Movement,
  mustBeClosed,
  type Party,
  REFUSING,
  RELEASABLE,
} from './model.ts'

/** Where a worker, an executor or a caller may die. */
export const POINTS = ['statement', 'before commit', 'after claim', 'after hand-out', 'after payment'] as const

type Point = (typeof POINTS)[number]

class Killed extends Error {}

const ASSETS = ['USDC', 'USDG'] as const
const STATEMENTS_MAX = 14
/** Movements among which an actor looks. */
const SAMPLE = 20
/** Actors at the same time. */
const LANES = 8
const UNITS = { min: 1_000_000, max: 9_000_000 }

interface Handed {
  readonly deliveryId: string
  readonly attempt: number
  readonly movement: Movement
}

interface WorldOptions {
  readonly dbs: readonly [Db, Db]
  readonly random: Random
  readonly settings: GateSettings
  readonly owners: DeliveryOwners
  readonly circumstances: Circumstances
}

export class World {
  readonly parties: Party[] = []
  readonly movements = new Map<string, Movement>()
  readonly violations: string[] = []
  readonly kills = new Map<Point, number>()
  /** Payments handed out in this round, as the movement was then. */
  readonly handedOut: Movement[] = []
  readonly #options: WorldOptions
  readonly #held: Handed[] = []
  /** All movements', in the order of their start. */
  readonly #ids: string[] = []
  isDeadly = true

  constructor(options: WorldOptions) {
    this.#options = options
  }

  get circumstances(): Circumstances {
    return this.#options.circumstances
  }

  async addParty(): Promise<void> {
    const [db] = this.#options.dbs
    const owner = await addOwner(db)
    const otherProfileId = newId()
    await sql`
      insert into profiles (id, customer_id, nickname, type, created_at)
      values (${otherProfileId}, ${owner.customerId}, null, 'NORMAL', now())
    `.execute(db.tables())
    await sql`
      insert into destinations (id, kind, customer_id, ref_id, nickname, network, address, address_key, memos, status,
        usable_at, created_at, updated_at)
      values (gen_random_uuid(), 'CRYPTO', ${owner.customerId}, 'payee', 'payee', 'ETHEREUM', ${PAYEE},
        ${PAYEE.toLowerCase()}, '{""}', 'ACTIVE', now(), now(), now())
    `.execute(db.tables())
    const flags = { isEnabled: true, isBlocked: false, isApproved: true, isOwing: false, isPayeeUsable: true }
    this.parties.push({ ...owner, otherProfileId, ...flags })
  }

  /** Several actors act at the same time. */
  async act(actions: number): Promise<void> {
    const lane = async (number: number) => {
      for (let done = number; done < actions; done += LANES) await this.#actOnce()
    }
    await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)))
  }

  async #actOnce(): Promise<unknown> {
    const { random } = this.#options
    const chosen = random.integer(20)
    if (chosen < 3) return await this.#request()
    if (chosen < 6) return await this.#startByRule()
    if (chosen < 9) return await this.convert(random.integer(2))
    if (chosen < 12) return await this.handOut(random.integer(2))
    if (chosen < 15) return await this.#report()
    if (chosen < 17) return await this.#release()
    if (chosen < 19) return await this.#allow()
    return await this.#cancel()
  }

  /** Whether the actor dies here. */
  #dies(point: Point, probability = 0.15): boolean {
    if (!this.isDeadly || !this.#options.random.chance(probability)) return false
    this.kills.set(point, (this.kills.get(point) ?? 0) + 1)
    return true
  }

  /** The work's result. Undefined: its actor died, and nothing of it happened. */
  async #inTransaction<Result>(
    work: (transaction: Transaction<unknown>) => Promise<Result>,
    db: Db = this.#options.random.pick(this.#options.dbs),
  ): Promise<Result | undefined> {
    const diesAt = this.#dies('statement') ? 1 + this.#options.random.integer(STATEMENTS_MAX) : undefined
    const diesLast = diesAt === undefined && this.#dies('before commit')
    try {
      return await transactionWithRetries(db, async (transaction: Transaction<unknown>) => {
        const result = await work(diesAt === undefined ? transaction : mortal(transaction, diesAt))
        // A short transaction may have ended before its actor dies.
        if (diesLast || diesAt !== undefined) throw new Killed('killed')
        return result
      })
    } catch (error) {
      if (error instanceof Killed || error instanceof ClaimLost) return undefined
      throw error
    }
  }

  #add(movement: Movement): void {
    this.movements.set(movement.id, movement)
    this.#ids.push(movement.id)
  }

  #newMovement(party: Party): Movement {
    const { random } = this.#options
    const amount = BigInt(UNITS.min + random.integer(UNITS.max - UNITS.min))
    return {
      id: newId(),
      party,
      sourceAsset: random.pick(ASSETS),
      asset: random.pick(ASSETS),
      amount,
      isPayment: random.chance(0.8),
      opened: new Set(),
      isAllowed: false,
      handedOut: 0,
      isPaid: false,
      isCancelled: false,
      isRequestedAsIs: false,
    }
  }

  /** A customer's request: it is refused exactly when the oracle says so. */
  async #request(): Promise<void> {
    const { random, dbs, settings } = this.#options
    const movement = this.#newMovement(random.pick(this.parties))
    const { party, sourceAsset, asset, amount } = movement
    await credit(dbs[0], party.profileId, sourceAsset, amount)
    const destination = destinationOf(movement)
    const source = { profile: { profile_id: party.profileId } }
    const terms = { source, source_asset: sourceAsset, destination_asset: asset, destination }
    const body = { ref_id: movement.id, source_amount: String(amount), ...terms }
    const read = { body, sourceAsset: { symbol: sourceAsset, decimals: 6, networks: [] }, sourceAmount: amount }
    const convert = convertSettings()
    const conversions = { assets: [], parAssets: convert.pricing.parAssets, markets: [] }
    const requested = { conversions, gates: settings, feeBps: 0, minimumOf: () => undefined, convertSecondsMax: 86_400 }
    const closed = mustBeClosed(movement, 'convert', this.circumstances)
    const codes = closed.flatMap((gate) => REFUSING[gate] ?? [])
    // Whether a limit was reached depends on the other requests at the same time.
    const allowed = [...codes, ...(sourceAsset === asset ? ['limit_exceeded'] : [])]
    try {
      const text = await this.#inTransaction((transaction) =>
        requestOrchestration(transaction, { customerId: party.customerId, actor: 'client:1' }, read, requested),
      )
      if (text === undefined) return
      const { id } = JSON.parse(text) as { id: string }
      this.#add({ ...movement, id, isRequestedAsIs: sourceAsset === asset })
      if (codes.length > 0) this.violations.push(`a request was accepted while ${closed.join()} were closed`)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      if (!allowed.includes(error.code))
        this.violations.push(`a request was refused: ${error.code}, not ${closed.join()}`)
    }
  }

  async #startByRule(): Promise<void> {
    const { random, dbs } = this.#options
    const movement = this.#newMovement(random.pick(this.parties))
    const { id, party, sourceAsset, asset: destinationAsset, amount: sourceAmount } = movement
    this.#add(movement)
    const terms = { id, sourceAsset, destinationAsset, sourceAmount, destination: destinationOf(movement) }
    await startAll(random.pick(dbs), [newOrchestration(party, terms)])
  }

  async convert(worker: number, limit = 1 + this.#options.random.integer(6)): Promise<void> {
    const { dbs, settings } = this.#options
    const db = dbs[worker] as Db
    const claims = await claimWork(db, { kinds: ['convert'], limit, claimSeconds: 60 }, ALL_DUE)
    if (claims.length === 0 || this.#dies('after claim')) return
    const settingsNow = convertSettings({ gates: settings })
    await this.#inTransaction((transaction) => convertBatch(transaction, claims, settingsNow), db)
  }

  async handOut(executor: number, limit = 1 + this.#options.random.integer(6)): Promise<number> {
    const { dbs, owners } = this.#options
    const request = { executor: `executor ${executor}`, limit, lease_seconds: 60 }
    const claimed = await this.#inTransaction(
      (transaction) => claimDeliveries(transaction, owners, 'operator', request, false, ALL_DUE),
      dbs[executor],
    )
    for (const { text } of claimed ?? []) {
      const { id: deliveryId, attempt, orchestration_id } = JSON.parse(text) as Record<string, unknown>
      const movement = this.movements.get(orchestration_id as string) as Movement
      this.handedOut.push({ ...movement })
      movement.handedOut++
      if (movement.isCancelled) this.violations.push(`a cancelled payment was handed out: ${movement.id}`)
      if (this.#dies('after hand-out', 0.3)) continue
      this.#held.push({ deliveryId: deliveryId as string, attempt: attempt as number, movement })
    }
    return claimed?.length ?? 0
  }

  /** An executor pays, once, and reports it. Or it reports that it has not paid. */
  async #report(): Promise<void> {
    const { random, owners } = this.#options
    if (this.#held.length === 0) return
    const [{ deliveryId, attempt, movement }] = this.#held.splice(random.integer(this.#held.length), 1) as [Handed]
    // What an earlier attempt did may be unknown.
    const isPaying = movement.isPaid || attempt > 1 || random.chance(0.85)
    if (isPaying) {
      movement.isPaid = true
      if (this.#dies('after payment', 0.3)) return
    }
    try {
      await this.#inTransaction<unknown>((transaction) =>
        isPaying
          ? reportSettled(transaction, owners, 'operator', deliveryId, { reference: `paid ${deliveryId}`, attempt })
          : reportFailed(transaction, owners, OPERATOR, deliveryId, { reason: 'closed', attempt }),
      )
    } catch (error) {
      // Another attempt has the delivery, or an earlier attempt may have paid.
      if (!(error instanceof Problem)) throw error
    }
  }

  /** Reports all payments that are left, without a death. */
  async reportAll(): Promise<void> {
    this.isDeadly = false
    while (this.#held.length > 0) await this.#report()
  }

  /** Some movements, of which one may be in the state that an actor looks for. */
  #sample(): readonly string[] {
    const { random } = this.#options
    return this.#ids.length === 0 ? [] : Array.from({ length: SAMPLE }, () => random.pick(this.#ids))
  }

  async #pickWaiting() {
    const { random, dbs } = this.#options
    const { rows } = await sql<{ id: string; version: string; gates: readonly { readonly code: Gate }[] }>`
      select id, updated_at as version, gates from orchestrations
      where id = any(${[...this.#sample()]}::uuid[]) and gates is not null order by id
    `.execute(dbs[0].tables())
    return rows.length === 0 ? undefined : random.pick(rows)
  }

  async #release(): Promise<void> {
    const { random, settings } = this.#options
    const waiting = await this.#pickWaiting()
    if (waiting === undefined) return
    const { id, version } = waiting
    const gates = RELEASABLE.filter((gate) => waiting.gates.some(({ code }) => code === gate) && random.chance(0.8))
    if (gates.length === 0) return
    const release = { gates, version, reason: 'checked' }
    try {
      const opened = await this.#inTransaction(async (transaction) => {
        await releaseOrchestration(transaction, 'operator', id, release, settings)
        // No row where the release changed nothing, because no gate is closed any more.
        const { rows } = await sql<{ opened: readonly Gate[] }>`
          select coalesce(deliveries.opened_gates, orchestrations.opened_gates) as opened
          from orchestrations left join deliveries on orchestration_id = orchestrations.id
          where orchestrations.id = ${id} and orchestrations.xmin = pg_current_xact_id()::xid
        `.execute(transaction)
        return rows[0]?.opened
      })
      if (opened === undefined) return
      for (const gate of gates) this.movements.get(id)?.opened.add(gate)
      if (!gates.every((gate) => opened.includes(gate)))
        this.violations.push(`a release of ${gates.join()} opened ${opened.join()}`)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
    }
  }

  /** The screening's answer about one payment, if it was asked. */
  async #allow(): Promise<void> {
    await this.#answer(sql`
      movement_id = (
        select movement_id from screenings where status = 'PENDING' and movement_id = any(${[...this.#sample()]}::uuid[])
        order by movement_id limit 1
      )
    `)
  }

  /** The screening's answers about all payments. */
  async allowAll(): Promise<void> {
    await this.#answer(sql`true`)
  }

  async #answer(about: RawBuilder<boolean>): Promise<void> {
    const { rows } = await sql<{ movement_id: string }>`
      update screenings set status = 'ALLOWED', decided_at = clock_timestamp(), next_attempt_at = null
      where status = 'PENDING' and ${about} returning movement_id
    `.execute(this.#options.dbs[0].tables())
    for (const { movement_id } of rows) {
      const movement = this.movements.get(movement_id)
      if (movement !== undefined) movement.isAllowed = true
    }
  }

  async #cancel(): Promise<void> {
    const { random, owners } = this.#options
    const recent = this.#ids.slice(-40).flatMap((id) => this.movements.get(id) ?? [])
    const all = recent.filter(({ isCancelled }) => !isCancelled)
    if (all.length === 0) return
    const movement = random.pick(all)
    const { customerId } = movement.party
    try {
      const text = await this.#inTransaction((transaction) =>
        cancelOrchestration(transaction, owners, { customerId, actor: 'client:1' }, movement.id),
      )
      if (text === undefined) return
      movement.isCancelled = true
      const { destination_amount } = JSON.parse(text) as { destination_amount?: string }
      const stage = destination_amount === undefined ? 'convert' : 'deliver'
      const closed = mustBeClosed(movement, stage, this.circumstances)
      const refusing = closed.filter((gate) => !['ACCOUNT_NOT_APPROVED', 'DESTINATION', 'LIMIT'].includes(gate))
      if (refusing.length > 0) this.violations.push(`${movement.id} was cancelled while ${refusing.join()} were closed`)
      if (movement.isPaid) this.violations.push(`${movement.id} was cancelled, and paid`)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
    }
  }
}

function destinationOf({ isPayment, party }: Movement) {
  return isPayment
    ? { crypto: { address: PAYEE, network: 'ETHEREUM' as const } }
    : { profile: { profile_id: party.otherProfileId } }
}

/** The transaction, whose work is killed before its statement with this number. */
function mortal(transaction: Transaction<unknown>, statement: number): Transaction<unknown> {
  let left = statement
  return transaction.withPlugin({
    transformQuery({ node }) {
      if (--left === 0) throw new Killed('killed')
      return node
    },
    transformResult: async ({ result }) => result,
  })
}

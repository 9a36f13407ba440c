/**
 * The independent model: what every profile, the desk and the fees must have, from payments and their acknowledged reports,
 * from what operators were answered, and from what the bank really paid. Of orchestrations and deliveries it uses which there
 * are and how each ended, and computes the amounts itself.
 */
import type { Json } from './nodes.ts'
import { convertedAtPar, DECIMALS, toText, toUnits } from './units.ts'
import type { Entry, Payment, World } from './world.ts'

interface Position {
  /** Available, in transit and held, less what it owes. */
  net: bigint
  /** What no transfer shows: written-off debts. */
  unshown: bigint
  inTransit: bigint
  held: bigint
}

/** Positions by `profile asset`, and those of the service by `account asset`. */
export class Expected {
  readonly violations: string[] = []
  readonly profiles = new Map<string, Position>()
  readonly service = new Map<string, bigint>()
  readonly #world: World
  readonly #deliveriesOf: ReadonlyMap<string, readonly Json[]>
  readonly #orchestrations: ReadonlyMap<string, Json>

  constructor(world: World, orchestrations: readonly Json[], deliveries: readonly Json[]) {
    this.#world = world
    this.#orchestrations = new Map(orchestrations.map((each) => [each.id, each]))
    this.#deliveriesOf = groupedBy(deliveries, ({ orchestration_id, deposit_id }) => orchestration_id ?? deposit_id)
    for (const payment of world.payments) this.#addPayment(payment)
    for (const orchestration of orchestrations) this.#addOrchestration(orchestration)
    for (const entry of world.entries) this.#addEntry(entry)
  }

  /** The lines of all balances as the service shows them: a profile that owes has nothing available. */
  balances(): readonly string[] {
    return [...this.profiles].flatMap(([key, { net, inTransit, held }]) => {
      const asset = key.split(' ')[1] as string
      const free = net - inTransit - held
      const [available, receivable] = free >= 0n ? [free, 0n] : [0n, -free]
      return [
        balanceLine(
          key,
          [available, inTransit, held, receivable].map((units) => toText(units, asset)),
        ),
      ]
    })
  }

  #addPayment(payment: Payment): void {
    const { depositId = '', isCompleted, isReversed, terms, base } = payment
    const { profileId, asset, units } = terms
    const deliveries = this.#deliveriesOf.get(depositId) ?? []
    if (deliveries.length > payment.returns) this.#report(`${deliveries.length} returns of payment ${payment.number}`)
    if (!isCompleted) return
    this.#add('external', asset, isReversed ? 0n : -units)
    if (profileId === undefined) {
      this.#add('unattributed', asset, isReversed ? 0n : units)
      return
    }
    const position = this.#of(profileId, asset)
    position.net += isReversed ? 0n : units
    for (const delivery of deliveries) this.#addDelivery(delivery)
    const isReturned = deliveries.some(({ status }) => status !== 'FAILED')
    if (base !== null && !isReversed && !isReturned) position.held += units
  }

  /** An entry and its reversal cancel out. */
  #addEntry({ kind, profileId, legs, isReversed }: Entry): void {
    for (const { asset, units, isIn } of legs) {
      if (profileId !== undefined) {
        const position = this.#of(profileId, asset)
        if (isReversed || kind === 'debt_repayment') continue
        position.net += units
        position.unshown += units
        this.#add('desk', asset, -units)
      } else if (!isReversed) {
        const signed = isIn ? units : -units
        this.#add(kind === 'fee_sweep' ? 'fees' : 'desk', asset, signed)
        this.#add('external', asset, -signed)
      }
    }
  }

  #addOrchestration(orchestration: Json): void {
    const { id, profile_id, source_asset, destination_asset, status, destination_amount, receipt } = orchestration
    const amount = toUnits(orchestration.source_amount, source_asset)
    const source = this.#of(profile_id, source_asset)
    const deliveries = this.#deliveriesOf.get(id) ?? []
    if (destination_amount === undefined) {
      if (status === 'PROCESSING') source.inTransit += amount
      if (status === 'COMPLETED' || deliveries.length > 0) this.#report(`unconverted and ${status}: ${id}`)
      return
    }
    const isCharged = this.#isCharged(orchestration)
    const { fee: due, taken, outgoing } = convertedAtPar(amount, source_asset, destination_asset, isCharged)
    // Without a conversion, a payment that failed gave its fee back.
    const fee = source_asset === destination_asset && status === 'FAILED' ? 0n : due
    const wanted = [toText(fee, source_asset), toText(taken, source_asset), toText(outgoing, destination_asset)].join(
      ' ',
    )
    const shown = [receipt.fee_amount, receipt.converted_amount, destination_amount].join(' ')
    if (shown !== wanted) this.#report(`converted to ${shown} instead of ${wanted}: ${id}`)
    source.net -= fee + taken
    this.#add('fees', source_asset, fee)
    if (source_asset !== destination_asset) {
      this.#add('desk', source_asset, taken)
      this.#add('desk', destination_asset, -outgoing)
    }
    const { profile } = orchestration.destination
    this.#of(profile?.profile_id ?? profile_id, destination_asset).net += outgoing
    if (profile !== undefined) {
      this.#endsAs(orchestration, deliveries.length === 0 && status === 'COMPLETED')
      return
    }
    const [delivery, ...others] = deliveries
    if (delivery === undefined || others.length > 0) {
      this.#report(`${deliveries.length} deliveries: ${id}`)
      return
    }
    this.#addDelivery(delivery)
    this.#endsAs(
      orchestration,
      status === (ENDS[delivery.status] ?? 'PROCESSING') && delivery.amount === destination_amount,
    )
  }

  /** A retry of what a conversion has made is free. Each retry has what came back of the one before. */
  #isCharged({ id, retry_of, source_asset, source_amount }: Json): boolean {
    const tried = this.#orchestrations.get(retry_of)
    if (tried === undefined) return true
    const isConverted = tried.destination_amount !== undefined && tried.source_asset !== tried.destination_asset
    const isFree = isConverted || !this.#isCharged(tried)
    const wanted = isConverted ? tried.destination_amount : tried.source_amount
    const isWhole =
      source_amount === wanted && source_asset === (isConverted ? tried.destination_asset : tried.source_asset)
    if (!isWhole) this.#report(`a retry of ${source_amount} ${source_asset} instead of ${wanted}: ${id}`)
    return !isFree
  }

  #endsAs({ id, status, fail_reason }: Json, isRight: boolean): void {
    if (!isRight) this.#report(`an orchestration ends as its delivery does: ${id} ${status} ${fail_reason?.code}`)
  }

  /** What the bank paid is SETTLED, and what it did not pay is FAILED or waits; except after an untrue report. */
  #addDelivery({ id, status, profile_id, asset, amount, reference }: Json): void {
    const { bank } = this.#world
    const position = this.#of(profile_id, asset)
    const units = toUnits(amount, asset)
    const paid = bank.paid.get(id)
    if (status === 'SETTLED') {
      position.net -= units
      this.#add('external', asset, units)
      const isTrue =
        paid !== undefined && paid.reference === reference && paid.amount === amount && paid.asset === asset
      const isKnownLie = bank.invented.get(id) === reference || reference === `second name of ${id}`
      if (!isTrue && !isKnownLie)
        this.#report(`a delivery is SETTLED by ${reference}, paid was ${paid?.reference}: ${id}`)
      return
    }
    if (status !== 'FAILED') position.inTransit += units
    else if (paid !== undefined) this.#report(`a delivery is FAILED and was paid: ${id}`)
  }

  #of(profileId: string, asset: string): Position {
    const key = `${profileId} ${asset}`
    const position = this.profiles.get(key) ?? { net: 0n, unshown: 0n, inTransit: 0n, held: 0n }
    this.profiles.set(key, position)
    return position
  }

  #add(account: string, asset: string, units: bigint): void {
    const key = `${account} ${asset}`
    this.service.set(key, (this.service.get(key) ?? 0n) + units)
  }

  #report(violation: string): void {
    this.violations.push(violation)
  }
}

const ENDS: Readonly<Record<string, string>> = { SETTLED: 'COMPLETED', FAILED: 'FAILED' }

export function balanceLine(key: string, [available, inTransit, held, receivable]: readonly string[]): string {
  return `${key}: available ${available}, in transit ${inTransit}, held ${held}, owes ${receivable}`
}

export function groupedBy(items: readonly Json[], keyOf: (item: Json) => string): ReadonlyMap<string, readonly Json[]> {
  const groups = new Map<string, Json[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

export const ASSETS = Object.keys(DECIMALS)

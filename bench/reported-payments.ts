/**
 * Payments reported to the program, one kind for each way in which a rule handles a payment: customers with a profile
 * and a rule per way, the reports, and the store's required content afterwards. Amounts are random except in one way:
 * bank payments with equal amounts are compared with each other, because one may repeat another's report.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Db } from '../src/platform/store/db.ts'
import { sql } from '../src/platform/store/sql.ts'
import { TEST_BANK } from '../src/service/config/banking.ts'
import { accountPublicKey } from '../test/support/address-keys.ts'
import { moneyViolations } from '../test/support/money-oracles.ts'
import { ASK_CENTS } from './publishing-engine.ts'
import { type Api, newCustomerToken, type Program } from './served-program.ts'

/** The settings for a program that derives addresses and shows a bank. */
export const PAYMENT_FLAGS = {
  'custody.evm.xpub': accountPublicKey(5),
  'banking.instructions': JSON.stringify(TEST_BANK),
}
const CUSTOMERS = 20
const ADDRESS = { crypto: { network: 'ETHEREUM' } }
const MEMO = { fiat: { network: 'WIRE', account_type: 'SWIFT' } }
const PAYEE = { crypto: { address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', network: 'ETHEREUM' } }
/** From 10.00 to 100,000.00. */
const CENTS = { min: 1_000, max: 10_000_000 }
const ONE_AMOUNT = 'at par, by memo, all of one amount'
const ONE_AMOUNT_CENTS = 10_000n

const PAR = { source_asset: 'USD', destination_asset: 'USDC', source: MEMO } as const
/** The rules. */
const RULES = {
  'at par, by address': { source_asset: 'USDC', destination_asset: 'USDG', source: ADDRESS },
  'at par, by memo': PAR,
  [ONE_AMOUNT]: PAR,
  'at a market, by memo': { ...PAR, destination_asset: 'BTC' },
  'at par and paid out, by memo': { ...PAR, destination: PAYEE },
} as const
/** The minor units that a rule pays for this many cents. */
const UNITS_OF: Readonly<Record<'BTC' | 'USDC' | 'USDG', (cents: bigint) => bigint>> = {
  BTC: (cents) => (cents * 10n ** 8n) / ASK_CENTS,
  USDC: (cents) => cents * 10n ** 4n,
  USDG: (cents) => cents * 10n ** 4n,
}
const DESTINATION_SCOPE = 'transfer:write_crypto_destination_address'
const SCOPES = ['identity:write_account', 'orchestration:write_orchestration_rule']

export type Way = keyof typeof RULES
export const WAYS = Object.keys(RULES) as readonly Way[]

/** Where payments arrive: an address, or a memo. */
interface Place {
  readonly address?: string
  readonly memo_id?: string
}

interface ReportedDeposit {
  readonly id: string
  readonly status: string
  readonly disposition?: { readonly code: string }
}

interface PaymentOptions {
  readonly ways?: readonly Way[]
  /** Whether accounts and destinations must be approved. */
  readonly isGated?: boolean
  readonly isScreened?: boolean
}

export class ReportedPayments {
  /** Whether deposits are held until their screening is answered. */
  readonly isScreened: boolean
  readonly #reporter: Api
  readonly #places: ReadonlyMap<Way, readonly Place[]>
  /** The answered deposits, and what they must pay in minor units of the destination. */
  readonly #answered = new Map<Way, { readonly ids: string[]; units: bigint }>()

  private constructor(reporter: Api, places: ReadonlyMap<Way, readonly Place[]>, isScreened: boolean) {
    this.isScreened = isScreened
    this.#reporter = reporter
    this.#places = places
    for (const way of WAYS) this.#answered.set(way, { ids: [], units: 0n })
  }

  /**
   * With new customers.
   *
   * @param reporter has the role `deposit_reporter`
   */
  static async create(
    program: Program,
    reporter: Api,
    { ways = WAYS, isGated = false, isScreened = false }: PaymentOptions = {},
  ): Promise<ReportedPayments> {
    const places = new Map<Way, Place[]>(WAYS.map((way) => [way, []]))
    for (let number = 0; number < CUSTOMERS; number++) {
      const { token } = await newCustomerToken(program, isGated ? [...SCOPES, DESTINATION_SCOPE] : SCOPES)
      const customer = program.api('http', token)
      const account = { account: { identity_id: 'receiver' }, create_profile: true }
      const made = await customer.call<{ id: string; profile_id: string }>('POST', '/v2/identity/accounts', account)
      const { profile_id } = made
      if (isGated) await approve(program, customer, made.id)
      for (const way of ways) {
        const body = { ref_id: way, profile_id, ...RULES[way] }
        const answer = await customer.call<{ rule: { source: { crypto?: Place; fiat?: Place } } }>(
          'POST',
          '/v2/orchestration/rules',
          body,
        )
        const { crypto, fiat } = answer.rule.source
        places.get(way)?.push((crypto ?? fiat) as Place)
      }
    }
    return new ReportedPayments(reporter, places, isScreened)
  }

  /**
   * Reports this many new payments in one request. Throws unless each is credited and has its orchestration, or waits for
   * its screening.
   */
  async report(way: Way, batch: number): Promise<void> {
    const made = Array.from({ length: batch }, () => this.#newReport(way))
    const reports = made.map(({ report }) => report)
    const deposits =
      batch === 1
        ? [await this.#reporter.call<ReportedDeposit>('POST', '/deposits', reports[0])]
        : (
            await this.#reporter.call<{ results: readonly { deposit?: ReportedDeposit }[] }>('POST', '/deposits', {
              deposits: reports,
            })
          ).results.map(({ deposit }) => deposit)
    const answered = this.#answered.get(way) as { ids: string[]; units: bigint }
    for (const [index, deposit] of deposits.entries()) {
      const code = deposit?.disposition?.code
      if (deposit?.status !== 'COMPLETED' || code !== (this.isScreened ? 'SCREENING' : 'ORCHESTRATED'))
        throw new Error(`a deposit was answered ${JSON.stringify(deposit)}`)
      answered.ids.push(deposit.id)
      answered.units += made[index]?.units as bigint
    }
  }

  /**
   * Throws unless every answered deposit has ended as its rule requires, balances are right, and no ledger rule is
   * broken.
   *
   * @param references the references of the payments made
   */
  async check(db: Db, references: readonly string[]): Promise<void> {
    const kept = new Map<string, bigint>()
    for (const [way, { ids, units }] of this.#answered) {
      const ended = await readEnded(db, ids)
      if (ended.count !== ids.length || ended.units !== units)
        throw new Error(`${way}: ${ended.count} of ${ids.length} deposits ended, ${ended.units} of ${units} units`)
      const { destination_asset: asset, ...rule } = RULES[way]
      if (!('destination' in rule)) kept.set(asset, (kept.get(asset) ?? 0n) + units)
      else if (new Set(references).size !== ids.length || (await countSettled(db, references)) !== ids.length)
        throw new Error(`${way}: ${references.length} payments were made for ${ids.length} deposits`)
    }
    const violations = [...(await moneyViolations(db))]
    for (const { asset, available, others } of await readBalances(db)) {
      if (BigInt(available) !== (kept.get(asset) ?? 0n) || others !== '0')
        violations.push(`${asset}: ${available} available, ${others} elsewhere, ${kept.get(asset)} expected`)
    }
    if (violations.length > 0) throw new Error(violations.join('\n'))
  }

  #newReport(way: Way): { readonly report: object; readonly units: bigint } {
    const places = this.#places.get(way) as readonly Place[]
    const { address, memo_id } = places[Math.floor(Math.random() * places.length)] as Place
    const { source_asset: asset, destination_asset, source } = RULES[way]
    const cents = way === ONE_AMOUNT ? ONE_AMOUNT_CENTS : randomCents()
    const where =
      'crypto' in source
        ? { crypto: { ...source.crypto, address, tx_hash: `0x${randomBytes(32).toString('hex')}`, tx_index: 0 } }
        : { fiat: { network: source.fiat.network, memo_id, bank_reference: randomUUID(), sender: 'Ann Example' } }
    const amount = `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`
    const report = { source: 'bench', external_id: randomUUID(), asset, amount, occurred_at: new Date().toISOString() }
    return { report: { ...report, ...where }, units: UNITS_OF[destination_asset](cents) }
  }
}

/** Approves an account and the destination of its payments. */
async function approve({ operator }: Program, customer: Api, accountId: string): Promise<void> {
  await operator.call('PATCH', `/accounts/${accountId}`, { summary_status: 'APPROVED' })
  const { address, network: crypto_network } = PAYEE.crypto
  const body = { ref_id: 'payee', nickname: 'payee', crypto_network, address }
  const { id } = await customer.call<{ id: string }>('POST', '/v2/transfer/crypto-destination-addresses', body)
  await operator.call('POST', `/destinations/${id}/approve`, {})
}

function randomCents(): bigint {
  return BigInt(CENTS.min + Math.floor(Math.random() * (CENTS.max - CENTS.min)))
}

/** How many of these deposits have ended, and the units paid by their orchestrations. */
async function readEnded(db: Db, ids: readonly string[]): Promise<{ readonly count: number; readonly units: bigint }> {
  const { rows } = await sql<{ count: number; units: string }>`
    select count(*)::int as count, coalesce(sum(destination_amount), 0)::text as units
    from deposits join orchestrations on orchestrations.id = orchestration_id
    where deposits.id = any(${ids}::uuid[]) and deposits.status = 'COMPLETED' and deposits.secondary_status is null
      and orchestrations.status = 'COMPLETED'
  `.execute(db.tables())
  const { count, units } = rows[0] as { count: number; units: string }
  return { count, units: BigInt(units) }
}

async function countSettled(db: Db, references: readonly string[]): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from deliveries where status = 'SETTLED' and reference = any(${references}::text[])
  `.execute(db.tables())
  return rows[0]?.count ?? 0
}

async function readBalances(db: Db) {
  const { rows } = await sql<{ asset: string; available: string; others: string }>`
    select asset, sum(available)::text as available, sum(in_transit + held + receivable)::text as others
    from balances group by asset
  `.execute(db.tables())
  return rows
}

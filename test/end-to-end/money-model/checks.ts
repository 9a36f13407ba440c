/**
 * Compares the service with the independent model: balances, desk, fees, transfers, statements, and what was acknowledged.
 * The rules of the store itself are in `money-oracles`.
 */
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ledgerDifferences } from '../../support/ledger.ts'
import { moneyViolations, unexplained } from '../../support/money-oracles.ts'
import { ASSETS, balanceLine, Expected, groupedBy } from './expected.ts'
import type { Json } from './nodes.ts'
import { toText, toUnits } from './units.ts'
import type { Payment, World } from './world.ts'

export interface Findings {
  /** What is wrong; empty when nothing is. */
  readonly violations: readonly string[]
  /** What the accounts of the service must have. */
  readonly service: readonly string[]
}

/** Compares what the API shows. @param from of the statements */
export async function compare(world: World, from: string): Promise<Findings> {
  const [deposits, orchestrations, deliveries] = await Promise.all([
    world.list('/deposits'),
    world.list('/orchestrations'),
    world.list('/deliveries'),
  ])
  const expected = new Expected(world, orchestrations, deliveries)
  const violations = [
    ...world.violations,
    ...world.bank.violations,
    ...wrongDeposits(world, deposits, deliveries),
    ...wrongOrchestrations(world, orchestrations, deliveries),
    ...expected.violations,
    ...(await wrongBalances(world, expected, from)),
    ...(await wrongDesk(world, expected)),
    ...(await badFindings(world)),
  ]
  const service = [...expected.service].filter(([, units]) => units !== 0n).map(([key, units]) => `${key}: ${units}`)
  return { violations, service }
}

/** What is wrong in the store itself; empty when nothing is. @param service what the accounts of the service must have */
export async function findStoreViolations(service: readonly string[], db: Db): Promise<readonly string[]> {
  const tables = db.tables()
  const { rows } = await sql<{ account: string; asset: string; units: string }>`
    select account, asset, sum(amount)::text as units from (
      select credit_bucket as account, asset, amount from postings where credit_profile_id is null
      union all select debit_bucket, asset, -amount from postings where debit_profile_id is null
    ) as moved group by account, asset
  `.execute(tables)
  const found = rows
    .filter(({ units }) => units !== '0')
    .map(({ account, asset, units }) => `${account} ${asset}: ${units}`)
  return [
    ...(await moneyViolations(db)),
    ...(await unexplained(db)),
    ...(await ledgerDifferences(db)),
    ...difference(found, service, 'an account of the service is what the model says'),
  ]
}

/** Each payment is one deposit with the terms and the state that were acknowledged; there are no others. */
function wrongDeposits(world: World, deposits: readonly Json[], deliveries: readonly Json[]): readonly string[] {
  const returns = groupedBy(deliveries, ({ deposit_id }) => deposit_id ?? '')
  const found = deposits.map(({ id, status, secondary_status, asset, amount, profile_id }) =>
    [id, status === 'COMPLETED', secondary_status, asset, amount, profile_id].join(' '),
  )
  const wanted = world.payments.flatMap((payment) => {
    const { depositId, isCompleted, terms } = payment
    if (depositId === undefined) return []
    const { asset, units, profileId } = terms
    const secondary = secondaryOf(payment, returns.get(depositId) ?? [])
    return [[depositId, isCompleted, secondary, asset, toText(units, asset), profileId].join(' ')]
  })
  return difference(found, wanted, 'a deposit is what was acknowledged')
}

function secondaryOf({ isReversed, base }: Payment, deliveries: readonly Json[]): string | undefined {
  if (isReversed) return 'REVERSED'
  if (deliveries.some(({ status }) => status !== 'FAILED')) return 'RETURNED'
  return base ?? undefined
}

/** What was acknowledged is there, ended as it was acknowledged, and its money left once. */
function wrongOrchestrations(
  world: World,
  orchestrations: readonly Json[],
  deliveries: readonly Json[],
): readonly string[] {
  const { bank } = world
  const byId = new Map(orchestrations.map((each) => [each.id, each]))
  const refs = orchestrations.flatMap(({ ref_id }) => ref_id ?? [])
  const codes = orchestrations.filter(({ id }) => world.ended.has(id))
  const rootOf = (id: string): string => {
    const { retry_of } = byId.get(id) ?? {}
    return retry_of === undefined ? id : rootOf(retry_of)
  }
  const paid = deliveries.filter(({ id, orchestration_id }) => bank.paid.has(id) && orchestration_id !== undefined)
  const twice = [...groupedBy(paid, ({ orchestration_id }) => rootOf(orchestration_id)).values()].filter(
    (payouts) => payouts.length > 1 && !payouts.some(({ id }) => bank.deniedUntruly.has(id)),
  )
  return [
    ...difference(refs, [...world.requests.keys()], 'a request is one orchestration'),
    ...codes.flatMap(({ id, status, fail_reason }) =>
      fail_reason?.code === world.ended.get(id)
        ? []
        : [`${id} was ${world.ended.get(id)} and is ${status} ${fail_reason?.code}`],
    ),
    ...twice.map((payouts) => `money was paid twice: ${payouts.map(({ id }) => id).join(' ')}`),
  ]
}

/** Balances, the sum of the customer's transfers, and the statement since `from`. */
async function wrongBalances(world: World, expected: Expected, from: string): Promise<readonly string[]> {
  const to = new Date(Date.now() + 60_000).toISOString()
  const violations: string[] = []
  const wanted = new Map(expected.balances().map((line) => [line.split(':')[0], line]))
  for (const customer of world.customers) {
    const transfers = await world.list('/v2/transfer/transfers', async (path) => {
      const { status, body } = await world.asCustomer(customer, 'GET', path)
      if (status !== 200) throw new Error(`GET ${path} was answered ${status}: ${JSON.stringify(body)}`)
      return body
    })
    const sums = sumsOf(transfers)
    for (const profileId of customer.profiles) {
      const { items } = await world.read(`/profiles/${profileId}/balances`)
      const shown = new Map(items.map((item: Json) => [item.asset, item]))
      const { assets } = await world.read(`/profiles/${profileId}/statement?from=${from}&to=${to}`)
      const closings = new Map(assets.map(({ asset, closing }: Json) => [asset, closing.balance]))
      for (const asset of ASSETS) {
        const key = `${profileId} ${asset}`
        const { available, in_transit, held, receivable } = (shown.get(asset) ?? ZERO) as Json
        const found = balanceLine(key, [available, in_transit, held, receivable])
        const line = wanted.get(key) ?? balanceLine(key, ['0', '0', '0', '0'])
        const position = expected.profiles.get(key)
        if (found !== line) violations.push(`a balance is what the model says: ${line}; found: ${found}`)
        const net = toText(position?.net ?? 0n, asset)
        const transferred = toText((sums.get(key) ?? 0n) + (position?.unshown ?? 0n), asset)
        if (transferred !== net)
          violations.push(`transfers add up to the balance: ${key} ${net}; found: ${transferred}`)
        const closing = closings.get(asset) ?? net
        if (closing !== net) violations.push(`a statement closes with the balance: ${key} ${net}; found: ${closing}`)
      }
    }
  }
  return violations
}

const ZERO = { available: '0', in_transit: '0', held: '0', receivable: '0' }

/** By profile and asset: what was credited less what was debited. Of a payment that is under way, the fee was. */
function sumsOf(transfers: readonly Json[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const { profile_id, asset, fee, total, direction, status } of transfers) {
    if (status === 'FAILED' || (status === 'PENDING' && direction === 'CREDIT')) continue
    const key = `${profile_id} ${asset}`
    const units = toUnits(status === 'PENDING' ? fee : total, asset)
    sums.set(key, (sums.get(key) ?? 0n) + (direction === 'CREDIT' ? units : -units))
  }
  return sums
}

async function wrongDesk(world: World, { service }: Expected): Promise<readonly string[]> {
  const { items } = await world.read('/desk')
  return (items as readonly Json[]).flatMap(({ asset, position }) => {
    if (!ASSETS.includes(asset)) return []
    const wanted = toText(service.get(`desk ${asset}`) ?? 0n, asset)
    return position === wanted ? [] : [`the desk is what the model says: ${asset} ${wanted}; found: ${position}`]
  })
}

/** What `doctor` finds wrong; warnings are about the configuration of the test. */
async function badFindings(world: World): Promise<readonly string[]> {
  const body = await world.read('/doctor')
  const bad = (body.findings as readonly Json[]).filter(({ verdict }) => verdict === 'bad')
  return bad.map((finding) => `doctor: ${JSON.stringify(finding)}`)
}

/** Both lists hold the same, each as often. */
function difference(found: readonly string[], wanted: readonly string[], rule: string): readonly string[] {
  const counts = new Map<string, number>()
  for (const text of wanted) counts.set(text, (counts.get(text) ?? 0) + 1)
  for (const text of found) counts.set(text, (counts.get(text) ?? 0) - 1)
  return [...counts].flatMap(([text, count]) =>
    count === 0 ? [] : [`${rule}: ${count > 0 ? 'missing' : 'unexpected'}: ${text}`],
  )
}

/**
 * What happens in a simulated world, each with its weight: what customers, operators, sources and executors do, and what
 * the market does meanwhile. An action may find nothing to do. None decides what is right: oracles do.
 */

import { formatAmount } from '../../../../src/money/ledger/amounts.ts'
import { serviceBalance } from '../../../../src/money/ledger/checkpoints.ts'
import { convertBatch } from '../../../../src/money/orchestrations/convert.ts'
import { type Claim, returnWork } from '../../../../src/money/orchestrations/queue.ts'
import { transactionWithRetries } from '../../../../src/platform/store/retry.ts'
import { sql } from '../../../../src/platform/store/sql.ts'
import { releaseOf } from '../../../support/release.ts'
import { ETHEREUM_ADDRESS, RULES } from '../../../support/rules.ts'
import { DELIVERY_ACTIONS, execute } from './delivery-actions.ts'
import { amount, hex, mangled, type Payment, SOURCES } from './model.ts'
import { DESK_LIMITS } from './settings.ts'
import { claimAll, stall, work, workTogether } from './work-actions.ts'
import type { Action, Party, World } from './world.ts'

const DECIMALS: Readonly<Record<string, number>> = { BTC: 8, USD: 2, USDC: 6, USDG: 6, USDP: 6 }
const UNITS_MAX: Readonly<Record<string, number>> = { BTC: 2 }
const OUTSIDE = { crypto: { address: ETHEREUM_ADDRESS, network: 'ETHEREUM' } }
const BANK = { fiat: { fiat_account_id: 'account 1' } }

interface Template {
  readonly source_asset: string
  readonly destination_asset: string
  readonly source: (party: Party) => object
  readonly destination?: object
}

const crypto = (network: string) => () => ({ crypto: { network } })

/** At par and by the market, to profiles and out of the service, by every kind of source. */
const TEMPLATES: readonly Template[] = [
  { source_asset: 'USDC', destination_asset: 'USDG', source: crypto('ETHEREUM') },
  { source_asset: 'USDC', destination_asset: 'USDC', source: crypto('ETHEREUM'), destination: OUTSIDE },
  { source_asset: 'USDC', destination_asset: 'USD', source: crypto('ETHEREUM'), destination: BANK },
  { source_asset: 'BTC', destination_asset: 'USD', source: crypto('BITCOIN') },
  { source_asset: 'BTC', destination_asset: 'USD', source: crypto('BITCOIN'), destination: BANK },
  {
    source_asset: 'USD',
    destination_asset: 'USDC',
    source: () => ({ fiat: { network: 'WIRE', account_type: 'ABA' } }),
    destination: OUTSIDE,
  },
  {
    source_asset: 'USDP',
    destination_asset: 'USDG',
    source: ({ account }) => ({ profile: { profile_id: account.profileId } }),
    destination: OUTSIDE,
  },
  // The desk of USDP has no limit: it is converted as it is credited.
  { source_asset: 'USDC', destination_asset: 'USDP', source: crypto('ETHEREUM') },
]

let refs = 0

/** One rule of each kind, so that a world begins with something to do, and one that every party has: they meet there. */
export async function createFirstRules(world: World): Promise<void> {
  const [first, ...others] = TEMPLATES as readonly [Template, ...Template[]]
  for (const party of world.parties) await createRule(world, first, party)
  for (const template of others) await createRule(world, template)
}

async function createRule(world: World, template: Template, party = world.random.pick(world.parties)): Promise<void> {
  const { source_asset, destination_asset, source, destination } = template
  const isElsewhere = destination === undefined && world.random.chance(0.3)
  const others = world.parties.filter(({ customer }) => customer === party.customer)
  const target = isElsewhere ? { profile: { profile_id: world.random.pick(others).account.profileId } } : destination
  const answer = await party.customer.call('POST', RULES, {
    ref_id: `rule ${++refs}`,
    profile_id: party.account.profileId,
    source_asset,
    destination_asset,
    source: source(party),
    ...(target === undefined ? {} : { destination: target }),
  })
  if (answer.status !== 200) return
  const { rule } = answer.body
  world.rules.push({ id: rule.id, party, asset: source_asset, place: placeOf(rule.source) })
}

function placeOf(source: Readonly<Record<string, Readonly<Record<string, string>>>>): Readonly<Record<string, string>> {
  if (source.crypto !== undefined) return { network: source.crypto.network!, address: source.crypto.address! }
  if (source.fiat !== undefined) return { network: source.fiat.network!, memo_id: source.fiat.memo_id! }
  return {}
}

/** Where a payment to a rule, or to no customer, arrives. */
function newPayment(world: World): Payment {
  const { random } = world
  const rule = random.pick(world.rules)
  const asset = random.chance(0.95) ? rule.asset : random.pick(['USDC', 'USDG'])
  const value = amount(random, UNITS_MAX[asset] ?? 1_000, DECIMALS[asset] as number)
  if ('memo_id' in rule.place) {
    const memo = rule.place.memo_id as string
    const remittance = random.chance(0.9) ? mangled(random, memo) : 'a text that no memo has'
    const named = random.chance(0.5) ? { memo_id: memo } : { remittance }
    const key = hex(random, 12)
    const place = { fiat: { network: 'WIRE', bank_reference: key, ...named } }
    return { asset, amount: value, place, key, isCredited: false }
  }
  const addressed = world.rules.filter(({ place }) => 'address' in place)
  const { network, address } = ('address' in rule.place ? rule : random.pick(addressed)).place
  const to = random.chance(0.95) || network !== 'ETHEREUM' ? address : ETHEREUM_ADDRESS
  const tx_hash = network === 'ETHEREUM' ? `0x${hex(random, 64)}` : hex(random, 64)
  const tx_index = random.integer(3)
  const place = { crypto: { network, address: to, tx_hash, tx_index } }
  return { asset, amount: value, place, key: `${tx_hash} ${tx_index}`, isCredited: false }
}

function reportOf(world: World, payment: Payment, status: string): Readonly<Record<string, unknown>> {
  const { asset, amount: value, place } = payment
  const source = world.random.pick(SOURCES)
  return {
    source,
    external_id: `${source} ${world.payments.indexOf(payment)}`,
    asset,
    amount: value,
    ...place,
    status,
    occurred_at: new Date(world.milliseconds).toISOString(),
  }
}

/** The report itself, and what the world notes of its answer. */
async function report(world: World, payment: Payment, status: string): Promise<void> {
  const body = reportOf(world, payment, status)
  const answer = await world.operator('POST', '/deposits', body)
  if (answer.status === 200 && answer.body.status === 'COMPLETED') payment.isCredited = true
}

const reportNew: Action = async (world) => {
  const payment = newPayment(world)
  world.payments.push(payment)
  const reports = 1 + world.random.integer(3)
  const statuses = Array.from({ length: reports }, () => world.random.pick(['PENDING', 'COMPLETED', 'COMPLETED']))
  await Promise.all(statuses.map((status) => report(world, payment, status)))
}

const reportAgain: Action = async (world) => {
  if (world.payments.length === 0) return
  const status = world.random.pick(['PENDING', 'COMPLETED', 'COMPLETED', 'COMPLETED', 'FAILED'])
  await report(world, world.random.pick(world.payments), status)
}

const reportMany: Action = async (world) => {
  const payments = Array.from({ length: 8 }, () => newPayment(world))
  world.payments.push(...payments)
  const deposits = payments.flatMap((payment) => [reportOf(world, payment, 'COMPLETED')])
  await world.operator('POST', '/deposits', { deposits: [...deposits, deposits[0], { nonsense: true }] })
}

/** The same payment with another amount: a conflict, and nothing credited. */
const reportDifferent: Action = async (world) => {
  const known = world.payments.filter(({ isCredited }) => isCredited)
  if (known.length === 0) return
  const payment = world.random.pick(known)
  const body = { ...reportOf(world, payment, 'COMPLETED'), amount: `${Number.parseInt(payment.amount, 10) + 7}` }
  const answer = await world.operator('POST', '/deposits', body)
  if (answer.status === 200)
    throw new Error(`a report of ${payment.amount} with another amount was taken: ${answer.text}`)
}

const changeDeposit: Action = async (world) => {
  const { random } = world
  const id = await world.pickId(`select id from deposits where created_at > '2026-01-01'`)
  if (id === undefined) return
  const action = random.pick(['hold', 'hold', 'release', 'release', 'reject', 'reverse', 'return', 'assign'])
  const bodies: Readonly<Record<string, object>> = {
    assign: { profile_id: random.pick(world.parties).account.profileId, run_rules: random.chance(0.7) },
    hold: { reason: 'to be checked' },
    reject: { reason: 'not wanted' },
    reverse: { reason: 'recalled' },
    return: { reason: 'not ours', ...(random.chance(0.5) ? OUTSIDE : BANK) },
  }
  const body = action === 'release' ? await releaseFor(world, `/deposits/${id}`) : bodies[action]
  await world.operator('POST', `/deposits/${id}/${action}`, body ?? {})
}

/** What opens the record's closed gates. */
async function releaseFor(world: World, path: string): Promise<object> {
  return releaseOf((await world.operator('GET', path)).body ?? {})
}

/** Takes back what has been spent already, when there is such a deposit. */
const reverseSpent: Action = async (world) => {
  const id = await world.pickId(
    `select deposits.id from deposits join orchestrations on deposit_id = deposits.id where orchestrations.status = 'COMPLETED'`,
  )
  if (id !== undefined) await world.operator('POST', `/deposits/${id}/reverse`, { reason: 'recalled' })
}

const changeRules: Action = async (world) => {
  if (world.rules.length < 6 || world.random.chance(0.6)) return await createRule(world, world.random.pick(TEMPLATES))
  const rule = world.random.pick(world.rules)
  await world.call(() => rule.party.customer.call('DELETE', `${RULES}/${rule.id}`))
}

/** From a profile to the address of its own rule: the service has to see the loop. */
const tryLoop: Action = async (world) => {
  const rule = world.random.pick(world.rules.filter(({ place }) => place.network === 'ETHEREUM'))
  const answer = await rule.party.customer.call('POST', RULES, {
    ref_id: `rule ${++refs}`,
    profile_id: rule.party.account.profileId,
    source_asset: 'USDC',
    destination_asset: 'USDC',
    source: { crypto: { network: 'ETHEREUM' } },
    destination: { crypto: rule.place },
  })
  if (answer.status === 200) throw new Error('a rule that pays to an address of the service was made')
}

const pause: Action = async (world) => {
  const { random } = world
  const paused = {
    assets: random.chance(0.15) ? [random.pick(['BTC', 'USDC'])] : [],
    networks: random.chance(0.15) ? ['ETHEREUM'] : [],
    pairs: random.chance(0.15) ? ['USDC/USDG'] : [],
    deliveries: random.chance(0.15),
  }
  await world.operator('PATCH', '/controls', { paused })
}

const review: Action = async (world) => {
  const { account } = world.random.pick(world.parties)
  const admin_disabled = world.random.chance(0.25)
  await world.operator('PATCH', `/accounts/${account.accountId}`, { admin_disabled })
}

const moveMarket: Action = async (world) => {
  world.peg = world.random.pick([1, 1, 0.999, 0.97])
  world.isBookLive = world.random.chance(0.8)
}

const passTime: Action = async (world) => {
  const seconds = world.random.pick([1, 5, 20, 61, 3_600])
  await world.advance(seconds * 1_000)
}

/** The customer's way out, of what some profile has. */
const moveOut: Action = async (world) => {
  const { random } = world
  const { customer, account } = random.pick(world.parties)
  const [source_asset, destination_asset, destination] = random.pick([
    ['USDG', 'USDG', OUTSIDE],
    ['USD', 'USD', BANK],
    ['USDC', 'USD', BANK],
    ['USDC', 'USDG', { profile: { profile_id: account.profileId } }],
    ['BTC', 'USD', { profile: { profile_id: account.profileId } }],
  ] as const)
  const body = {
    ref_id: `out ${++refs}`,
    source: { profile: { profile_id: account.profileId } },
    source_asset,
    destination_asset,
    source_amount: amount(random, UNITS_MAX[source_asset] ?? 500, DECIMALS[source_asset] as number),
    destination,
  }
  // The same request twice at once, as a client does that has lost its patience.
  const calls = random.chance(0.2) ? 2 : 1
  await Promise.all(
    Array.from({ length: calls }, () =>
      world.call(() => customer.call('POST', '/v2/orchestration/orchestrations', body)),
    ),
  )
}

const operateOrchestration: Action = async (world) => {
  const verb = world.random.pick(['retry', 'release', 'reject'])
  const state = verb === 'retry' ? `status = 'FAILED'` : `waiting_for = 'HOLD'`
  const id = await world.pickId(`select id from orchestrations where ${state}`)
  if (id === undefined) return
  const bodies: Readonly<Record<string, object>> = { reject: { reason: 'not wanted' }, retry: {} }
  const body = bodies[verb] ?? (await releaseFor(world, `/orchestrations/${id}`))
  await world.operator('POST', `/orchestrations/${id}/${verb}`, body)
}

/** The customer changes its mind, also about what is being paid. */
const cancel: Action = async (world) => {
  const { customer } = world.random.pick(world.parties)
  const id = await world.pickId(
    `select id from orchestrations where status = 'PROCESSING' and customer_id = '${customer.customerId}'`,
  )
  if (id === undefined) return
  await world.call(() => customer.call('POST', `/v2/orchestration/orchestrations/${id}/cancel`, {}))
}

/** A row of a batch that no step can deal with: it must not keep back the others. */
const poison: Action = async (world) => {
  const id = await world.pickId(`select id from orchestrations where status = 'PROCESSING' and step = 'convert'`)
  if (id === undefined) return
  await sql`update orchestrations set destination = '{"profile": {"profile_id": "none"}}' where id = ${id}
    and status = 'PROCESSING' and step = 'convert' and converted_amount is null`.execute(world.db.tables())
}

/** A statement that goes past the ledger: the store itself has to refuse it. */
const stray: Action = async (world) => {
  const statements = [
    sql`update balances set available = available - 1000000000000000`,
    sql`update balances set in_transit = in_transit - 1000000000000000`,
    sql`update postings set amount = amount + 1`,
    sql`delete from postings`,
    sql`insert into deposits select (jsonb_populate_record(deposits, jsonb_build_object('id', gen_random_uuid()))).*
      from deposits where tx_hash is not null limit 1`,
  ]
  for (const statement of statements) await statement.execute(world.db.tables()).catch(() => undefined)
}

/** Two workers convert at the same time what the desk can pay for one of them only. */
const rushOnDesk: Action = async (world) => {
  const [rule] = world.rules
  if (rule === undefined) return
  world.peg = 1
  world.isBookLive = true
  const position = await world.db.transaction((transaction) => serviceBalance(transaction, 'desk', 'USDG'))
  const units = ((position + (DESK_LIMITS.USDG ?? 0n)) * 6n) / 10n
  if (units < 1_000n) return
  const payments = [1, 2].map((): Payment => {
    const tx_hash = `0x${hex(world.random, 64)}`
    const place = { crypto: { ...rule.place, tx_hash, tx_index: 0 } }
    return { asset: rule.asset, amount: formatAmount(units, 6), place, key: `${tx_hash} 0`, isCredited: false }
  })
  world.payments.push(...payments)
  for (const payment of payments) await report(world, payment, 'COMPLETED')
  const claims = await claimAll(world)
  const { rows } = await sql<{ id: string }>`
    select orchestration_id as id from deposits where tx_hash || ' 0' = any(${payments.map(({ key }) => key)}::text[])
  `.execute(world.db.tables())
  const wanted = new Set(rows.map(({ id }) => id))
  const isWanted = ({ orchestrationId }: Claim) => wanted.has(orchestrationId)
  const convert = (claim: Claim) =>
    transactionWithRetries(world.db, (transaction) => convertBatch(transaction, [claim], world.settings()))
  await Promise.allSettled(claims.filter(isWanted).map(convert))
  await returnWork(world.db, claims)
}

/** All actions at once, with the same few balances. */
const crowd: Action = async (world) => {
  await reportMany(world)
  const steps = world.workers.map((worker) => worker.step())
  await Promise.all([...steps, reportMany(world), reverseSpent(world), moveOut(world), moveOut(world), execute(world)])
}

export const ACTIONS: readonly (readonly [weight: number, action: Action])[] = [
  [14, reportNew],
  [4, reportAgain],
  [2, reportMany],
  [1, reportDifferent],
  [5, changeDeposit],
  [2, reverseSpent],
  [2, changeRules],
  [1, tryLoop],
  [1, pause],
  [1, review],
  [2, moveMarket],
  [5, passTime],
  [4, moveOut],
  [2, operateOrchestration],
  [1, cancel],
  [1, poison],
  [1, stray],
  [10, work],
  [6, workTogether],
  [2, stall],
  [2, rushOnDesk],
  [6, crowd],
  ...DELIVERY_ACTIONS,
]

const WEIGHT = ACTIONS.reduce((sum, [weight]) => sum + weight, 0)

export function pickAction(world: World): Action {
  let left = world.random.integer(WEIGHT)
  for (const [weight, action] of ACTIONS) {
    left -= weight
    if (left < 0) return action
  }
  throw new Error('weights do not add up')
}

/** Everything is as it should be, and stays so: what can be done gets done. */
export async function calm(world: World): Promise<void> {
  await world.repeatUnanswered()
  world.peg = 1
  world.isBookLive = true
  await world.operator('PATCH', '/controls', { paused: { assets: [], networks: [], pairs: [], deliveries: false } })
  for (const { account } of world.parties) {
    await world.operator('PATCH', `/accounts/${account.accountId}`, { admin_disabled: false })
  }
  // Whoever broke the rows repairs them.
  await sql`
    update orchestrations set destination = jsonb_build_object('profile', jsonb_build_object('profile_id', profile_id))
    where status = 'PROCESSING' and destination -> 'profile' ->> 'profile_id' = 'none'
  `.execute(world.db.tables())
  const { rows } = await sql<{ id: string }>`
    select id from orchestrations where waiting_for = 'HOLD' order by id
  `.execute(world.db.tables())
  for (const { id } of rows) {
    const path = `/orchestrations/${id}`
    await world.operator('POST', `${path}/release`, await releaseFor(world, path))
  }
  await world.repeatUnanswered()
}

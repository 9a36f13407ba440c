/**
 * Stolen client secrets. With the defaults of `serve`, thieves call every operation in random orders, several at a time.
 * Time passes up to 24 hours, deposits arrive, workers convert and executors claim: nothing leaves to a thief's
 * destination, and each registration has its notice.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OPERATIONS, type OperationId } from '../../../src/contract/operations.ts'
import { servedScopes } from '../../../src/contract/scopes.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { transactionWithRetries } from '../../../src/platform/store/retry.ts'
import { type RawBuilder, sql } from '../../../src/platform/store/sql.ts'
import { newStoreDefaults } from '../../../src/service/config/store-defaults.ts'
import { gateSettings } from '../../../src/service/parts/money/settings.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { FIAT_ACCOUNTS, fiatBody, newRef, registerAddress } from '../../support/destinations.ts'
import { credit } from '../../support/ledger.ts'
import { note } from '../../support/note.ts'
import { convertSettings } from '../../support/orchestrations.ts'
import { seedOf } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { type RestAnswer, type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount, RULES, ruleBody, type TestAccount } from '../../support/rules.ts'

/** The customer's own wallet, whose rule continues. */
const OWN = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const HOURS_MAX = 24
/** The time that a thief's run itself takes. */
const REAL_HOURS_MAX = 1
const isLong = process.env.TIDEGATE_LONG === '1'
/** Orders by one thief, who keeps the records that earlier ones made. */
const ORDERS = isLong ? 100 : 10
/** For each of the two modes. */
const THIEVES = isLong ? Number(process.env.TIDEGATE_ORDERS ?? 2_000) / ORDERS / 2 : 2
/** Thieves at the same time. */
const LANES = isLong ? 6 : 2
/** Time passes after an order. A thief's 24 hours are over before its last orders. */
const HOURS_PER_ORDER_MAX = (HOURS_MAX * 2.5) / ORDERS
const seed = seedOf(20_260_101)

/** One thief: the customer whose secret it has, and whatever the answers have shown. */
interface Thief {
  readonly customer: RestCustomer
  readonly account: TestAccount
  readonly own: { readonly address: string; readonly fiat: string }
  readonly random: Random
  readonly ids: Map<string, string[]>
  /** Deposit addresses. */
  readonly addresses: string[]
  elapsedHours: number
}

const DEFAULTS = Object.fromEntries(
  newStoreDefaults(false).map(({ key, value }) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
)

let node: RestNode
let payments = 0

type Place = { readonly crypto: { readonly network: string; readonly address: string; readonly memo?: string } } | Fiat
interface Fiat {
  readonly fiat: { readonly fiat_account_id: string; readonly memo?: string }
}

const nameOf = (place: Place) =>
  'crypto' in place
    ? [place.crypto.network, place.crypto.address, place.crypto.memo].join()
    : [place.fiat.fiat_account_id, place.fiat.memo].join()

/** The names of the customers' own destinations. */
const registered = new Set([nameOf({ crypto: { address: OWN, network: 'ETHEREUM' } })])
beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true, flags: { ...DEFAULTS, 'rest.sandbox': 'false' } })
})
afterAll(() => node?.close())

/** A customer with money, an approved account, and a destination and a fiat account of its own, each with a rule. */
async function rob(random: Random): Promise<Thief> {
  const customer = await node.newCustomer(servedScopes(false))
  const account = await newAccount(customer)
  await node.operator('PATCH', `/accounts/${account.accountId}`, { summary_status: 'APPROVED' })
  for (const [asset, amount] of [
    ['USDC', 10n ** 12n],
    ['USD', 10n ** 8n],
  ] as const) {
    await credit(node.db, account.profileId, asset, amount)
  }
  const { body: wallet } = await registerAddress(customer, { address: OWN })
  const { body: bank } = await customer.call('POST', FIAT_ACCOUNTS, fiatBody())
  for (const { id } of [wallet, bank]) await node.operator('POST', `/destinations/${id}/approve`, {})
  await elapse(customer, HOURS_MAX)
  const destination = { crypto: { address: OWN, network: 'ETHEREUM' } }
  const answer = await customer.call(
    'POST',
    RULES,
    ruleBody(account.profileId, { destination_asset: 'USDC', destination }),
  )
  expect(answer.status, answer.text).toBe(200)
  const own = { address: OWN, fiat: bank.id as string }
  registered.add(nameOf({ fiat: { fiat_account_id: own.fiat } }))
  const ids = new Map([
    ['createRule', [answer.body.rule.id]],
    ['createCryptoDestinationAddress', [wallet.id]],
    ['createFiatAccount', [bank.id]],
  ])
  const addresses = [answer.body.rule.source.crypto.address]
  const thief = { customer, account, own, random, ids, addresses, elapsedHours: 0 }
  // The customer's own rule pays its wallet.
  await proceed(thief)
  return thief
}

const elapse = ({ customerId }: RestCustomer, hours: number) =>
  sql`
    update destinations set usable_at = usable_at - ${hours} * interval '1 hour' where customer_id = ${customerId}
  `.execute(node.db.tables())

/** A place that the customer did not have. */
function newPlace({ random, ids, own }: Thief): Place {
  const address = `0x${String(random.integer(30) + 10).repeat(20)}`
  return random.pick<Place>([
    { crypto: { address, network: random.pick(['ETHEREUM', 'BASE', 'POLYGON']) } },
    { crypto: { address: own.address, network: 'BASE' } },
    {
      fiat: { fiat_account_id: random.pick([...(ids.get('createFiatAccount') ?? []), 'anywhere', own.fiat.slice(1)]) },
    },
    { fiat: { fiat_account_id: own.fiat, memo: 'another beneficiary' } },
  ])
}

const profileOf = ({ account }: Thief) => ({ profile: { profile_id: account.profileId } })

function assetFor(place: object): string {
  return 'fiat' in place ? 'USD' : 'USDC'
}

function newRule(thief: Thief): object {
  const destination = newPlace(thief)
  const source = thief.random.pick([{ crypto: { network: 'ETHEREUM' } }, profileOf(thief)])
  return ruleBody(thief.account.profileId, { source, destination_asset: assetFor(destination), destination })
}

function newMovement(thief: Thief): object {
  const destination = newPlace(thief)
  const source_asset = thief.random.pick(['USDC', 'USD'])
  const assets = { source_asset, source_amount: '1', destination_asset: assetFor(destination) }
  return { ref_id: newRef(), source: profileOf(thief), ...assets, destination }
}

/** The bodies of the operations that have one. */
const BODIES: Partial<Readonly<Record<OperationId, (thief: Thief) => object>>> = {
  createAccount: () => ({ account: { identity_id: 'thief', ref_id: newRef() }, create_profile: true }),
  updateAccount: ({ account }) => ({ id: account.accountId, description: 'thief' }),
  createDepositAddress: ({ account }) => ({ profile_id: account.profileId, crypto_network: 'ETHEREUM' }),
  createFiatDepositInstructions: ({ account }) => ({ profile_id: account.profileId, fiat_network: 'CUBIX' }),
  createCryptoDestinationAddress: (thief) => {
    const place = newPlace(thief)
    const crypto = 'crypto' in place ? place.crypto : undefined
    return { ref_id: newRef(), crypto_network: crypto?.network ?? 'BNB', address: crypto?.address ?? OWN }
  },
  createFiatAccount: () => fiatBody({ memo: 'thief' }),
  createRule: newRule,
  createOrchestration: newMovement,
  cancelOrchestration: () => ({}),
}

/** Calls an operation, with an id that it or its creation has returned. */
async function call(thief: Thief, id: OperationId): Promise<void> {
  const { method, path } = OPERATIONS[id]
  const noun = id.replace(/^(get|delete|cancel|list)/, 'create').replace(/(es|s)$/, '')
  const known = [...(thief.ids.get(noun) ?? []), ...(thief.ids.get(id) ?? []), thief.account.accountId]
  const target = path.replace('{id}', path.includes('profiles') ? thief.account.profileId : thief.random.pick(known))
  const answer = await thief.customer.call(method, target, BODIES[id]?.(thief))
  expect(answer.status, `${id}: ${answer.text}`).toBeLessThan(500)
  const record = answer.body?.rule ?? answer.body
  if (id.startsWith('create') && typeof record?.id === 'string') {
    thief.ids.set(id, [...(thief.ids.get(id) ?? []), record.id].slice(-20))
  }
  const address = id === 'createDepositAddress' ? record?.address : record?.source?.crypto?.address
  if (id.startsWith('create') && typeof address === 'string') thief.addresses.push(address)
}

/** The world continues: time passes, a payment arrives at one of the thief's addresses, workers convert, executors claim. */
async function proceed(thief: Thief): Promise<void> {
  const { customer, random } = thief
  const hours = Math.min(random.next() * HOURS_PER_ORDER_MAX, HOURS_MAX - REAL_HOURS_MAX - thief.elapsedHours)
  thief.elapsedHours += hours
  await elapse(customer, hours)
  await payIn(thief)
  await work(sql`customer_id = ${customer.customerId}`)
}

/** Workers convert, and executors claim what is due. */
async function work(areDue: RawBuilder<boolean>): Promise<void> {
  const settings = convertSettings({ gates: gateSettings(node.live.config) })
  const claims = await claimWork(node.db, { kinds: ['convert'], limit: 100, claimSeconds: 60 }, ALL_DUE)
  await transactionWithRetries(node.db, (transaction) => convertBatch(transaction, claims, settings))
  await sql`
    update deliveries set next_attempt_at = clock_timestamp()
    where next_attempt_at is not null and status = 'WAITING' and ${areDue}
  `.execute(node.db.tables())
  await claimAll()
}

async function payIn({ addresses, random }: Thief): Promise<void> {
  const address = random.pick(addresses)
  const digits = String(++payments)
  const crypto = { network: 'ETHEREUM', address, tx_hash: `0x${digits.padStart(64, '0')}`, tx_index: 0 }
  const report = { source: 'custody', external_id: digits, asset: 'USDC', amount: '5', crypto }
  const answer: RestAnswer = await node.operator('POST', '/deposits', {
    ...report,
    occurred_at: new Date().toISOString(),
  })
  expect(answer.status, answer.text).toBe(200)
}

/** Executors claim whatever is due, and it goes only to the customers' own destinations. */
async function claimAll(): Promise<void> {
  const request = { executor: 'treasury', limit: 100, lease_seconds: 60 }
  const { status, text, body } = await node.operator('POST', '/deliveries/claim', request)
  expect(status, text).toBe(200)
  for (const { destination } of body.items) expect(registered).toContain(nameOf(destination))
}

/** Calls every operation in random orders. */
async function tryOrders(random: Random): Promise<void> {
  const operations = (Object.keys(OPERATIONS) as OperationId[]).filter((id) => id !== 'createSandboxDeposit')
  const thief = await rob(random)
  for (let order = 0; order < ORDERS; order++) {
    const chosen = operations.filter((id) => OPERATIONS[id].method !== 'GET' || random.chance(0.1))
    for (const id of shuffled(chosen, random)) await call(thief, id)
    await proceed(thief)
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): readonly Item[] {
  return items
    .map((item) => [random.next(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item)
}

describe('a stolen client secret', () => {
  it('a new store of serve requires registered, approved destinations that have cooled for a day', () => {
    const defaults = Object.fromEntries(newStoreDefaults(false).map(({ key, value }) => [key, value]))
    expect(defaults).toMatchObject({
      'destinations.required': true,
      'destinations.approval': 'required',
      'destinations.cooling_hours': 24,
    })
  })

  it.each(['required', 'auto'] as const)(
    'with destinations.approval %s, every operation in random orders moves nothing to a new destination in 24 hours',
    async (approval) => {
      node.live.config = { ...node.live.config, 'destinations.approval': approval }
      let next = 0
      const lane = async () => {
        for (let thief = next++; thief < THIEVES; thief = next++) await tryOrders(new Random(seed + thief))
      }
      await Promise.all(Array.from({ length: LANES }, lane))
      await work(sql`true`)
      const { rows } = await sql<{ destination: Place; attempt: number }>`
        select destination, attempt from deliveries
      `.execute(node.db.tables())
      const paid = rows.filter(({ attempt }) => attempt > 0)
      const names = new Set(paid.map(({ destination }) => nameOf(destination)))
      expect({ seed, unknown: [...names].filter((name) => !registered.has(name)) }).toEqual({ seed, unknown: [] })
      expect(paid.length).toBeGreaterThan(0)
      const unnoticed = await sql`
        select from destinations where not exists (
          select from notices where subject = destinations.id::text and type = 'destination.created'
        )
      `.execute(node.db.tables())
      expect(unnoticed.rows).toEqual([])
      note(`${approval}: ${THIEVES * ORDERS} orders, ${paid.length} payments of ${rows.length} left, all to own places`)
    },
  )
})

/**
 * A customer that requests another's records: every operation, with the other customer's ids in each place that takes
 * one. The response must equal the one for an unknown id, byte by byte.
 */
import { createHash, randomUUID } from 'node:crypto'
import { OPERATIONS, type OperationId } from '../../../src/contract/operations.ts'
import { accountPublicKey } from '../../support/address-keys.ts'
import { type Attack, Findings } from './attack.ts'
import { type Answer, bearer, json, sendUntilServed } from './requests.ts'
import type { Customer, Stage } from './stage.ts'
import { ENDPOINTS, EVENT_CASES } from './tenant-events.ts'

const ACCOUNTS = '/v2/identity/accounts'
const ADDRESSES = '/v2/transfer/deposit-addresses'
const MEMOS = '/v2/transfer/fiat-deposit-instructions'
const TO_ADDRESSES = '/v2/transfer/crypto-destination-addresses'
const FIAT_ACCOUNTS = '/v2/transfer/fiat-accounts'
const RULES = '/v2/orchestration/rules'
const PROFILES = '/v2/profiles'
const TRANSFERS = '/v2/transfer/transfers'
const ORCHESTRATIONS = '/v2/orchestration/orchestrations'

/** One customer's records, and what a request needs of the attacker's own. */
interface Records {
  readonly account: string
  readonly profile: string
  readonly address: string
  readonly memo: string
  readonly toAddress: string
  readonly fiatAccount: string
  readonly rule: string
  readonly transfer: string
  readonly orchestration: string
  readonly endpoint: string
  readonly event: string
  /** The same value in `identity_id` and `ref_id` of all of them. */
  readonly word: string
  readonly cursors: Readonly<Record<'accounts' | 'profiles' | 'addresses' | 'rules', string>>
}

interface TenantCase {
  readonly operation: OperationId
  readonly name: string
  /** Path and body of the attacker's request (`own`), with ids from `other`. */
  ask(other: Records, own: Records): readonly [path: string, body?: unknown]
}

function list(
  operation: OperationId,
  path: string,
  filters: Readonly<Record<string, (other: Records) => string>>,
): TenantCase[] {
  return Object.entries(filters).map(([filter, value]) => ({
    operation,
    name: `${operation} by ${filter}`,
    ask: (other) => [`${path}?${filter}=${encodeURIComponent(value(other))}`],
  }))
}

function rule(profile: string, changes: Readonly<Record<string, unknown>> = {}) {
  const source = { crypto: { network: 'ETHEREUM' } }
  return { ref_id: 'attack', profile_id: profile, source_asset: 'USDC', destination_asset: 'USD', source, ...changes }
}

/** The records that both customers have. */
function move(profile: string, changes: Readonly<Record<string, unknown>> = {}) {
  const source = profileOf(profile)
  const assets = { source_asset: 'USDC', destination_asset: 'USD', source_amount: '1' }
  return { ref_id: 'attack', source, ...assets, destination: source, ...changes }
}

const profileOf = (profile: string) => ({ profile: { profile_id: profile } })

const TENANT_CASES: readonly TenantCase[] = [
  { operation: 'getAccount', name: 'getAccount in the path', ask: ({ account }) => [`${ACCOUNTS}/${account}`] },
  {
    operation: 'getAccount',
    name: 'getAccount in capitals',
    ask: ({ account }) => [`${ACCOUNTS}/${account.toUpperCase()}`],
  },
  {
    operation: 'updateAccount',
    name: 'updateAccount in the body',
    ask: ({ account }) => [ACCOUNTS, { id: account, description: 'of the attacker' }],
  },
  {
    operation: 'updateAccount',
    name: 'updateAccount to disable',
    ask: ({ account }) => [ACCOUNTS, { id: account, set_user_disabled: true }],
  },
  {
    operation: 'createAccount',
    name: 'createAccount with the ref_id of another',
    ask: ({ word }) => [ACCOUNTS, { account: { identity_id: 'of the attacker', ref_id: word } }],
  },
  ...list('listAccounts', ACCOUNTS, {
    identity_id: ({ word }) => word,
    page_cursor: ({ cursors }) => cursors.accounts,
  }),
  { operation: 'getProfile', name: 'getProfile in the path', ask: ({ profile }) => [`${PROFILES}/${profile}`] },
  {
    operation: 'getProfile',
    name: 'getProfile in capitals',
    ask: ({ profile }) => [`${PROFILES}/${profile.toUpperCase()}`],
  },
  ...list('listProfiles', PROFILES, { page_cursor: ({ cursors }) => cursors.profiles }),
  ...list('listDepositAddresses', ADDRESSES, {
    ids: ({ address }) => address,
    profile_ids: ({ profile }) => profile,
    account_ids: ({ account }) => account,
    identity_ids: ({ word }) => word,
    ref_ids: ({ word }) => word,
    page_cursor: ({ cursors }) => cursors.addresses,
  }),
  {
    operation: 'getDepositAddress',
    name: 'getDepositAddress in the path',
    ask: ({ address }) => [`${ADDRESSES}/${address}`],
  },
  {
    operation: 'createDepositAddress',
    name: 'createDepositAddress for a profile',
    ask: ({ profile }) => [ADDRESSES, { profile_id: profile, crypto_network: 'ETHEREUM' }],
  },
  {
    operation: 'createDepositAddress',
    name: 'createDepositAddress for an account',
    ask: ({ account }, own) => [
      ADDRESSES,
      { profile_id: own.profile, account_id: account, crypto_network: 'ETHEREUM' },
    ],
  },
  ...list('listFiatDepositInstructions', MEMOS, {
    ids: ({ memo }) => memo,
    profile_ids: ({ profile }) => profile,
    ref_ids: ({ word }) => word,
  }),
  {
    operation: 'getFiatDepositInstructions',
    name: 'getFiatDepositInstructions in the path',
    ask: ({ memo }) => [`${MEMOS}/${memo}`],
  },
  {
    operation: 'createFiatDepositInstructions',
    name: 'createFiatDepositInstructions for a profile',
    ask: ({ profile }) => [MEMOS, { profile_id: profile, fiat_network: 'CUBIX' }],
  },
  {
    operation: 'createFiatDepositInstructions',
    name: 'createFiatDepositInstructions for an account',
    ask: ({ account }, own) => [MEMOS, { profile_id: own.profile, account_id: account, fiat_network: 'CUBIX' }],
  },
  ...list('listCryptoDestinationAddresses', TO_ADDRESSES, {
    ids: ({ toAddress }) => toAddress,
    ref_ids: ({ word }) => word,
  }),
  ...list('listFiatAccounts', FIAT_ACCOUNTS, {
    ids: ({ fiatAccount }) => fiatAccount,
    ref_ids: ({ word }) => word,
  }),
  {
    operation: 'getCryptoDestinationAddress',
    name: 'getCryptoDestinationAddress in the path',
    ask: ({ toAddress }) => [`${TO_ADDRESSES}/${toAddress}`],
  },
  {
    operation: 'getFiatAccount',
    name: 'getFiatAccount in the path',
    ask: ({ fiatAccount }) => [`${FIAT_ACCOUNTS}/${fiatAccount}`],
  },
  {
    operation: 'createCryptoDestinationAddress',
    name: 'createCryptoDestinationAddress for a profile',
    ask: ({ profile }) => [
      TO_ADDRESSES,
      { ...TO_ADDRESS, ref_id: 'attack', crypto_network: 'BASE', profile_id: profile },
    ],
  },
  {
    operation: 'createFiatAccount',
    name: 'createFiatAccount for a profile',
    ask: ({ profile }) => [FIAT_ACCOUNTS, { ...FIAT_ACCOUNT, ref_id: 'attack', profile_id: profile }],
  },
  {
    operation: 'deleteCryptoDestinationAddress',
    name: 'deleteCryptoDestinationAddress in the path',
    ask: ({ toAddress }) => [`${TO_ADDRESSES}/${toAddress}`],
  },
  {
    operation: 'deleteFiatAccount',
    name: 'deleteFiatAccount in the path',
    ask: ({ fiatAccount }) => [`${FIAT_ACCOUNTS}/${fiatAccount}`],
  },
  ...list('listRules', RULES, {
    ids: ({ rule: id }) => id,
    profile_id: ({ profile }) => profile,
    page_cursor: ({ cursors }) => cursors.rules,
  }),
  { operation: 'getRule', name: 'getRule in the path', ask: ({ rule: id }) => [`${RULES}/${id}`] },
  { operation: 'createRule', name: 'createRule for a profile', ask: ({ profile }) => [RULES, rule(profile)] },
  {
    operation: 'createRule',
    name: 'createRule for an account',
    ask: ({ account }, own) => [RULES, rule(own.profile, { account_id: account })],
  },
  {
    operation: 'createRule',
    name: 'createRule from a profile',
    ask: ({ profile }, own) => [RULES, rule(own.profile, { source: profileOf(profile) })],
  },
  {
    operation: 'createRule',
    name: 'createRule to a profile',
    ask: ({ profile }, own) => [RULES, rule(own.profile, { destination: profileOf(profile) })],
  },
  { operation: 'deleteRule', name: 'deleteRule in the path', ask: ({ rule: id }) => [`${RULES}/${id}`] },
  {
    operation: 'listBalances',
    name: 'listBalances in the path',
    ask: ({ profile }) => [`${PROFILES}/${profile}/balances`],
  },
  ...list('listTransfers', TRANSFERS, {
    ids: ({ transfer }) => transfer,
    group_id: ({ transfer }) => transfer,
    profile_id: ({ profile }) => profile,
  }),
  { operation: 'getTransfer', name: 'getTransfer in the path', ask: ({ transfer }) => [`${TRANSFERS}/${transfer}`] },
  ...list('listOrchestrations', ORCHESTRATIONS, {
    orchestration_id: ({ orchestration }) => orchestration,
    profile_id: ({ profile }) => profile,
    ref_id: ({ word }) => word,
  }),
  {
    operation: 'getOrchestration',
    name: 'getOrchestration in the path',
    ask: ({ orchestration }) => [`${ORCHESTRATIONS}/${orchestration}`],
  },
  {
    operation: 'getOrchestrationPrice',
    name: 'getOrchestrationPrice in the path',
    ask: ({ orchestration }) => [`${ORCHESTRATIONS}/${orchestration}/price`],
  },
  {
    operation: 'cancelOrchestration',
    name: 'cancelOrchestration in the path',
    ask: ({ orchestration }) => [`${ORCHESTRATIONS}/${orchestration}/cancel`, {}],
  },
  {
    operation: 'createOrchestration',
    name: 'createOrchestration from a profile',
    ask: ({ profile }) => [ORCHESTRATIONS, move(profile)],
  },
  {
    operation: 'createOrchestration',
    name: 'createOrchestration to a profile',
    ask: ({ profile }, own) => [ORCHESTRATIONS, move(own.profile, { destination: profileOf(profile) })],
  },
  ...EVENT_CASES,
]

const TO_ADDRESS = { crypto_network: 'ETHEREUM', address: `0x${'12'.repeat(20)}` }
const FIAT_ACCOUNT = {
  fiat_network: 'CUBIX',
  owner: { name: 'of the attacker', type: 'BUSINESS' },
  account: { account_number: '12345678' },
}

function ask(
  stage: Stage,
  { token }: Customer,
  operation: OperationId,
  [path, body]: readonly [string, unknown?],
): Promise<Answer> {
  const { method } = OPERATIONS[operation]
  const sent = body === undefined ? { headers: {} } : json(body)
  return sendUntilServed(stage.http + path, { ...sent, method, headers: { ...sent.headers, ...bearer(token) } })
}

async function createRecords(stage: Stage, customer: Customer): Promise<Records> {
  const word = `word-${randomUUID()}`
  const made = async (operation: OperationId, path: string, body: unknown) => {
    const answer = await ask(stage, customer, operation, [path, body])
    if (answer.status !== 200) throw new Error(`${operation} was answered ${answer.status}: ${answer.text}`)
    return JSON.parse(answer.text) as Record<string, string> & { rule: { id: string } }
  }
  const newAccount = { account: { identity_id: word, ref_id: word }, create_profile: true }
  const account = await made('createAccount', ACCOUNTS, newAccount)
  await made('createAccount', ACCOUNTS, { account: { identity_id: word }, create_profile: true })
  const profile = account.profile_id!
  const addressBody = (ref: string) => ({ profile_id: profile, crypto_network: 'ETHEREUM', ref_id: ref })
  const address = await made('createDepositAddress', ADDRESSES, addressBody(word))
  const memoBody = { profile_id: profile, fiat_network: 'CUBIX', ref_id: word }
  const memo = await made('createFiatDepositInstructions', MEMOS, memoBody)
  const toAddress = await made('createCryptoDestinationAddress', TO_ADDRESSES, { ...TO_ADDRESS, ref_id: word })
  const fiatAccount = await made('createFiatAccount', FIAT_ACCOUNTS, { ...FIAT_ACCOUNT, ref_id: word })
  const first = await made('createRule', RULES, rule(profile, { ref_id: word }))
  await made('createRule', RULES, rule(profile, { ref_id: `${word} 2` }))
  const deposit = await stage.operator.call<{ id: string }>('POST', '/deposits', {
    source: 'attack',
    external_id: word,
    asset: 'USDC',
    amount: '100',
    crypto: { network: 'ETHEREUM', address: address.address!, tx_hash: sha256Of(word), tx_index: 0 },
    occurred_at: '2026-01-02T03:04:05Z',
  })
  const orchestration = await made('createOrchestration', ORCHESTRATIONS, move(profile, { ref_id: word }))
  const endpoint = await made('createWebhookEndpoint', ENDPOINTS, { url: 'https://example.com/' })
  const events = JSON.parse((await ask(stage, customer, 'listEvents', ['/v2/events'])).text)
  const cursor = async (operation: OperationId, path: string) => {
    const { text } = await ask(stage, customer, operation, [`${path}?limit=1`])
    return (JSON.parse(text) as { next_page_cursor: string }).next_page_cursor
  }
  return {
    account: account.id!,
    profile,
    address: address.id!,
    memo: memo.id!,
    toAddress: toAddress.id!,
    fiatAccount: fiatAccount.id!,
    rule: first.rule.id,
    transfer: deposit.id,
    orchestration: orchestration.id!,
    endpoint: endpoint.id!,
    event: events.items[0].id,
    word,
    cursors: {
      accounts: await cursor('listAccounts', ACCOUNTS),
      profiles: await cursor('listProfiles', PROFILES),
      addresses: await cursor('listDepositAddresses', ADDRESSES),
      rules: await cursor('listRules', RULES),
    },
  }
}

/** Ids without a record. */
function absentRecords(): Records {
  const nothing = Buffer.from('nothing').toString('base64url')
  return {
    account: randomUUID(),
    profile: randomUUID(),
    address: randomUUID(),
    memo: randomUUID(),
    toAddress: randomUUID(),
    fiatAccount: randomUUID(),
    rule: randomUUID(),
    transfer: randomUUID(),
    orchestration: randomUUID(),
    endpoint: randomUUID(),
    event: randomUUID(),
    word: `word-${randomUUID()}`,
    cursors: { accounts: nothing, profiles: nothing, addresses: nothing, rules: nothing },
  }
}

/** A response without the members that are specific to one request or record. */
function comparable({ status, text }: Answer, records: Records): string {
  const { cursors: _, ...names } = records
  let body = text
  for (const name of Object.values(names)) body = body.replaceAll(name, 'NAME')
  return `${status} ${body.replaceAll(/"(request_id|id|created_at|updated_at|ref_id)":"[^"]*"/g, '"$1":""')}`
}

/** Equal for every customer, about the caller alone, or served only by a service for testing. */
const WITHOUT_CASES: readonly OperationId[] = [
  'listMarkets',
  'getOrderBook',
  'listTrades',
  'getTicker',
  'listCandles',
  'getClient',
  'listLimits',
  'listEvents',
  'listUsage',
  'listWebhookEndpoints',
  'createWebhookEndpoint',
  'createSandboxDeposit',
]

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export const tenantIsolation: Attack = {
  name: 'tenant-isolation',
  sent: 'every operation with ids, words and cursors of another customer, in the path, the query and the body',
  holds: 'the answer is the same as for unknown ids, shows nothing of the other customer and changes nothing',
  cases: TENANT_CASES.map(({ name }) => name),
  isolation: 'own',
  isInTests: true,
  settings: { 'custody.evm.xpub': accountPublicKey(5), 'rest.rate_per_second': '1000' },
  async run({ stage }) {
    const findings = new Findings()
    const [attacker, victim] = [await stage.customer(), await stage.customer()]
    const [own, other] = [await createRecords(stage, attacker), await createRecords(stage, victim)]
    for (const { operation, name, ask: request } of TENANT_CASES) {
      const absent = absentRecords()
      const [foreign, unknown] = [
        await ask(stage, attacker, operation, request(other, own)),
        await ask(stage, attacker, operation, request(absent, own)),
      ]
      const [left, right] = [comparable(foreign, other), comparable(unknown, absent)]
      findings.check(left === right, `${name}: ${left.slice(0, 150)} instead of ${right.slice(0, 150)}`)
      const { word: _, cursors: __, ...ids } = other
      const shown = Object.values(ids).filter((id) => foreign.text.includes(id) && foreign.status === 200)
      findings.check(shown.length === 0, `${name} showed ${shown.join()}`)
    }
    const missing = (Object.keys(OPERATIONS) as OperationId[]).filter(
      (id) => !WITHOUT_CASES.includes(id) && !TENANT_CASES.some(({ operation }) => operation === id),
    )
    findings.check(missing.length === 0, `no case asks ${missing.join(', ')}`)
    const account = await ask(stage, victim, 'getAccount', [`${ACCOUNTS}/${other.account}`])
    const isUntouched = !account.text.includes('of the attacker') && account.text.includes('"user_disabled":false')
    findings.check(isUntouched, `the account was changed: ${account.text.slice(0, 200)}`)
    const rules = await ask(stage, victim, 'listRules', [`${RULES}?ids=${other.rule}`])
    findings.check(rules.text.includes('"status":"ACTIVE"'), 'the rule was changed')
    return findings.outcome(`${TENANT_CASES.length} cases, ${findings.count} that differ`)
  },
}

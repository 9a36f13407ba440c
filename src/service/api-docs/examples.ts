/**
 * The operations' descriptions and examples: what a schema cannot express, with one request and one answer each. Tests
 * validate the examples against their operations' schemas. Pure.
 */
import type { OperationId } from '../../contract/operations.ts'
import { DESTINATION_EXAMPLES } from './destination-examples.ts'
import { EVENT_EXAMPLES } from './event-examples.ts'
import { FIAT_AND_LIMIT_EXAMPLES } from './fiat-examples.ts'
import { MARKET_DATA_EXAMPLES } from './market-data-examples.ts'
import { USAGE_EXAMPLES } from './usage-examples.ts'

export interface OperationExample {
  /** The description, in addition to the summary. */
  readonly description: string
  /** The answer's description. */
  readonly answered: string
  /** A request's body, if it has one. */
  readonly request?: unknown
  readonly answer: unknown
}

const ACCOUNT_ID = '01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01'
const PROFILE_ID = '01932b5e-7d1c-7a11-8c3e-27a4b1d05f02'
const ADDRESS_ID = '01932b60-2f4a-7c21-b1d8-90e5c7a6d403'
const RULE_ID = '01932b61-9be2-7e30-a7f6-3d2b8c1e4a04'
const CURSOR = 'eyJ2IjoxfQ'

const LISTED_ACCOUNT = {
  id: ACCOUNT_ID,
  identity_id: 'person-1001',
  description: 'Savings',
  admin_disabled: false,
  user_disabled: false,
  metadata: { desk: 'north' },
  ref_id: 'account-1001',
  members: [],
  created_at: '2026-11-20T12:00:00.000Z',
  updated_at: '2026-11-20T12:00:00.000Z',
  profile_id: PROFILE_ID,
}
const ACCOUNT = { ...LISTED_ACCOUNT, summary_status: 'PENDING', type: 'BROKERAGE' }

const PROFILE = { id: PROFILE_ID, type: 'NORMAL', account_id: ACCOUNT_ID, created_at: '2026-11-20T12:00:00.000Z' }

const TRANSFER = {
  id: 'd2a1b0c9-6f5e-4d3c-8b2a-190817263544',
  customer_id: '01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05',
  profile_id: PROFILE_ID,
  asset: 'USDC',
  amount: '250.5',
  fee: '0',
  total: '250.5',
  direction: 'CREDIT',
  type: 'CRYPTO_DEPOSIT',
  status: 'COMPLETED',
  disposition: { code: 'ORCHESTRATED' },
  crypto_network: 'ETHEREUM',
  crypto_tx_hash: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
  crypto_tx_index: 3,
  confirmations: 12,
  group_id: 'd2a1b0c9-6f5e-4d3c-8b2a-190817263544',
  metadata: {},
  created_at: '2026-11-20T12:04:00.000Z',
  updated_at: '2026-11-20T12:07:00.000Z',
}

const DEPOSIT_ADDRESS = {
  id: ADDRESS_ID,
  profile_id: PROFILE_ID,
  customer_id: '01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05',
  account_id: ACCOUNT_ID,
  identity_id: 'person-1001',
  ref_id: 'address-1001',
  crypto_network: 'BITCOIN',
  address: 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu',
  conversion_target_asset: 'NO_CONVERSION',
  compatible_crypto_networks: ['BITCOIN'],
  metadata: {},
  created_at: '2026-11-20T12:01:00.000Z',
}

const SANDBOX_TRANSFER = {
  id: '01932b70-4c1d-7d55-9a0e-8b7f6e5d4c06',
  customer_id: '01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05',
  profile_id: PROFILE_ID,
  account_id: ACCOUNT_ID,
  asset: 'USDC',
  amount: '100',
  fee: '0',
  total: '100',
  direction: 'CREDIT',
  type: 'CRYPTO_DEPOSIT',
  status: 'COMPLETED',
  disposition: { code: 'ORCHESTRATED' },
  crypto_network: 'ETHEREUM',
  crypto_tx_hash: '0x9f2c1a7be04d5f3866c1d2a95b7e8f0c4d3a2b1e6f5c8d7a9b0e1f2a3c4d5e6f',
  crypto_tx_index: 0,
  group_id: '01932b70-4c1d-7d55-9a0e-8b7f6e5d4c06',
  metadata: {},
  created_at: '2026-11-20T12:05:00.000Z',
  updated_at: '2026-11-20T12:05:00.000Z',
}

const NEW_RULE = {
  ref_id: 'rule-1001',
  nickname: 'Bitcoin to dollars',
  profile_id: PROFILE_ID,
  source_asset: 'BTC',
  destination_asset: 'USD',
  source: { crypto: { network: 'BITCOIN' } },
  destination: { fiat: { fiat_account_id: 'bank-account-1', memo: 'savings' } },
}
const RULE = {
  id: RULE_ID,
  ...NEW_RULE,
  identity_id: 'person-1001',
  account_id: ACCOUNT_ID,
  status: 'ACTIVE',
  source: {
    crypto: {
      address_id: '01932b61-9be2-7e31-94c0-b8a2d6f71e06',
      address: 'bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g',
      network: 'BITCOIN',
    },
  },
  created_at: '2026-11-20T12:02:00.000Z',
}

const NEW_ORCHESTRATION = {
  ref_id: 'withdrawal-1001',
  source: { profile: { profile_id: PROFILE_ID } },
  source_asset: 'USDC',
  source_amount: '250.5',
  destination_asset: 'USD',
  destination: { fiat: { fiat_account_id: 'bank-account-1', memo: 'savings' } },
  metadata: { invoice: '1001' },
}
const STARTED_ORCHESTRATION = {
  id: '01932b63-4c1d-7f50-8a2b-c3d4e5f60708',
  customer_id: '01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05',
  profile_id: PROFILE_ID,
  identity_id: 'person-1001',
  account_id: ACCOUNT_ID,
  ref_id: 'withdrawal-1001',
  source_asset: 'USDC',
  source_amount: '250.5',
  destination_asset: 'USD',
  status: 'PROCESSING',
  expires_at: '2026-11-21T12:05:00.000Z',
  source: NEW_ORCHESTRATION.source,
  destination: NEW_ORCHESTRATION.destination,
  metadata: NEW_ORCHESTRATION.metadata,
  created_at: '2026-11-20T12:05:00.000Z',
  updated_at: '2026-11-20T12:05:00.000Z',
}
const ORCHESTRATION = {
  ...STARTED_ORCHESTRATION,
  destination_amount: '250.5',
  price: '1',
  price_source: 'par',
  receipt: {
    initial_amount: '250.5',
    fee_amount: '0',
    converted_amount: '250.5',
    rate: '1',
    outgoing_amount: '250.5',
  },
  status: 'COMPLETED',
  source_transfer: { transfer_id: '01932b63-4c1e-7a01-9b3c-d4e5f6071819', status: 'COMPLETED' },
  destination_transfer: { transfer_id: '01932b63-4c1e-7a02-8c4d-e5f607182930', status: 'COMPLETED' },
  updated_at: '2026-11-20T12:06:00.000Z',
}
const PRICE = {
  orchestration_id: ORCHESTRATION.id,
  source_asset: 'BTC',
  source_amount: '0.5',
  destination_asset: 'USD',
  destination_amount: '30000.05',
  price: '60000.1',
  price_source: 'BTCUSD',
  evidence: {
    kind: 'market',
    market: { symbol: 'BTCUSD', base_asset: 'BTC', quote_asset: 'USD', price_decimals: 2 },
    side: 'bids',
    book: {
      cursor: 'pEcT_n4Z.48213',
      time: '2026-11-20T12:05:59.871Z',
      simulated: false,
      best_bid: '60000.10',
      best_ask: '60000.90',
      mid: '60000.500',
    },
    taken_before: '0.1',
    levels: [{ price: '60000.10', amount: '1.25', taken_before: '0.1', taken: '0.5' }],
    source: { asset: 'BTC', decimals: 8, amount: '0.5' },
    base_amount: '0.5',
    quote_amount: '30000.05',
    destination: { asset: 'USD', decimals: 2, amount: '30000.05' },
    price: '60000.1',
    settings: { slippage_bps_max: 100, depth_seconds: 10, book_age_seconds_max: 5 },
  },
  explanation: {
    adds_up: true,
    steps: [
      '1 level from BTCUSD bids: 0.5 BTC for 30000.05 USD',
      'the price is 60000.1 USD for 1 BTC, with the mid at 60000.500',
      '30000.05 USD is paid as 30000.05, and 0 stays with the desk',
    ],
    differences: [],
  },
  created_at: '2026-11-20T12:06:00.000Z',
}
const CANCELLED_ORCHESTRATION = {
  ...STARTED_ORCHESTRATION,
  status: 'FAILED',
  fail_reason: { code: 'CANCELLED', detail: 'cancelled by the customer' },
  updated_at: '2026-11-20T12:06:00.000Z',
}

export const EXAMPLES: Readonly<Record<OperationId, OperationExample>> = {
  ...MARKET_DATA_EXAMPLES,
  getClient: {
    description:
      'Any valid token may ask. A secret’s use is shown up to a minute late: its times are stored once a minute.',
    answered: 'The token’s client',
    answer: {
      client_id: '01932b50-2b3c-7d4e-9f50-6b7c8d9eaf06',
      customer_id: '01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05',
      name: 'onboarding',
      scopes: ['identity:read_account', 'identity:write_account'],
      streaming: true,
      plan: { name: 'unlimited' },
      limits: { connections_max: 2000, subscriptions_max: 1000, inbound_per_second: 50, rest_rate_per_second: 50 },
      secrets: [
        {
          id: '01932b50-2b3c-7d4e-9f50-6b7c8d9eaf07',
          created_at: '2026-11-20T12:00:00.000Z',
          last_used_at: '2026-11-20T12:30:00.000Z',
        },
      ],
    },
  },
  listAccounts: {
    description: 'The customer’s accounts, whichever client created them.',
    answered: 'One page of accounts',
    answer: { items: [LISTED_ACCOUNT], next_page_cursor: CURSOR },
  },
  createAccount: {
    description:
      'With `create_profile`, a profile with the type NORMAL is created with the account. Its id is `profile_id`. ' +
      'A `ref_id` that was used before is 409, and nothing is created.',
    answered: 'The account',
    request: {
      account: {
        identity_id: 'person-1001',
        ref_id: 'account-1001',
        description: 'Savings',
        metadata: { desk: 'north' },
      },
      create_profile: true,
    },
    answer: ACCOUNT,
  },
  updateAccount: {
    description: 'Absent members are not changed. `metadata` and `members` are replaced as a whole.',
    answered: 'The changed account',
    request: { id: ACCOUNT_ID, description: 'Savings of 2026', set_user_disabled: false },
    answer: { ...ACCOUNT, description: 'Savings of 2026', updated_at: '2026-11-20T12:05:00.000Z' },
  },
  getAccount: { description: '', answered: 'The account', answer: ACCOUNT },
  listProfiles: {
    description:
      'The customer’s profiles: those created with accounts, which show `account_id`, and those created by the operator, ' +
      'which show their `nickname`.',
    answered: 'One page of profiles',
    answer: { items: [PROFILE] },
  },
  getProfile: { description: '', answered: 'The profile', answer: PROFILE },
  listBalances: {
    description:
      'One item for each asset the profile has ever had. `available` can be used now, `in_transit` is reserved by an ' +
      'orchestration or a withdrawal, `held` is on hold. Amounts are decimal text without trailing zeros.',
    answered: 'The profile’s balances, by asset',
    answer: { items: [{ asset: 'USDC', available: '250.5', in_transit: '0', held: '0' }] },
  },
  listTransfers: {
    description:
      'All transfers that changed, or will change, the customer’s balances: deposits, withdrawals, conversions, and ' +
      'transfers between profiles. A deposit is listed from PENDING on. Its `id` stays the same. A REVERSED one is followed by a DEBIT in its group. `total` is the sum of ' +
      '`amount` and `fee`.',
    answered: 'One page of transfers',
    answer: { items: [TRANSFER] },
  },
  getTransfer: { description: '', answered: 'The transfer', answer: TRANSFER },
  listDepositAddresses: {
    description: 'The customer’s deposit addresses, including those for its rules.',
    answered: 'One page of deposit addresses',
    answer: { items: [DEPOSIT_ADDRESS] },
  },
  getDepositAddress: { description: '', answered: 'The deposit address', answer: DEPOSIT_ADDRESS },
  createDepositAddress: {
    description:
      'Allocates a new address on the network, which is never reused. EVM networks share one address: ' +
      '`compatible_crypto_networks` names all networks on which it is valid. A deposit without a matching rule is converted ' +
      'into the address’s `conversion_target_asset`, unless that is NO_CONVERSION.',
    answered: 'The deposit address',
    request: { profile_id: PROFILE_ID, crypto_network: 'BITCOIN', ref_id: 'address-1001' },
    answer: DEPOSIT_ADDRESS,
  },
  ...FIAT_AND_LIMIT_EXAMPLES,
  listRules: {
    description: 'Rules in every status, unless filtered by `status`.',
    answered: 'One page of rules',
    answer: { rules: [RULE], items: [RULE] },
  },
  getRule: { description: 'In any status.', answered: 'The rule', answer: RULE },
  ...DESTINATION_EXAMPLES,
  ...EVENT_EXAMPLES,
  ...USAGE_EXAMPLES,
  createRule: {
    description:
      '`source` and `destination` have exactly one member each. The default destination is the rule’s profile. In the ' +
      'answer, the source contains its deposit instructions. A rule never changes: delete it and create another. ' +
      'While it is ACTIVE, every deposit that matches its source and source_asset is converted into destination_asset and ' +
      'delivered to the destination. After that, deposits are only credited.',
    answered: 'The rule: ACTIVE, or PENDING if the operator must approve rules',
    request: NEW_RULE,
    answer: { rule: RULE },
  },
  createSandboxDeposit: {
    description:
      'Only with the setting `rest.sandbox`. The deposit is handled like a real one: it is credited, and a matching rule ' +
      'converts and delivers it, without a real payment. Without `crypto_address` it is sent to the newest address of ' +
      'the profile on the network. Without `memo_id`, a fiat deposit is credited to the profile. Some ' +
      'amounts force an outcome: 11.01 is held, 11.02 fails, 11.03 is below the minimum, an 11.04 delivery is ' +
      'refused, and an 11.05 delivery has an unknown outcome for some seconds and is then settled. Some destinations do too: ' +
      '`0x000000000000000000000000000000000000dEaD` and the bank account `sandbox-refused` are refused, ' +
      '`0x00000000000000000000000000000000DeaDBeef` and `sandbox-unknown` have an unknown outcome first.',
    answered: 'The deposit as a transfer',
    request: { asset: 'USDC', amount: '100', crypto_network: 'ETHEREUM' },
    answer: SANDBOX_TRANSFER,
  },
  deleteRule: {
    description: 'A deleted rule stays in the list. Deleting it again is 200 and changes nothing.',
    answered: 'The rule, with status DELETED',
    answer: { rule: { ...RULE, status: 'DELETED' } },
  },
  listOrchestrations: {
    description:
      'Conversions and deliveries for deposits that matched a rule, and those requested by the customer. `waiting_for` ' +
      'names why a PROCESSING one cannot proceed: PRICE, PEG, SLIPPAGE and DESK_LIMIT wait for the market, HOLD, APPROVAL, ' +
      'SCREENING, PAUSED and OPERATOR for the operator, DESTINATION and LIMIT for the destination and the limits.',
    answered: 'One page of orchestrations',
    answer: { orchestrations: [ORCHESTRATION], items: [ORCHESTRATION], next_page_cursor: CURSOR },
  },
  createOrchestration: {
    description:
      'Takes `source_amount` from the available balance of the profile, converts it where the assets differ, and sends it ' +
      'to the destination, or keeps it in the profile if there is none. The amount is reserved at once. A `ref_id` that was ' +
      'used before is 409 with its record in `meta.existing`, and nothing is moved, so a request can be repeated safely. ' +
      'A failed orchestration returns the amount.',
    answered: 'The orchestration, with status PROCESSING',
    request: NEW_ORCHESTRATION,
    answer: STARTED_ORCHESTRATION,
  },
  cancelOrchestration: {
    description:
      'It becomes FAILED with the code CANCELLED, and the money is available in its current asset. 409 when it is ' +
      'final, when its payment was handed out, and while the operator holds or pauses its money, whether or not ' +
      '`waiting_for` shows that. Cancelling it again is 200 and changes nothing.',
    answered: 'The orchestration, with status FAILED',
    request: {},
    answer: CANCELLED_ORCHESTRATION,
  },
  getOrchestration: { description: '', answered: 'The orchestration', answer: ORCHESTRATION },
  getOrchestrationPrice: {
    description:
      'The pricing book, named by `cursor` and `time` as the stream sent them to `tidegate.v1` at the depth of the ' +
      'market, the levels taken from it, and each step of the computation. A conversion at par that needed no book has no ' +
      '`pegs`. 404 for an orchestration without a conversion: not converted yet, or within one asset.',
    answered: 'The price’s evidence',
    answer: PRICE,
  },
}

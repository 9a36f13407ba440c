/** Destinations' request and response schemas, and their lists' filters. */
import { Type } from 'typebox'
import { FIAT_ACCOUNT_TYPES, FIAT_NETWORKS } from '../../contract/assets.ts'
import { CRYPTO_NETWORK_NAMES, REQUESTED_NETWORK_NAMES } from '../../contract/crypto-networks.ts'
import { choices, orderBy, texts, times, uuids } from '../../platform/http/list-query.ts'
import { pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { Parties } from '../screening/parties.ts'
import { DESTINATION_KINDS, DESTINATION_STATUSES } from './model.ts'

const strict = { additionalProperties: false }
const Text = Type.String({ minLength: 1, maxLength: 200 })
const time = Type.String({ format: 'date-time' })

const Memo = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'The memo or bank reference of each payment. Payments with another one, or none, are refused',
})

const NEW_MEMBERS = {
  ref_id: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Your own id, unique among yours of this kind: 409 if it was used before',
  }),
  nickname: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Default: the `ref_id`' })),
  profile_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'For your own use' })),
  memo: Type.Optional(Memo),
  parties: Type.Optional(Parties),
}

export const NewCryptoAddress = Type.Object(
  { ...NEW_MEMBERS, crypto_network: textChoice(REQUESTED_NETWORK_NAMES), address: Text },
  strict,
)

const Owner = Type.Object(
  {
    name: Text,
    type: textChoice(['INDIVIDUAL', 'BUSINESS']),
    address: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
  },
  strict,
)

const Account = Type.Object(
  {
    account_type: Type.Optional(
      Type.Enum([...FIAT_ACCOUNT_TYPES], { type: 'string', description: 'Required for WIRE' }),
    ),
    account_number: Type.Optional(Text),
    routing_number: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'For ABA' })),
    iban: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'For SWIFT, or `account_number`' })),
    swift: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'The bank’s BIC, for SWIFT' })),
    bank_name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Required for WIRE' })),
  },
  strict,
)

export const NewFiatAccount = Type.Object(
  { ...NEW_MEMBERS, fiat_network: textChoice(FIAT_NETWORKS), owner: Owner, account: Account },
  strict,
)

const COMMON = {
  memo: Type.Optional(Type.String()),
  parties: Type.Optional(Parties),
  status: textChoice(DESTINATION_STATUSES),
  usable_at: Type.String({
    format: 'date-time',
    description: 'Not paid before, and not before the operator’s approval while it is PENDING',
  }),
  reject_reason: Type.Optional(Type.String({ description: 'Why a REJECTED one was rejected' })),
  created_at: time,
  updated_at: time,
}

const NAMES = {
  id: Type.String({ format: 'uuid' }),
  customer_id: Type.String(),
  profile_id: Type.Optional(Type.String()),
  ref_id: Type.String(),
  nickname: Type.String(),
}

const Unverified = Type.Boolean({
  description: 'Made from a rule by a migration, and not approved by an operator yet',
})

const FIAT_MEMBERS = {
  owner: Type.Optional(
    Type.Object(Owner.properties, {
      description: 'Absent: made from a rule by a migration, or this process lacks the key',
    }),
  ),
  account: Type.Optional(
    Type.Object(Account.properties, { description: 'Numbers are shown with their last four characters' }),
  ),
}

export const CryptoAddress = Type.Object(
  { ...NAMES, crypto_network: textChoice(CRYPTO_NETWORK_NAMES), address: Type.String(), ...COMMON },
  { title: 'CryptoDestinationAddress' },
)

export const FiatAccount = Type.Object(
  { ...NAMES, fiat_network: textChoice(FIAT_NETWORKS), ...FIAT_MEMBERS, unverified: Unverified, ...COMMON },
  { title: 'FiatAccount' },
)

export const CryptoAddressPage = pageOf(CryptoAddress)
export const FiatAccountPage = pageOf(FiatAccount)

/** A destination in the operator API. */
export const OperatorDestination = Type.Object(
  {
    ...NAMES,
    kind: textChoice(DESTINATION_KINDS),
    crypto_network: Type.Optional(textChoice(CRYPTO_NETWORK_NAMES)),
    address: Type.Optional(Type.String()),
    fiat_network: Type.Optional(textChoice(FIAT_NETWORKS)),
    ...FIAT_MEMBERS,
    memos: Type.Optional(
      Type.Array(Type.String(), { description: 'The memos of the rules that it was made from. Empty text: none' }),
    ),
    unverified: Unverified,
    ...COMMON,
  },
  { title: 'Destination' },
)

export const OperatorDestinationPage = pageOf(OperatorDestination)

export const ApproveBody = Type.Object(
  {
    usable_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Replaces the present one, if a second operator confirms. Needs a reason',
      }),
    ),
    reason: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })),
  },
  strict,
)

export const RejectBody = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 1_000 }) }, strict)

const FILTERS = {
  ids: uuids('Filter by UUIDs'),
  ref_ids: texts('Filter by client-specified IDs'),
  status: choices(DESTINATION_STATUSES, 'Filter by statuses'),
  created_at: times('Created'),
  order_by: orderBy(['CREATED_AT'], 'Ordering method'),
}

export const CRYPTO_ADDRESS_FILTERS = {
  ...FILTERS,
  crypto_networks: choices(REQUESTED_NETWORK_NAMES, 'Filter by crypto networks. POLYGON means POLYGON_POS'),
}

export const FIAT_ACCOUNT_FILTERS = { ...FILTERS, fiat_networks: choices(FIAT_NETWORKS, 'Filter by fiat networks') }

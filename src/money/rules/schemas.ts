/**
 * The request and response schemas of rules. They validate, type, serialise and describe them. `terms` checks assets,
 * networks and addresses, because a schema cannot.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { FIAT_ACCOUNT_TYPES, FIAT_NETWORKS } from '../../contract/assets.ts'
import {
  CRYPTO_NETWORK_NAMES,
  type CryptoNetwork,
  networkNamed,
  REQUESTED_NETWORK_NAMES,
  type RequestedNetwork,
} from '../../contract/crypto-networks.ts'
import { choices, text, uuids } from '../../platform/http/list-query.ts'
import { NextPageCursor, pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { BankDetailsAnswer } from '../deposit-instructions/schemas.ts'
import { RULE_STATUSES } from './model.ts'

const strict = { additionalProperties: false }
/** Sources and destinations have one of three members. */
const oneOfThree = { ...strict, minProperties: 1, maxProperties: 1 }

const Id = Type.String({ minLength: 1, maxLength: 200 })
const AssetSymbol = Type.String({ minLength: 1, maxLength: 200, description: 'A configured asset’s symbol' })
const CryptoNetworkName = textChoice(CRYPTO_NETWORK_NAMES)
const RequestedNetworkName = textChoice(REQUESTED_NETWORK_NAMES)
const FiatNetworkName = textChoice(FIAT_NETWORKS)
const FiatAccountTypeName = textChoice(FIAT_ACCOUNT_TYPES)

const Profile = Type.Object({ profile_id: Id }, strict)

const NewSource = Type.Object(
  {
    crypto: Type.Optional(Type.Object({ network: RequestedNetworkName }, strict)),
    fiat: Type.Optional(
      Type.Object(
        {
          network: FiatNetworkName,
          account_type: Type.Optional(
            Type.Enum([...FIAT_ACCOUNT_TYPES], { type: 'string', description: 'Required for WIRE' }),
          ),
        },
        strict,
      ),
    ),
    profile: Type.Optional(Profile),
  },
  { ...oneOfThree, description: 'The rule’s deposits: exactly one of crypto, fiat, profile' },
)

const Memo = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Default: that of the registered destination. Another one is refused',
})

function destinationOver<Network extends TSchema>(network: Network) {
  return Type.Object(
    {
      crypto: Type.Optional(
        Type.Object(
          { address: Type.String({ minLength: 1, maxLength: 200 }), network, memo: Type.Optional(Memo) },
          strict,
        ),
      ),
      fiat: Type.Optional(Type.Object({ fiat_account_id: Id, memo: Type.Optional(Memo) }, strict)),
      profile: Type.Optional(Profile),
    },
    { ...oneOfThree, description: 'Where the destination asset is delivered: exactly one of crypto, fiat, profile' },
  )
}

/** In a request, a network may have one of its other names. */
export const RequestedDestination = destinationOver(RequestedNetworkName)

export const NewRule = Type.Object(
  {
    ref_id: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Your own id, unique among your rules: 409 if it was used before',
    }),
    nickname: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    profile_id: Id,
    identity_id: Type.Optional(Id),
    account_id: Type.Optional(Id),
    source_asset: AssetSymbol,
    destination_asset: AssetSymbol,
    source: NewSource,
    destination: Type.Optional(RequestedDestination),
  },
  strict,
)

/** The rule in a request. A network may have one of its other names. */
export type RequestedRule = Static<typeof NewRule>

export interface NewRuleBody extends Omit<RequestedRule, 'source' | 'destination'> {
  readonly source: Omit<RequestedRule['source'], 'crypto'> & { readonly crypto?: { readonly network: CryptoNetwork } }
  readonly destination?: Omit<NonNullable<RequestedRule['destination']>, 'crypto'> & {
    readonly crypto?: { readonly address: string; readonly network: CryptoNetwork; readonly memo?: string }
  }
}

/** The rule with its networks' canonical names. */
export function withNetworkNames({ source, destination, ...rule }: RequestedRule): NewRuleBody {
  return {
    ...rule,
    source: withNetworkName(source),
    ...(destination === undefined ? {} : { destination: withNetworkName(destination) }),
  }
}

/** The source or destination with its network's canonical name. */
export function withNetworkName<Crypto extends { readonly network: RequestedNetwork }, Others extends object>(
  place: Others & { readonly crypto?: Crypto },
) {
  const { crypto, ...others } = place
  return {
    ...others,
    ...(crypto === undefined ? {} : { crypto: { ...crypto, network: networkNamed(crypto.network) } }),
  }
}

const fiatSource = {
  deposit_instructions_id: Type.Optional(Type.String({ format: 'uuid' })),
  network: FiatNetworkName,
  account_type: Type.Optional(FiatAccountTypeName),
  memo_id: Type.Optional(Type.String()),
}

/** An orchestration's source in a response. */
export const Source = Type.Object({
  crypto: Type.Optional(
    Type.Object({
      address_id: Type.Optional(Type.String({ format: 'uuid' })),
      address: Type.Optional(Type.String()),
      network: CryptoNetworkName,
    }),
  ),
  fiat: Type.Optional(Type.Object(fiatSource)),
  profile: Type.Optional(Type.Object({ profile_id: Type.String() })),
})

const SourceWithBank = Type.Object({
  ...Source.properties,
  fiat: Type.Optional(Type.Object({ ...fiatSource, bank: Type.Optional(BankDetailsAnswer) })),
})

/** The destination in a response. */
export const Destination = destinationOver(CryptoNetworkName)

export const Rule = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    ref_id: Type.String(),
    nickname: Type.Optional(Type.String()),
    profile_id: Type.String(),
    identity_id: Type.Optional(Type.String()),
    account_id: Type.Optional(Type.String()),
    status: textChoice(RULE_STATUSES),
    reject_reason: Type.Optional(Type.String({ description: 'Why a REJECTED rule was rejected' })),
    source_asset: Type.String(),
    destination_asset: Type.String(),
    source: SourceWithBank,
    destination: Destination,
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Rule' },
)

/** A rule in the operator API. */
export const OperatorRule = Type.Object({ ...Rule.properties, customer_id: Type.String() }, { title: 'OperatorRule' })

export const OperatorRulePage = pageOf(OperatorRule)

export const RuleAnswer = Type.Object({ rule: Rule })

export const RuleList = Type.Object({
  rules: Type.Optional(Type.Array(Rule, { deprecated: true, description: 'Same as `items`. Use `items` instead' })),
  items: Type.Array(Rule),
  next_page_cursor: Type.Optional(NextPageCursor),
})

export const RejectBody = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 1_000 }) }, strict)

/** The list's query parameters. */
export const RULE_FILTERS = {
  profile_id: text('Filter by profile'),
  status: choices(RULE_STATUSES, 'Filter by statuses'),
  source_asset: text('Filter by source asset'),
  destination_asset: text('Filter by destination asset'),
  ids: uuids('Filter by rule UUIDs'),
}

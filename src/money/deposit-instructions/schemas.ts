/** Response schemas for deposit addresses, for both APIs, and for fiat deposit instructions. */
import { Type } from 'typebox'
import { FIAT_ACCOUNT_TYPES, FIAT_NETWORKS } from '../../contract/assets.ts'
import { BANK_MEMBERS, type BankDetails } from '../../contract/bank-details.ts'
import { CRYPTO_NETWORK_NAMES, type CryptoNetwork } from '../../contract/crypto-networks.ts'
import { pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'

const Network = textChoice<CryptoNetwork>(CRYPTO_NETWORK_NAMES)

export const DepositAddress = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    profile_id: Type.String(),
    customer_id: Type.String(),
    account_id: Type.Optional(Type.String()),
    identity_id: Type.Optional(Type.String()),
    ref_id: Type.Optional(Type.String()),
    crypto_network: Network,
    address: Type.String(),
    conversion_target_asset: Type.String(),
    compatible_crypto_networks: Type.Array(Network),
    metadata: Type.Unsafe<Readonly<Record<string, string>>>({
      type: 'object',
      additionalProperties: { type: 'string' },
    }),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'DepositAddress' },
)

export const BankDetailsAnswer = Type.Unsafe<BankDetails>(
  Type.Object(Object.fromEntries(BANK_MEMBERS.map((name) => [name, Type.Optional(Type.String())])), {
    title: 'BankDetails',
    description: 'The bank account to which the payer sends the money. Absent while the operator has configured none',
  }),
)

export const FiatInstructions = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    profile_id: Type.String(),
    customer_id: Type.String(),
    account_id: Type.Optional(Type.String()),
    identity_id: Type.Optional(Type.String()),
    ref_id: Type.Optional(Type.String()),
    memo_id: Type.String({ description: 'The payer writes it on the transfer' }),
    fiat_network: textChoice(FIAT_NETWORKS),
    account_type: Type.Optional(textChoice(FIAT_ACCOUNT_TYPES)),
    bank: Type.Optional(BankDetailsAnswer),
    status: textChoice(['ACTIVE']),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'FiatDepositInstructions' },
)

export const FiatInstructionsPage = pageOf(FiatInstructions)

export const DepositAddressPage = pageOf(DepositAddress)

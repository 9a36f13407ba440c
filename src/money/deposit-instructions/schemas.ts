/** Response schemas for deposit addresses, for both APIs. */
import { Type } from 'typebox'
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

export const DepositAddressPage = pageOf(DepositAddress)

/** This module's tables for the query builder. The migrations `deposit-addresses` and `fiat-instructions` define them. */
import type { FiatAccountType, FiatNetwork } from '../../contract/assets.ts'
import type { AddressFamily, CryptoNetwork } from '../../contract/crypto-networks.ts'
import type { Generated } from '../../platform/store/sql.ts'

interface AddressKeysTable {
  family: AddressFamily
  first_address: string
  next_index: number
  created_at: Generated<string>
}

interface DepositAddressesTable {
  id: string
  customer_id: string
  profile_id: string
  account_id: string | null
  identity_id: string | null
  ref_id: string | null
  crypto_network: CryptoNetwork
  family: AddressFamily
  address: string
  conversion_target_asset: string
  metadata: Readonly<Record<string, string>>
  created_at: string
  key_first_address: string | null
  key_index: number | null
}

interface AddressPoolTable {
  id: Generated<string>
  family: AddressFamily
  address: string
  /** Null while it is free. */
  deposit_address_id: string | null
  created_at: Generated<string>
}

export interface DepositInstructionTables {
  address_keys: AddressKeysTable
  deposit_addresses: DepositAddressesTable
  address_pool: AddressPoolTable
}

export interface FiatInstructionTables {
  fiat_instructions: {
    id: string
    customer_id: string
    profile_id: string
    account_id: string | null
    identity_id: string | null
    ref_id: string | null
    network: FiatNetwork
    account_type: FiatAccountType | null
    memo_id: string
    created_at: string
  }
}

/**
 * Allocates a family's next address from its pool of imported addresses, or else from its key. The allocation belongs
 * to the caller's transaction: a commit makes it permanent, a rollback undoes it. No address is allocated twice.
 *
 * The last part of a pool is reserved (the setting `quotas.pool_reserve_percent`), so one customer cannot empty the
 * pool for the others. If F addresses were free after the last import, the reserve is floor(F * percent / 100). Once
 * only the reserve or less is free, a customer gets an address only if it has received fewer addresses since that
 * import than are free now. A customer that has received none since then gets one while any is left, and a single
 * customer can never take the whole reserve.
 *
 * Free addresses are counted without waiting for other transactions. Concurrent requests from n customers can therefore
 * take up to n addresses too many from the reserve. One customer's requests run one after the other.
 */
import type { BankInstructions } from '../../contract/bank-details.ts'
import type { AddressFamily, CryptoNetwork } from '../../contract/crypto-networks.ts'
import { CRYPTO_NETWORKS } from '../../contract/crypto-networks.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import type { Quotas } from '../accounts/quotas.ts'
import type { KeyMaterial } from './derivation/key-material.ts'
import type { DepositInstructionTables } from './tables.ts'

/** The keys, for families that have one. */
export type AddressKeys = ReadonlyMap<AddressFamily, KeyMaterial>

/** Networks whose addresses cannot be derived from a public key, so the operator imports them. */
export const POOL_NETWORKS = ['SOLANA', 'STELLAR'] as const satisfies readonly CryptoNetwork[]

/** The sources of addresses and bank details, and the quotas. */
export interface AddressSupply {
  readonly keys: AddressKeys
  /** The setting `banking.instructions`, read for every request. */
  banks(): BankInstructions
  readonly quotas: Quotas
  /** Whether only approved accounts get instructions (the setting `accounts.approval`). */
  needsAccountApproval(): boolean
}

export interface AllocatedAddress {
  readonly address: string
  /** Its derivation index. Absent for an address from a pool. */
  readonly key?: { readonly firstAddress: string; readonly index: number }
}

/** `Retry-After` in seconds. The operator must act first. */
const RETRY_AFTER_SECONDS = '60'

/** A new address's owner. */
interface NewOwner {
  readonly customerId: string
  readonly depositAddressId: string
}

/**
 * Allocates a free address. Call it as late in a transaction as possible, because others wait until the transaction
 * ends. The customer has begun a creation in this transaction, so no concurrent request allocates an address for the
 * same customer.
 */
export async function allocateAddress(
  transaction: Transaction<DepositInstructionTables>,
  { keys, quotas }: AddressSupply,
  network: CryptoNetwork,
  owner: NewOwner,
): Promise<AllocatedAddress> {
  const family = CRYPTO_NETWORKS[network]
  const hasPool = POOL_NETWORKS.some((name) => name === network)
  const pooled = hasPool ? await takeFromPool(transaction, family, owner, quotas.poolReservePercent) : 'empty'
  if (typeof pooled === 'object') return pooled
  const key = keys.get(family)
  if (key !== undefined) return nextOfKey(transaction, key)
  const headers = { 'retry-after': RETRY_AFTER_SECONDS }
  if (pooled === 'reserved') {
    quotas.countRefusal('pool_reserve_percent')
    const detail = `the last ${network} addresses are reserved for customers that have received fewer`
    throw new Problem('pool_reserved', detail, { headers })
  }
  if (hasPool) throw new Problem('pool_empty', `no ${network} address is left`, { headers })
  throw new Problem('address_unavailable', `no key for ${network} addresses is configured`, { headers })
}

/**
 * One statement selects, marks and counts (`skip locked`), so concurrent requests do not wait for each other. It reads
 * few free rows: one more than the reserve, or one more than the customer's received addresses since the last import if
 * that is less.
 */
async function takeFromPool(
  transaction: Transaction<DepositInstructionTables>,
  family: AddressFamily,
  { customerId, depositAddressId }: NewOwner,
  reservePercent: number,
): Promise<AllocatedAddress | 'reserved' | 'empty'> {
  const { rows } = await sql<{ address: string | null; is_reserved: boolean }>`
    with last_import as (
      select imports, free_after_import::bigint * ${reservePercent}::integer / 100 as reserve
      from address_pool_imports where family = ${family}
    ), kept as (
      -- The number of free addresses that are reserved for other customers.
      select least(reserve, received) as addresses
      from last_import join address_pool_shares on import_number = imports
      where customer_id = ${customerId} and family = ${family}
    ), free as (
      select
        exists (
          select from address_pool where family = ${family} and deposit_address_id is null
          offset coalesce((select addresses from kept), 0)
        ) as has_enough,
        exists (select from address_pool where family = ${family} and deposit_address_id is null) as has_any
    ), taken as (
      update address_pool set deposit_address_id = ${depositAddressId}
      where id = (
        select id from address_pool where family = ${family} and deposit_address_id is null
        order by id limit 1 for update skip locked
      ) and (select has_enough from free)
      returning address
    ), counted as (
      insert into address_pool_shares (customer_id, family, import_number, received)
      select ${customerId}, ${family}, imports, 1 from taken, last_import
      on conflict (customer_id, family) do update set
        import_number = excluded.import_number,
        received = case when address_pool_shares.import_number = excluded.import_number
          then address_pool_shares.received + 1 else 1 end
    )
    select (select address from taken) as address, has_any and not has_enough as is_reserved from free
  `.execute(transaction)
  const { address, is_reserved } = rows[0] as { address: string | null; is_reserved: boolean }
  if (address !== null) return { address }
  return is_reserved ? 'reserved' : 'empty'
}

/** The counter's row stays locked until the transaction ends, so indexes have no gaps. */
async function nextOfKey(
  transaction: Transaction<DepositInstructionTables>,
  { family, firstAddress, addressAt }: KeyMaterial,
): Promise<AllocatedAddress> {
  const { next_index: next } = await transaction
    .insertInto('address_keys')
    .values({ family, first_address: firstAddress, next_index: 1 })
    .onConflict((conflict) =>
      conflict.columns(['family', 'first_address']).doUpdateSet({ next_index: sql`address_keys.next_index + 1` }),
    )
    .returning('next_index')
    .executeTakeFirstOrThrow()
  const index = next - 1
  return { address: addressAt(index), key: { firstAddress, index } }
}

/**
 * Where the next address of a family comes from: the pool of imported addresses where it has one, else its key. What is
 * taken is taken in the caller's transaction: with its commit it is given for ever, without it nothing was taken.
 */
import type { AddressFamily, CryptoNetwork } from '../contract/crypto-networks.ts'
import { CRYPTO_NETWORKS } from '../contract/crypto-networks.ts'
import { Problem } from '../http/problem.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { KeyMaterial } from './derivation/key-material.ts'
import type { DepositInstructionTables } from './tables.ts'

/** The key of each family that has one. */
export type AddressKeys = ReadonlyMap<AddressFamily, KeyMaterial>

/** Networks without addresses that follow from a public key: an operator imports them. */
export const POOL_NETWORKS = ['SOLANA', 'STELLAR'] as const satisfies readonly CryptoNetwork[]

export interface AllocatedAddress {
  readonly address: string
  /** Its place below a key; absent for one from a pool. */
  readonly key?: { readonly firstAddress: string; readonly index: number }
}

/** Seconds after which it may be tried again: an operator has to do something first. */
const RETRY_AFTER_SECONDS = '60'

/** An address that nobody has; asked for as late in a transaction as can be, because others wait for its end. */
export async function allocateAddress(
  transaction: Transaction<DepositInstructionTables>,
  keys: AddressKeys,
  network: CryptoNetwork,
  depositAddressId: string,
): Promise<AllocatedAddress> {
  const family = CRYPTO_NETWORKS[network]
  const hasPool = POOL_NETWORKS.some((name) => name === network)
  const pooled = hasPool ? await takeFromPool(transaction, family, depositAddressId) : undefined
  if (pooled !== undefined) return { address: pooled }
  const key = keys.get(family)
  if (key !== undefined) return nextOfKey(transaction, key)
  const headers = { 'retry-after': RETRY_AFTER_SECONDS }
  if (hasPool) throw new Problem('pool_empty', `no address of ${network} is left`, { headers })
  throw new Problem('address_unavailable', `there is no key for addresses of ${network}`, { headers })
}

/** One statement takes and marks: two that come at once pass each other by, and none waits. */
async function takeFromPool(
  transaction: Transaction<DepositInstructionTables>,
  family: AddressFamily,
  depositAddressId: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ address: string }>`
    update address_pool set deposit_address_id = ${depositAddressId}
    where id = (
      select id from address_pool where family = ${family} and deposit_address_id is null
      order by id limit 1 for update skip locked
    )
    returning address
  `.execute(transaction)
  return rows[0]?.address
}

/** The counter's row stays locked until the transaction ends, so indexes are given without a gap. */
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

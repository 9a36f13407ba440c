/**
 * Pools of imported addresses, for networks whose addresses cannot be derived from a public key. A used address stays
 * in its pool, so importing it again has no effect.
 */
import { CRYPTO_NETWORKS } from '../../contract/crypto-networks.ts'
import { type FieldError, invalidRequest, Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Kysely, Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { POOL_NETWORKS } from './allocation.ts'
import { addressFault } from './derivation/address-validity.ts'
import type { DepositInstructionTables } from './tables.ts'

export type PoolNetwork = (typeof POOL_NETWORKS)[number]

/** A pool in the operator API. */
export interface PoolDocument {
  readonly network: PoolNetwork
  /** Addresses not allocated yet. */
  readonly free: number
  readonly used: number
}

/** The most errors in one answer. */
const ERRORS_MAX = 20

/**
 * Adds the addresses that the pool does not contain yet, in the given order. Throws 409 when one is already a deposit
 * address from outside the pool, because importing it would allocate it twice.
 */
export async function importAddresses(
  transaction: Transaction<DepositInstructionTables>,
  actor: string,
  network: PoolNetwork,
  addresses: readonly string[],
): Promise<PoolDocument & { readonly added: number }> {
  refuseInvalid(network, addresses)
  const family = CRYPTO_NETWORKS[network]
  // One import at a time: two imports with the same addresses in different order would deadlock.
  await sql`select pg_advisory_xact_lock(hashtextextended('tidegate address pool', 0))`.execute(transaction)
  const { rows: taken } = await sql<{ id: string; address: string }>`
    select deposit_addresses.id, deposit_addresses.address
    from deposit_addresses left join address_pool on address_pool.deposit_address_id = deposit_addresses.id
    where deposit_addresses.family = ${family} and deposit_addresses.address = any(${[...addresses]}::text[])
      and address_pool.id is null
    limit 1
  `.execute(transaction)
  const [existing] = taken
  if (existing !== undefined) {
    throw new Problem('already_exists', `addresses: ${existing.address} is already a deposit address`, {
      meta: { existing },
    })
  }
  const { rows } = await sql`
    insert into address_pool (family, address)
    select ${family}, address from unnest(${[...new Set(addresses)]}::text[]) with ordinality as given (address, place)
    order by place
    on conflict on constraint address_pool_address do nothing
    returning id
  `.execute(transaction)
  const added = rows.length
  const pools = await countPools(transaction)
  const pool = pools.find((candidate) => candidate.network === network) as PoolDocument
  if (added > 0) {
    // An import restarts the counts for the pool's reserve and for each customer's received addresses.
    await sql`
      insert into address_pool_imports (family, imports, free_after_import) values (${family}, 1, ${pool.free}::integer)
      on conflict (family) do update
        set imports = address_pool_imports.imports + 1, free_after_import = excluded.free_after_import
    `.execute(transaction)
    await writeAudit(transaction, { actor, action: 'address_pool.import', subject: network, detail: { added } })
  }
  return { ...pool, added }
}

/** All pools, including empty ones. */
export async function countPools(tables: Kysely<DepositInstructionTables>): Promise<readonly PoolDocument[]> {
  const { rows } = await sql<{ family: string; free: number; used: number }>`
    select family,
      (count(*) filter (where deposit_address_id is null))::integer as free,
      count(deposit_address_id)::integer as used
    from address_pool group by family
  `.execute(tables)
  return POOL_NETWORKS.map((network) => {
    const row = rows.find(({ family }) => family === CRYPTO_NETWORKS[network])
    return { network, free: row?.free ?? 0, used: row?.used ?? 0 }
  })
}

function refuseInvalid(network: PoolNetwork, addresses: readonly string[]): void {
  const errors = addresses.flatMap((address, index): FieldError[] => {
    const detail = addressFault(network, address)
    return detail === undefined ? [] : [{ pointer: `/addresses/${index}`, detail }]
  })
  const [first, ...rest] = errors
  if (first !== undefined) throw invalidRequest([first, ...rest.slice(0, ERRORS_MAX - 1)])
}

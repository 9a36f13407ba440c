/**
 * Whose deposit address a text is: addresses are found in every form in which they may be written, by the index that
 * keeps them unique. It changes nothing.
 */
import { type AddressFamily, CRYPTO_NETWORKS, type CryptoNetwork } from '../contract/crypto-networks.ts'
import type { Db, Transaction } from '../store/db.ts'
import { type RawBuilder, sql } from '../store/sql.ts'
import { type DepositAddressDocument, DOCUMENT_COLUMNS, depositAddressDocument } from './deposit-addresses.ts'
import { storedForms } from './derivation/address-validity.ts'
import type { DepositInstructionTables } from './tables.ts'

const FAMILIES = [...new Set<AddressFamily>(Object.values(CRYPTO_NETWORKS))]

/** The deposit addresses, of any customer, that `address` names: at most one for each family that has this format. */
export async function depositAddressesAt(db: Db, address: string): Promise<readonly DepositAddressDocument[]> {
  const forms = FAMILIES.flatMap((family) => storedForms(family, address).map((form) => [family, form] as const))
  if (forms.length === 0) return []
  const rows = await db
    .tables<DepositInstructionTables>()
    .selectFrom('deposit_addresses')
    .select(DOCUMENT_COLUMNS)
    .where(isOneOf(forms))
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(depositAddressDocument)
}

/**
 * Whether payments to `address` on this network arrive at this service: at a deposit address of any customer, or at an
 * imported address that is given to a customer later.
 */
export async function isOwnAddress<Tables>(
  transaction: Transaction<Tables>,
  network: CryptoNetwork,
  address: string,
): Promise<boolean> {
  const family = CRYPTO_NETWORKS[network]
  const forms = storedForms(family, address).map((form) => [family, form] as const)
  if (forms.length === 0) return false
  const { rows } = await sql<{ is_own: boolean }>`
    select exists (select from deposit_addresses where ${isOneOf(forms)})
      or exists (select from address_pool where ${isOneOf(forms)}) as is_own
  `.execute(transaction)
  return rows[0]?.is_own === true
}

function isOneOf(forms: readonly (readonly [AddressFamily, string])[]): RawBuilder<boolean> {
  return sql<boolean>`(family, address) in (${sql.join(forms.map(([family, form]) => sql`(${family}, ${form})`))})`
}

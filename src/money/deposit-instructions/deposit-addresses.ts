/**
 * Deposit addresses in the store. Each belongs to one profile, never changes and is never reused. They are created in
 * the caller's transaction. Callers have authorised the request.
 */
import { CRYPTO_NETWORKS, type CryptoNetwork, networksOf } from '../../contract/crypto-networks.ts'
import { newId } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import { RawJson } from '../../platform/http/raw-json.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import type { WritableProfile } from '../accounts/profiles.ts'
import { profileForWrite, refuseOtherAccount } from '../accounts/profiles.ts'
import { type AddressSupply, allocateAddress } from './allocation.ts'
import type { DepositInstructionTables } from './tables.ts'

/** A deposit address in the public API. */
export interface DepositAddressDocument {
  readonly id: string
  readonly profile_id: string
  readonly customer_id: string
  readonly account_id?: string
  readonly identity_id?: string
  readonly ref_id?: string
  readonly crypto_network: CryptoNetwork
  readonly address: string
  readonly conversion_target_asset: string
  readonly compatible_crypto_networks: readonly CryptoNetwork[]
  /** Must be written with `writeJson`. Its members are in the store's order, as in lists. */
  readonly metadata: RawJson
  readonly created_at: string
}

/** A new address's optional properties. */
interface NewDepositAddress {
  readonly crypto_network: CryptoNetwork
  readonly identity_id?: string | undefined
  readonly ref_id?: string | undefined
  readonly conversion_target_asset?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** A customer's request for an address. */
export interface DepositAddressRequest extends NewDepositAddress {
  readonly profile_id: string
  readonly account_id?: string | undefined
}

type DepositAddressRow = Omit<
  DepositAddressDocument,
  'account_id' | 'identity_id' | 'ref_id' | 'compatible_crypto_networks' | 'metadata'
> & {
  readonly metadata_text: string
  readonly account_id: string | null
  readonly identity_id: string | null
  readonly ref_id: string | null
}

/** The target asset that means no conversion. */
export const NO_CONVERSION = 'NO_CONVERSION'

export const DEPOSIT_ADDRESS_COLUMNS = [
  'id',
  'profile_id',
  'customer_id',
  'account_id',
  'identity_id',
  'ref_id',
  'crypto_network',
  'address',
  'conversion_target_asset',
  'metadata',
  'created_at',
] as const

/** The columns for a document. */
export const DOCUMENT_COLUMNS = [...DEPOSIT_ADDRESS_COLUMNS, sql<string>`metadata::text`.as('metadata_text')] as const

/** Creates an address requested by a customer, with its audit row. Throws 409 for a `ref_id` that was used before. */
export async function createDepositAddress(
  transaction: Transaction<DepositInstructionTables>,
  supply: AddressSupply,
  { customerId, actor }: { readonly customerId: string; readonly actor: string },
  request: DepositAddressRequest,
): Promise<DepositAddressDocument> {
  const profile = await profileForWrite(
    transaction,
    customerId,
    request.profile_id,
    '/profile_id',
    supply.needsAccountApproval(),
  )
  await refuseOtherAccount(transaction, profile, request.account_id)
  // This customer's other creations wait here until this transaction ends, so none uses the same ref_id after this.
  const creation = await supply.quotas.begin(transaction, customerId, { addresses: 1 })
  await refuseUsedRefId(transaction, customerId, request.ref_id)
  creation.admit()
  const document = await insertDepositAddress(transaction, supply, profile, creation.createdAt, request)
  const { id, crypto_network, address } = document
  const detail = { customer_id: customerId, profile_id: profile.id, crypto_network, address }
  await writeAudit(transaction, { actor, action: 'deposit_address.create', subject: id, detail })
  return document
}

/**
 * Creates a profile's address without an audit row, because the caller's audit row names it. Throws 503 when none is
 * available.
 * @param profile the result from `profileForWrite` in this transaction
 * @param createdAt the time of the creation admitted in this transaction, with this address among its records
 */
export async function insertDepositAddress<Tables>(
  transaction: Transaction<Tables>,
  supply: AddressSupply,
  profile: WritableProfile,
  createdAt: string,
  wanted: NewDepositAddress,
): Promise<DepositAddressDocument> {
  // The caller's transaction type has the caller's tables. This module's tables are in the same store.
  const ours = transaction as unknown as Transaction<DepositInstructionTables>
  const { crypto_network, identity_id, ref_id, conversion_target_asset = NO_CONVERSION, metadata = {} } = wanted
  const id = newId()
  const owner = { customerId: profile.customerId, depositAddressId: id }
  const { address, key } = await allocateAddress(ours, supply, crypto_network, owner)
  const row = await ours
    .insertInto('deposit_addresses')
    .values({
      id,
      customer_id: profile.customerId,
      profile_id: profile.id,
      account_id: profile.account?.id ?? null,
      identity_id: identity_id ?? profile.account?.identityId ?? null,
      ref_id: ref_id ?? null,
      crypto_network,
      family: CRYPTO_NETWORKS[crypto_network],
      address,
      conversion_target_asset,
      metadata,
      created_at: createdAt,
      key_first_address: key?.firstAddress ?? null,
      key_index: key?.index ?? null,
    })
    .returning(DOCUMENT_COLUMNS)
    .executeTakeFirstOrThrow()
  return depositAddressDocument(row)
}

/** Undefined when the customer has none with this id. */
export async function getDepositAddress(
  db: Db,
  id: string,
  customerId: string,
): Promise<DepositAddressDocument | undefined> {
  const row = await db
    .tables<DepositInstructionTables>()
    .selectFrom('deposit_addresses')
    .select(DOCUMENT_COLUMNS)
    .where('id', '=', id)
    .where('customer_id', '=', customerId)
    .executeTakeFirst()
  return row === undefined ? undefined : depositAddressDocument(row)
}

export function depositAddressDocument(row: DepositAddressRow): DepositAddressDocument {
  const { account_id, identity_id, ref_id, crypto_network } = row
  return {
    id: row.id,
    profile_id: row.profile_id,
    customer_id: row.customer_id,
    ...(account_id === null ? {} : { account_id }),
    ...(identity_id === null ? {} : { identity_id }),
    ...(ref_id === null ? {} : { ref_id }),
    crypto_network,
    address: row.address,
    conversion_target_asset: row.conversion_target_asset,
    compatible_crypto_networks: networksOf(CRYPTO_NETWORKS[crypto_network]),
    metadata: new RawJson(row.metadata_text),
    created_at: row.created_at,
  }
}

async function refuseUsedRefId(
  transaction: Transaction<DepositInstructionTables>,
  customerId: string,
  refId: string | undefined,
): Promise<void> {
  if (refId === undefined) return
  const row = await transaction
    .selectFrom('deposit_addresses')
    .select(DOCUMENT_COLUMNS)
    .where('customer_id', '=', customerId)
    .where('ref_id', '=', refId)
    .executeTakeFirst()
  if (row === undefined) return
  throw new Problem('already_exists', 'ref_id: a deposit address with this ref_id exists', {
    meta: { existing: depositAddressDocument(row) },
  })
}

/**
 * Finds a deposit address's owner by the unique index, whatever the address's notation. Also tells whether payments to
 * an address arrive at this service. Read-only.
 */
import { type AddressFamily, CRYPTO_NETWORKS, type CryptoNetwork } from '../../contract/crypto-networks.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { type DepositAddressDocument, DOCUMENT_COLUMNS, depositAddressDocument } from './deposit-addresses.ts'
import { storedForms } from './derivation/address-validity.ts'
import type { DepositInstructionTables } from './tables.ts'

const FAMILIES = [...new Set<AddressFamily>(Object.values(CRYPTO_NETWORKS))]

/**
 * The deposit addresses, for any customer, that `address` names. Each address family with this format has at most one.
 */
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

/** A payment's destination address. */
export interface Payee {
  readonly network: CryptoNetwork
  readonly address: string
}

/** Whether payments to `address` on this network arrive at this service. */
export async function isOwnAddress<Tables>(
  transaction: Transaction<Tables>,
  network: CryptoNetwork,
  address: string,
): Promise<boolean> {
  const [isOwn] = await areOwnAddresses(transaction, [{ network, address }])
  return isOwn === true
}

/** Rejects this service's own addresses, where the payment would arrive as a deposit and be converted again. */
export async function refuseOwnAddress<Tables>(
  transaction: Transaction<Tables>,
  { network, address }: Payee,
  pointer: string,
): Promise<void> {
  if (!(await isOwnAddress(transaction, network, address))) return
  const detail = 'is a deposit address of this service. Name its profile as the destination instead'
  throw new Problem('own_address', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
}

/**
 * For each address, in the same order, whether payments to it arrive at this service: it is any customer's deposit
 * address, or an imported address. False for undefined.
 */
export async function areOwnAddresses<Tables>(
  transaction: Transaction<Tables>,
  payees: readonly (Payee | undefined)[],
): Promise<readonly boolean[]> {
  const forms = payees.flatMap((payee, index) => {
    if (payee === undefined) return []
    const family = CRYPTO_NETWORKS[payee.network]
    return storedForms(family, payee.address).map((form) => ({ index, family, form }))
  })
  if (forms.length === 0) return payees.map(() => false)
  const { rows } = await sql<{ index: number }>`
    select distinct index from unnest(
      ${forms.map(({ index }) => index)}::integer[],
      ${forms.map(({ family }) => family)}::text[],
      ${forms.map(({ form }) => form)}::text[]
    ) as wanted (index, family, address)
    where exists (
      select from deposit_addresses as own where own.family = wanted.family and own.address = wanted.address
    ) or exists (
      select from address_pool as own where own.family = wanted.family and own.address = wanted.address
    )
  `.execute(transaction)
  const own = new Set(rows.map(({ index }) => index))
  return payees.map((_, index) => own.has(index))
}

/** A deposit address, with the properties that decide how deposits are handled. */
export interface ReceivingAddress {
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly identityId: string | null
  /** The requested network. Payments arrive on every network in its family. */
  readonly network: CryptoNetwork
  readonly address: string
  readonly conversionTargetAsset: string
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The columns in a `ReceivingAddress`. */
const RECEIVING_COLUMNS = sql`id, customer_id as "customerId", profile_id as "profileId", identity_id as "identityId",
  crypto_network as "network", address, conversion_target_asset as "conversionTargetAsset", metadata`

/**
 * For each payment, in the same order, the deposit address at which it arrived, for any customer. Undefined when the
 * payee is not a deposit address.
 */
export async function receivingAddresses<Tables>(
  transaction: Transaction<Tables>,
  payments: readonly Payee[],
): Promise<readonly (ReceivingAddress | undefined)[]> {
  const forms = payments.map(({ network, address }) => {
    const family = CRYPTO_NETWORKS[network]
    return storedForms(family, address).map((form) => ({ family, form }))
  })
  const all = forms.flat()
  if (all.length === 0) return payments.map(() => undefined)
  const { rows } = await sql<ReceivingAddress & { readonly family: AddressFamily }>`
    select ${RECEIVING_COLUMNS}, family from deposit_addresses
    where (family, address) in (
      select * from unnest(${all.map(({ family }) => family)}::text[], ${all.map(({ form }) => form)}::text[])
    )
  `.execute(transaction)
  const found = new Map(rows.map(({ family, ...address }) => [`${family}/${address.address}`, address]))
  return forms.map((each) =>
    each.map(({ family, form }) => found.get(`${family}/${form}`)).find((address) => address !== undefined),
  )
}

/** The deposit address with this id, for any customer. */
export async function receivingAddressWithId<Tables>(
  transaction: Transaction<Tables>,
  id: string,
): Promise<ReceivingAddress | undefined> {
  const { rows } = await sql<ReceivingAddress>`
    select ${RECEIVING_COLUMNS} from deposit_addresses where id = ${id}
  `.execute(transaction)
  return rows[0]
}

function isOneOf(forms: readonly (readonly [AddressFamily, string])[]): RawBuilder<boolean> {
  return sql<boolean>`(family, address) in (${sql.join(forms.map(([family, form]) => sql`(${family}, ${form})`))})`
}

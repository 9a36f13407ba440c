/**
 * Registers destinations and makes their state transitions. Every write runs in the caller's transaction and writes one
 * audit row, without bank details. A request for the current state changes nothing and writes no row.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { type Notice, queueNotice } from '../../access/notices/queue.ts'
import type { FiatNetwork } from '../../contract/assets.ts'
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import { newId } from '../../platform/base/ids.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { profileForWrite } from '../accounts/profiles.ts'
import type { Quotas } from '../accounts/quotas.ts'
import { refuseOwnAddress } from '../deposit-instructions/address-owner.ts'
import type { SealedParties } from '../screening/parties.ts'
import { addressKeyOf, shownAddress } from './address-key.ts'
import { type BankDetails, encryptDetails } from './bank-details.ts'
import { destinationDocument, destinationFacts } from './documents.ts'
import { type DestinationKind, type DestinationStatus, NO_MEMO, stepTo } from './model.ts'
import {
  changeDestination,
  countDestinations,
  type DestinationRow,
  existingDestination,
  insertDestination,
  isUsableFrom,
  lockDestination,
  type NewDestination,
} from './store.ts'
import type { DestinationTables } from './tables.ts'

/** Per customer, of both kinds. */
const DESTINATIONS_MAX = 10_000

/** How destinations are registered. */
export interface RegistrationSettings {
  /** The setting `destinations.approval`. */
  readonly needsApproval: boolean
  /** The setting `destinations.cooling_hours`. */
  readonly coolingHours: number
  /** Whether `screening.url` is set: parties are accepted. */
  readonly isScreening: boolean
}

export interface Registrar {
  readonly quotas: Quotas
  readonly encryptionKey: Key
  /** The current settings. */
  settings(): RegistrationSettings
}

type Key = EncryptionKey | undefined

interface Writer {
  readonly customerId: string
  readonly actor: string
}

interface Requested {
  readonly ref_id: string
  readonly nickname?: string
  readonly profile_id?: string
  readonly memo?: string
  readonly parties?: SealedParties
}

export async function registerAddress(
  transaction: Transaction<DestinationTables>,
  registrar: Registrar,
  writer: Writer,
  body: Requested & { readonly crypto_network: CryptoNetwork; readonly address: string },
): Promise<DestinationRow> {
  const { crypto_network: network, address } = body
  await refuseOwnAddress(transaction, { network, address }, '/address')
  return await register(transaction, registrar, writer, body, {
    id: newId(),
    kind: 'CRYPTO',
    network,
    address: shownAddress(network, address),
    address_key: addressKeyOf(network, address),
    details: null,
  })
}

/** @throws {Problem} 503 without an encryption key */
export async function registerAccount(
  transaction: Transaction<DestinationTables>,
  registrar: Registrar,
  writer: Writer,
  body: Requested & BankDetails & { readonly fiat_network: FiatNetwork },
): Promise<DestinationRow> {
  const { fiat_network: network, owner, account } = body
  const id = newId()
  const details = encryptDetails(registrar.encryptionKey, id, { owner, account })
  const fiat = { id, kind: 'FIAT', network, address: null, address_key: null, details } as const
  return await register(transaction, registrar, writer, body, fiat)
}

async function register(
  transaction: Transaction<DestinationTables>,
  { quotas, encryptionKey, settings }: Registrar,
  { customerId, actor }: Writer,
  { ref_id, nickname = ref_id, profile_id, memo = NO_MEMO, parties }: Requested,
  place: Pick<NewDestination, 'id' | 'kind' | 'network' | 'address' | 'address_key' | 'details'>,
): Promise<DestinationRow> {
  const profile =
    profile_id === undefined ? undefined : await profileForWrite(transaction, customerId, profile_id, '/profile_id')
  // This customer's other creations wait here until this transaction ends, so none registers the same afterwards.
  const creation = await quotas.begin(transaction, customerId, {})
  const { needsApproval, coolingHours } = settings()
  const destination: NewDestination = {
    ...place,
    customer_id: customerId,
    profile_id: profile?.id ?? null,
    parties: parties === undefined ? null : parties(place.id),
    ref_id,
    nickname,
    memos: [memo],
    status: needsApproval ? 'PENDING' : 'ACTIVE',
    created_at: creation.createdAt,
  }
  const existing = await existingDestination(transaction, destination)
  if (existing !== undefined) {
    const meta = { existing: destinationDocument(existing.row, encryptionKey) }
    const detail = `${existing.member}: a destination with this ${existing.member} is registered`
    throw new Problem('already_exists', detail, { meta })
  }
  await refuseTooMany(transaction, customerId)
  creation.admit()
  const row = await insertDestination(transaction, destination, coolingHours)
  const { kind, network, address } = place
  const where = address === null ? {} : { address }
  const detail = {
    customer_id: customerId,
    ref_id,
    kind,
    network,
    ...where,
    status: row.status,
    usable_at: row.usable_at,
  }
  await writeAudit(transaction, { actor, action: 'destination.create', subject: row.id, detail })
  await queueNotice(transaction, noticeOf('destination.created', row, encryptionKey))
  return row
}

/** Counts deleted ones too, because their rows are kept. */
async function refuseTooMany(transaction: Transaction<DestinationTables>, customerId: string): Promise<void> {
  const used = await countDestinations(transaction, customerId, DESTINATIONS_MAX)
  if (used < DESTINATIONS_MAX) return
  const detail = `the customer has registered ${used} destinations, the most it may have`
  throw new Problem('quota_exceeded', detail, { meta: { limit: DESTINATIONS_MAX, used } })
}

/** Deletes a customer's destination: whatever has not left is not paid to it. */
export async function deleteDestination(
  transaction: Transaction<DestinationTables>,
  { customerId, actor }: Writer,
  kind: DestinationKind,
  id: string,
  key: Key,
): Promise<DestinationRow> {
  const row = (await lockDestination(transaction, id, { customerId, kind })) ?? noDestination()
  if (hasState(row, 'DELETED')) return row
  await writeAudit(transaction, { actor, action: 'destination.delete', subject: id, detail: { from: row.status } })
  const deleted = await changeDestination(transaction, id, { status: 'DELETED' })
  await queueNotice(transaction, noticeOf('destination.deleted', deleted, key))
  return deleted
}

/**
 * Makes a PENDING destination ACTIVE, or confirms one that a migration made. It is usable from `usable_at` on, and not
 * before now.
 */
export async function approveDestination(
  transaction: Transaction<DestinationTables>,
  actor: string,
  id: string,
  { usable_at, reason }: { readonly usable_at?: string; readonly reason?: string },
  key: Key,
): Promise<DestinationRow> {
  const row = (await lockDestination(transaction, id)) ?? noDestination()
  const isActive = hasState(row, 'ACTIVE')
  const isUnchanged = usable_at === undefined || (await isUsableFrom(transaction, id, usable_at))
  if (isActive && !row.unverified && isUnchanged) return row
  if (usable_at !== undefined && reason === undefined) {
    throw invalidRequest([{ pointer: '/reason', detail: 'is required with usable_at' }])
  }
  const changed = await changeDestination(transaction, id, {
    status: 'ACTIVE',
    isVerified: true,
    ...(isActive && isUnchanged ? {} : { usableAt: usable_at ?? row.usable_at }),
  })
  const detail = { from: row.status, usable_at: changed.usable_at, ...(reason === undefined ? {} : { reason }) }
  await writeAudit(transaction, { actor, action: 'destination.approve', subject: id, detail })
  await queueNotice(transaction, noticeOf('destination.approved', changed, key))
  return changed
}

export async function rejectDestination(
  transaction: Transaction<DestinationTables>,
  actor: string,
  id: string,
  reason: string,
): Promise<DestinationRow> {
  const row = (await lockDestination(transaction, id)) ?? noDestination()
  if (hasState(row, 'REJECTED')) return row
  await writeAudit(transaction, {
    actor,
    action: 'destination.reject',
    subject: id,
    detail: { from: row.status, reason },
  })
  return await changeDestination(transaction, id, { status: 'REJECTED', rejectReason: reason })
}

function noticeOf(type: Notice['type'], row: DestinationRow, key: Key): Notice {
  return { customerId: row.customer_id, type, subject: row.id, facts: destinationFacts(row, key) }
}

/** Whether it already has the requested state. Throws 409 when there is no transition to it. */
function hasState({ status: current }: DestinationRow, wanted: DestinationStatus): boolean {
  const step = stepTo(current, wanted)
  if (step !== 'impossible') return step === 'unchanged'
  const detail = `the destination is ${current} and cannot become ${wanted}`
  throw new Problem('invalid_state', detail, { meta: { current } })
}

export function noDestination(): never {
  throw new Problem('not_found', 'there is no destination with this id')
}

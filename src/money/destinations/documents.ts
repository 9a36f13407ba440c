/** Destinations as customers and operators see them. Numbers of fiat accounts are masked, unless a caller is shown them. */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { openParties } from '../screening/parties.ts'
import { type BankDetails, canDecrypt, decryptDetails, maskedAccount } from './bank-details.ts'
import type { DestinationRow } from './store.ts'

type Key = EncryptionKey | undefined

/** A crypto address or fiat account in its customer's API. What another key has encrypted is left out. */
export function destinationDocument(row: DestinationRow, key: Key): object {
  const common = { ...commonMembers(row), ...partiesMember(row, key) }
  if (row.kind === 'CRYPTO') return { ...namesOf(row), ...cryptoMembers(row), ...common }
  return { ...namesOf(row), ...fiatMembers(row, key), unverified: row.unverified, ...common }
}

/** Parties encrypted with another key are left out. */
export function partiesMember({ id, parties }: DestinationRow, key: Key): { readonly parties?: object } {
  if (parties === null || !canDecrypt(key, parties)) return {}
  return { parties: JSON.parse(openParties(parties, id, key)) }
}

/**
 * Throws 503 for details encrypted with another key.
 * @param isFull whether the account's numbers are shown in full
 */
export function reviewedDocument(row: DestinationRow, key: Key, isFull = false): object {
  if (row.details === null) return operatorDocument(row, key)
  const { owner, account } = decryptDetails(key, row.id, row.details)
  return { ...operatorDocument(row, key), owner, account: isFull ? account : maskedAccount(account) }
}

/** Details encrypted with another key are left out. */
export function operatorDocument(row: DestinationRow, key: Key): object {
  const { kind, from_rules, memos, unverified } = row
  return {
    ...namesOf(row),
    kind,
    ...(kind === 'CRYPTO' ? cryptoMembers(row) : fiatMembers(row, key)),
    ...(from_rules ? { memos } : {}),
    unverified,
    ...commonMembers(row),
  }
}

/** What people recognise it by, without bank details. Details encrypted with another key are left out. */
export function destinationFacts(row: DestinationRow, key: Key): Readonly<Record<string, string>> {
  const { kind, nickname, ref_id, network, address, memos, status, usable_at, details, id } = row
  const isReadable = details !== null && canDecrypt(key, details)
  const { account_number, iban } = isReadable ? maskedAccount(decryptDetails(key, id, details).account) : {}
  const number = account_number ?? iban
  const [memo = ''] = memos
  return {
    kind,
    nickname,
    ref_id,
    network,
    ...(address === null ? {} : { address }),
    ...(number === undefined ? {} : { account_number: number }),
    ...(memo === '' ? {} : { memo }),
    status,
    usable_at,
  }
}

function namesOf({ id, customer_id, profile_id, ref_id, nickname }: DestinationRow) {
  return { id, customer_id, ...(profile_id === null ? {} : { profile_id }), ref_id, nickname }
}

function cryptoMembers({ network, address }: DestinationRow) {
  return { crypto_network: network, address }
}

function fiatMembers({ id, network, details }: DestinationRow, key: Key) {
  if (details === null || !canDecrypt(key, details)) return { fiat_network: network }
  const { owner, account }: BankDetails = decryptDetails(key, id, details)
  return { fiat_network: network, owner, account: maskedAccount(account) }
}

function commonMembers({ memos, status, usable_at, reject_reason, created_at, updated_at }: DestinationRow) {
  const [memo = ''] = memos
  return {
    ...(memos.length === 1 && memo !== '' ? { memo } : {}),
    status,
    usable_at,
    ...(reject_reason === null ? {} : { reject_reason }),
    created_at,
    updated_at,
  }
}

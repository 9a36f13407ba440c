/**
 * Fiat deposit instructions: the memo that a payer writes on the transfer, which identifies the profile. A memo belongs
 * to one profile, never changes and is never reused. Owns the table `fiat_instructions`. The bank details are not
 * stored: answers have the configured ones.
 */
import { randomInt } from 'node:crypto'
import type { FiatAccountType, FiatNetwork } from '../../contract/assets.ts'
import { type BankInstructions, bankFor, type FiatPlace } from '../../contract/bank-details.ts'
import { assert } from '../../platform/base/assert.ts'
import { newId } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { profileForWrite, refuseOtherAccount, type WritableProfile } from '../accounts/profiles.ts'
import type { AddressSupply } from './allocation.ts'
import { fiatInstructionsText } from './fiat-instructions-list.ts'
import type { FiatInstructionTables } from './tables.ts'

export interface FiatInstructions {
  readonly id: string
  readonly memoId: string
}

interface NewFiatInstructions {
  readonly network: FiatNetwork
  readonly account_type?: FiatAccountType | undefined
  readonly identity_id?: string | null | undefined
  readonly ref_id?: string | undefined
}

/** A customer's request for a memo without a rule. */
export interface FiatInstructionsRequest {
  readonly profile_id: string
  readonly fiat_network: FiatNetwork
  readonly account_type?: FiatAccountType | undefined
  readonly account_id?: string | undefined
  readonly identity_id?: string | undefined
  readonly ref_id?: string | undefined
}

/** Without 0, 1, I, L, O and U, because people copy memos by hand and read them out on the telephone. */
export const MEMO_LETTERS = '23456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 30^12 values: a typing error practically never results in another memo. */
export const MEMO_LENGTH = 12
/** Attempts to find a free memo. A collision is practically impossible. */
const ATTEMPTS_MAX = 5

/**
 * Creates a profile's instructions without an audit row, because the caller's audit row names them.
 * @param profile the result from `profileForWrite` in this transaction
 * @param createdAt the creation time of their rule, in this transaction
 */
export async function insertFiatInstructions<Tables>(
  transaction: Transaction<Tables>,
  profile: WritableProfile,
  createdAt: string,
  wanted: NewFiatInstructions,
  newMemo: () => string = randomMemo,
): Promise<FiatInstructions> {
  // The caller's transaction type has the caller's tables. This file's table is in the same store.
  const ours = transaction as unknown as Transaction<FiatInstructionTables>
  const { network, account_type = null, ref_id = null } = wanted
  const owner = {
    customer_id: profile.customerId,
    profile_id: profile.id,
    account_id: profile.account?.id ?? null,
    identity_id: wanted.identity_id ?? profile.account?.identityId ?? null,
  }
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const row = await ours
      .insertInto('fiat_instructions')
      .values({ id: newId(), ...owner, ref_id, network, account_type, memo_id: newMemo(), created_at: createdAt })
      .onConflict((conflict) => conflict.constraint('fiat_instructions_memo').doNothing())
      .returning(['id', 'memo_id'])
      .executeTakeFirst()
    if (row !== undefined) return { id: row.id, memoId: row.memo_id }
  }
  assert(false, `one of ${ATTEMPTS_MAX} random memos is free`)
}

/** Creates a memo requested by a customer, with its audit row. Throws 409 for a used `ref_id`. */
export async function createFiatInstructions(
  transaction: Transaction<FiatInstructionTables>,
  supply: AddressSupply,
  { customerId, actor }: { readonly customerId: string; readonly actor: string },
  request: FiatInstructionsRequest,
): Promise<string> {
  const { fiat_network: network, account_type, identity_id, ref_id } = request
  const banks = supply.banks()
  refuseWithoutBank(banks, { network, account_type }, '/fiat_network')
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
  const existing =
    ref_id === undefined ? undefined : await fiatInstructionsText(transaction, { customerId, ref_id }, banks)
  if (existing !== undefined) {
    const meta = { existing: JSON.parse(existing) as unknown }
    throw new Problem('already_exists', 'ref_id: fiat deposit instructions with this ref_id exist', { meta })
  }
  creation.admit()
  const wanted = { network, account_type, identity_id, ref_id }
  const { id } = await insertFiatInstructions(transaction, profile, creation.createdAt, wanted)
  const detail = { customer_id: customerId, profile_id: profile.id, fiat_network: network }
  await writeAudit(transaction, { actor, action: 'fiat_instructions.create', subject: id, detail })
  return (await fiatInstructionsText(transaction, { customerId, id }, banks)) as string
}

/** Throws 400 when no bank details are configured for the place. */
export function refuseWithoutBank(banks: BankInstructions, place: FiatPlace, pointer: string): void {
  if (bankFor(banks, place) !== undefined) return
  const { network, account_type } = place
  const what = account_type == null || network === 'CUBIX' ? network : `${network} with account type ${account_type}`
  const detail = `the operator has no bank details for ${what}`
  throw new Problem('fiat_network_unavailable', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
}

/** A memo's owner. */
export interface MemoOwner {
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly memoId: string
}

/** The memos among the given normalised texts, with their owners. */
export async function memoOwners<Tables>(
  transaction: Transaction<Tables>,
  memos: readonly string[],
): Promise<readonly MemoOwner[]> {
  if (memos.length === 0) return []
  const { rows } = await sql<{ id: string; customer_id: string; profile_id: string; memo_id: string }>`
    select id, customer_id, profile_id, memo_id from fiat_instructions where memo_id = any(${[...memos]}::text[])
  `.execute(transaction)
  return rows.map(({ id, customer_id: customerId, profile_id: profileId, memo_id: memoId }) => ({
    id,
    customerId,
    profileId,
    memoId,
  }))
}

function randomMemo(): string {
  return Array.from({ length: MEMO_LENGTH }, () => MEMO_LETTERS[randomInt(MEMO_LETTERS.length)]).join('')
}

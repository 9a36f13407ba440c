/**
 * Fiat deposit instructions: the memo that a payer writes on the transfer, which identifies the profile. A memo belongs
 * to one profile, never changes and is never reused. Owns the table `fiat_instructions`.
 */
import { randomInt } from 'node:crypto'
import type { FiatAccountType, FiatNetwork } from '../../contract/assets.ts'
import { assert } from '../../platform/base/assert.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import type { WritableProfile } from '../accounts/profiles.ts'

export interface FiatInstructions {
  readonly id: string
  readonly memoId: string
}

interface FiatInstructionTables {
  fiat_instructions: {
    id: string
    customer_id: string
    profile_id: string
    network: FiatNetwork
    account_type: FiatAccountType | null
    memo_id: string
    created_at: string
  }
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
  wanted: { readonly network: FiatNetwork; readonly account_type?: FiatAccountType },
  newMemo: () => string = randomMemo,
): Promise<FiatInstructions> {
  // The caller's transaction type has the caller's tables. This file's table is in the same store.
  const ours = transaction as unknown as Transaction<FiatInstructionTables>
  const { network, account_type = null } = wanted
  const owner = { customer_id: profile.customerId, profile_id: profile.id }
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const row = await ours
      .insertInto('fiat_instructions')
      .values({ id: newId(), ...owner, network, account_type, memo_id: newMemo(), created_at: createdAt })
      .onConflict((conflict) => conflict.constraint('fiat_instructions_memo').doNothing())
      .returning(['id', 'memo_id'])
      .executeTakeFirst()
    if (row !== undefined) return { id: row.id, memoId: row.memo_id }
  }
  assert(false, `one of ${ATTEMPTS_MAX} random memos is free`)
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

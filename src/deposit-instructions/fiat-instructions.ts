/**
 * Deposit instructions for money at a bank: the memo that a payer writes on the transfer, by which it is known whose
 * the money is. A memo is given to one profile, never changes and is never given again; it owns that table. It knows
 * no bank.
 */
import { randomInt } from 'node:crypto'
import type { WritableProfile } from '../accounts/profiles.ts'
import { assert } from '../base/assert.ts'
import { newId } from '../base/ids.ts'
import type { FiatAccountType, FiatNetwork } from '../contract/assets.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'

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

/** Without 0, 1, I, L, O and U: people copy memos by hand, and read them out on the telephone. */
export const MEMO_LETTERS = '23456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 30 to the power of 12: that a slip of the pen hits another memo does not happen with any number of them. */
export const MEMO_LENGTH = 12
/** A memo that is taken is not to be expected once. */
const ATTEMPTS_MAX = 5

/**
 * New instructions for a profile, without an audit row: that of what they are created for names them.
 * @param profile as `profileForWrite` gave it in this transaction
 * @param createdAt of the rule that they are created for, in this transaction
 */
export async function insertFiatInstructions<Tables>(
  transaction: Transaction<Tables>,
  profile: WritableProfile,
  createdAt: string,
  wanted: { readonly network: FiatNetwork; readonly account_type?: FiatAccountType },
  newMemo: () => string = randomMemo,
): Promise<FiatInstructions> {
  // The caller's transaction knows the caller's tables; the table of this file is in the same store.
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
  assert(false, 'random memos are taken again and again')
}

/** Whose a memo is. */
export interface MemoOwner {
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly memoId: string
}

/** Those of the texts that are memos, in the form in which memos are given out, with their owners. */
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

/**
 * Ledger entries: an operator's bookings by the table in `entry-kinds`. An entry is written once per reference,
 * together with its postings and audit row, and never changes. A reversal is an entry with the opposite postings. When
 * it renews a debt, the profile's available money repays the debt at once, unless the reversal gives a repayment back.
 *
 * The desk may be short after an entry: its position is its receipts less its payments. No sweep takes more than the
 * collected fees, and no profile balance goes below zero.
 */
import { isUuid, newId } from '../../platform/base/ids.ts'
import { readInstant, TIME_RULE } from '../../platform/http/list-times.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { lockNames } from '../../platform/store/lock-order.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { formatAmount, parseAmount } from './amounts.ts'
import { readDecimals } from './assets.ts'
import { serviceBalance } from './checkpoints.ts'
import {
  type EntryKind,
  type EntryLeg,
  type EntryPosting,
  entryPostings,
  isAboutProfile,
  legDocument,
  type RequestedLeg,
  readLegs,
  reversedLeg,
  reversedPostings,
} from './entry-kinds.ts'
import { entryText } from './entry-lists.ts'
import type { EntryRequest } from './entry-schemas.ts'
import { lockBalances, post } from './ledger.ts'
import type { MinorUnits } from './posting.ts'

type Decimals = ReadonlyMap<string, number>

/** Books an entry and returns its JSON text. Throws 409 when an entry with this reference has other content. */
export async function createEntry<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  body: EntryRequest,
): Promise<string> {
  const decimals = await readDecimals(transaction)
  const entry = readEntry(body, decimals)
  const { id, kind, profileId, effectiveAt } = entry
  const { reference, reason } = body
  const legs = entry.legs.map((leg) => legDocument(leg, decimals))
  if (profileId !== undefined) await refuseUnknownProfile(transaction, profileId)
  const content = sql`
    ${kind}::text, ${JSON.stringify(legs)}::jsonb, ${profileId ?? null}::uuid, ${reason}::text,
    ${effectiveAt ?? null}::timestamptz`
  const { rows } = await sql`
    insert into ledger_entries (kind, legs, profile_id, reason, effective_at, id, reference)
    values (${content}, ${id}, ${reference})
    on conflict (reference) do nothing
    returning id
  `.execute(transaction)
  if (rows.length === 0) return await existingEntry(transaction, reference, content)
  await refuseUncovered(transaction, entry, decimals)
  await post(transaction, entryPostings(entry))
  const detail = { kind, legs, reference, reason, ...(profileId === undefined ? {} : { profile_id: profileId }) }
  await writeAudit(transaction, { actor, action: 'ledger_entry.create', subject: id, detail })
  return (await entryText(transaction, id)) as string
}

/** Books an entry's opposite, once, and returns the entry's JSON text. */
export async function reverseEntry<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  reason: string,
): Promise<string> {
  const { rows } = await sql<EntryRow>`
    select kind, legs, profile_id, reverses from ledger_entries where id = ${id}
  `.execute(transaction)
  const [row] = rows
  if (row === undefined) return noEntry()
  if (row.reverses !== null) {
    const meta = { current: 'REVERSAL' }
    throw new Problem('invalid_state', 'the entry is a reversal: book a new entry instead', { meta })
  }
  const decimals = await readDecimals(transaction)
  const { kind, profile_id } = row
  const legs = row.legs.map((leg) => legOf(leg, decimals))
  const reversalId = newId()
  const opposite = legs.map((leg) => legDocument(reversedLeg(leg), decimals))
  const { rows: inserted } = await sql`
    insert into ledger_entries (id, kind, legs, profile_id, reason, reverses)
    values (${reversalId}, ${kind}, ${JSON.stringify(opposite)}::jsonb, ${profile_id}, ${reason}, ${id})
    on conflict (reverses) do nothing
    returning id
  `.execute(transaction)
  if (inserted.length > 0) {
    const postings = entryPostings({ id, kind, legs, profileId: profile_id ?? undefined, effectiveAt: undefined })
    await post(transaction, reversedPostings(postings, reversalId))
    const detail = { reversal_id: reversalId, reason }
    await writeAudit(transaction, { actor, action: 'ledger_entry.reverse', subject: id, detail })
  }
  return (await entryText(transaction, id)) as string
}

export function noEntry(): never {
  throw new Problem('not_found', 'there is no ledger entry with this id')
}

interface EntryRow {
  readonly kind: EntryKind
  readonly legs: readonly RequestedLeg[]
  readonly profile_id: string | null
  readonly reverses: string | null
}

function legOf({ asset, amount, direction }: RequestedLeg, decimals: Decimals): EntryLeg {
  const units = parseAmount(amount, decimals.get(asset) as number) as MinorUnits
  return { asset, amount: units, ...(direction === undefined ? {} : { direction }) }
}

/** Throws 400 with the first fault. */
function readEntry({ kind, legs, profile_id, effective_at }: EntryRequest, decimals: Decimals): EntryPosting {
  const read = readLegs(kind, legs, decimals)
  const isAbout = isAboutProfile(kind)
  if (isAbout !== (profile_id !== undefined)) {
    const detail = isAbout ? `is required: ${kind} is about a profile` : `${kind} is not about a profile`
    throw invalidRequest([{ pointer: '/profile_id', detail }])
  }
  const instant = effective_at === undefined ? undefined : readInstant(effective_at)
  if (effective_at !== undefined && instant === undefined) {
    throw invalidRequest([{ pointer: '/effective_at', detail: TIME_RULE }])
  }
  const effectiveAt = instant === undefined ? undefined : new Date(instant.milliseconds).toISOString()
  return { id: newId(), kind, legs: read, profileId: profile_id?.toLowerCase(), effectiveAt }
}

async function refuseUnknownProfile<Tables>(transaction: Transaction<Tables>, id: string): Promise<void> {
  if (isUuid(id)) {
    const { rows } = await sql`select id from profiles where id = ${id}`.execute(transaction)
    if (rows.length > 0) return
  }
  const detail = 'there is no profile with this id'
  throw new Problem('not_found', `/profile_id: ${detail}`, { errors: [{ pointer: '/profile_id', detail }] })
}

/** The entry with this reference. Throws 409 unless its content is the same. */
async function existingEntry<Tables>(
  transaction: Transaction<Tables>,
  reference: string,
  content: RawBuilder<unknown>,
): Promise<string> {
  const { rows } = await sql<{ readonly id: string; readonly is_same: boolean }>`
    select id, (kind, legs, profile_id, reason, effective_at) is not distinct from (${content}) as is_same
    from ledger_entries where reference = ${reference}
  `.execute(transaction)
  const { id, is_same } = rows[0] as (typeof rows)[number]
  const text = (await entryText(transaction, id)) as string
  if (is_same) return text
  const meta = { existing: JSON.parse(text) as unknown }
  throw new Problem('already_exists', 'reference: an entry with this reference has different content', { meta })
}

/** Refuses a sweep above the collected fees, and an amount above the profile's debt or available money. */
async function refuseUncovered<Tables>(
  transaction: Transaction<Tables>,
  { kind, legs: [leg], profileId }: EntryPosting,
  decimals: Decimals,
): Promise<void> {
  const { asset, amount } = leg as EntryLeg
  const facts = (covered: MinorUnits) => {
    const text = (units: MinorUnits) => formatAmount(units, decimals.get(asset) as number)
    return { meta: { available: text(covered), needed: text(amount) } }
  }
  if (kind === 'fee_sweep') {
    // Sweeps wait here for each other. A fee given back after a sweep may still leave the account below zero.
    await lockNames(transaction, 'fees', ['tidegate fee sweep'])
    const collected = await serviceBalance(transaction, 'fees', asset)
    if (collected < amount)
      throw new Problem('invalid_state', `fewer fees in ${asset} were collected`, facts(collected))
  }
  if (profileId === undefined) return
  const key = { profileId, asset }
  const { available, receivable } = (await lockBalances(transaction, [key]))(key)
  if (receivable < amount)
    throw new Problem('invalid_state', `the profile owes less than this amount of ${asset}`, facts(receivable))
  if (kind === 'debt_repayment' && available < amount) {
    const detail = `the profile does not have enough ${asset} available`
    throw new Problem('insufficient_funds', detail, facts(available))
  }
}

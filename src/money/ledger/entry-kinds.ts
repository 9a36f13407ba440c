/**
 * The kinds of ledger entries. With them an operator books events outside the service: hedges, funding, fees, network
 * costs, debts. The table fixes each kind's accounts, so no entry but a repayment touches a customer's money.
 */
import { invalidRequest } from '../../platform/http/problem.ts'
import { formatAmount, parseAmount } from './amounts.ts'
import type { LedgerAccount, MinorUnits, Posting, ProfileBucket, ServiceBucket } from './posting.ts'

export const ENTRY_DIRECTIONS = ['IN', 'OUT'] as const
export type EntryDirection = (typeof ENTRY_DIRECTIONS)[number]

interface EntryKindRow {
  /** An entry has one leg for each direction, or a single leg without a direction when the list is empty. */
  readonly directions: readonly EntryDirection[]
  /** A leg debits `debit` and credits `credit`. A leg with the direction IN does the opposite. */
  readonly debit: ServiceBucket | ProfileBucket
  readonly credit: ServiceBucket | ProfileBucket
}

const ROWS = {
  desk_hedge: { directions: ['IN', 'OUT'], debit: 'desk', credit: 'external' },
  desk_funding: { directions: ['IN'], debit: 'desk', credit: 'external' },
  desk_withdrawal: { directions: ['OUT'], debit: 'desk', credit: 'external' },
  fee_sweep: { directions: ['OUT'], debit: 'fees', credit: 'external' },
  network_cost: { directions: ['OUT'], debit: 'desk', credit: 'external' },
  debt_repayment: { directions: [], debit: 'available', credit: 'receivable' },
  write_off: { directions: [], debit: 'desk', credit: 'receivable' },
} as const satisfies Record<string, EntryKindRow>

export type EntryKind = keyof typeof ROWS
export const ENTRY_KINDS = Object.keys(ROWS) as readonly EntryKind[]

/** A leg as requested. */
export interface RequestedLeg {
  readonly asset: string
  readonly amount: string
  readonly direction?: EntryDirection
}

export interface EntryLeg {
  readonly asset: string
  readonly amount: MinorUnits
  readonly direction?: EntryDirection
}

/** Whether the kind's entries are about a profile. */
export function isAboutProfile(kind: EntryKind): boolean {
  return ROWS[kind].credit === 'receivable'
}

/** The legs with their directions, IN before OUT. Throws 400 with the first fault. */
export function readLegs(
  kind: EntryKind,
  legs: readonly RequestedLeg[],
  decimals: ReadonlyMap<string, number>,
): readonly EntryLeg[] {
  const { directions }: EntryKindRow = ROWS[kind]
  if (legs.length !== Math.max(1, directions.length)) {
    throw fault('/legs', `${kind} has ${directions.length === 2 ? 'two legs, one IN and one OUT' : 'one leg'}`)
  }
  const read = legs.map((leg, index) => readLeg(leg, directions, `/legs/${index}`, decimals))
  const [first, second] = read
  if (second === undefined) return read
  if (first?.direction === second.direction) throw fault('/legs', 'must be one IN and one OUT')
  if (first?.asset === second.asset) throw fault('/legs', 'must have two different assets')
  return first?.direction === 'OUT' ? read.reverse() : read
}

function readLeg(
  { asset, amount: text, direction }: RequestedLeg,
  directions: readonly EntryDirection[],
  pointer: string,
  decimals: ReadonlyMap<string, number>,
): EntryLeg {
  const places = decimals.get(asset)
  if (places === undefined) throw fault(`${pointer}/asset`, 'is not one of the ledger’s assets')
  const amount = parseAmount(text, places)
  if (typeof amount === 'string') throw fault(`${pointer}/amount`, amount)
  const [only, other] = directions
  if (only === undefined) {
    if (direction !== undefined) throw fault(`${pointer}/direction`, 'must be absent: this kind has none')
    return { asset, amount }
  }
  const known = direction ?? (other === undefined ? only : undefined)
  if (known === undefined || !directions.includes(known)) {
    throw fault(`${pointer}/direction`, `must be ${directions.join(' or ')}`)
  }
  return { asset, amount, direction: known }
}

function fault(pointer: string, detail: string) {
  return invalidRequest([{ pointer, detail }])
}

/** The leg as it is stored and shown. */
export function legDocument(
  { asset, amount, direction }: EntryLeg,
  decimals: ReadonlyMap<string, number>,
): RequestedLeg {
  return { asset, amount: formatAmount(amount, decimals.get(asset) as number), ...(direction ? { direction } : {}) }
}

/** The entry data that determine its postings. */
export interface EntryPosting {
  readonly id: string
  readonly kind: EntryKind
  readonly legs: readonly EntryLeg[]
  /** Set when the kind is about a profile. */
  readonly profileId: string | undefined
  readonly effectiveAt: string | undefined
}

/** One posting per leg. */
export function entryPostings({ id, kind, legs, profileId, effectiveAt }: EntryPosting): readonly Posting[] {
  const account = (bucket: ServiceBucket | ProfileBucket): LedgerAccount =>
    ({ bucket, ...(bucket === 'available' || bucket === 'receivable' ? { profileId } : {}) }) as LedgerAccount
  const { debit, credit }: EntryKindRow = ROWS[kind]
  return legs.map(({ asset, amount, direction }) => ({
    asset,
    amount,
    debit: account(direction === 'IN' ? credit : debit),
    credit: account(direction === 'IN' ? debit : credit),
    groupId: id,
    ...(effectiveAt === undefined ? {} : { effectiveAt }),
  }))
}

export function reversedLeg({ asset, amount, direction }: EntryLeg): EntryLeg {
  return { asset, amount, ...(direction === undefined ? {} : { direction: direction === 'IN' ? 'OUT' : 'IN' }) }
}

/** The postings that take these back. */
export function reversedPostings(postings: readonly Posting[], groupId: string): readonly Posting[] {
  return postings.map(({ asset, amount, debit, credit }) => ({ asset, amount, debit: credit, credit: debit, groupId }))
}

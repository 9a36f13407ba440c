/** Reads a customer's limits and their use, and writes the customer's own limits with one audit row. */
import { queueNotice } from '../../access/notices/queue.ts'
import { parseDecimal } from '../../platform/base/decimal.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Kysely, Transaction } from '../../platform/store/db.ts'
import { lockNames } from '../../platform/store/lock-order.ts'
import { sql } from '../../platform/store/sql.ts'
import { inserting } from '../../platform/store/unnested.ts'
import type { MovementDestination } from '../gates/model.ts'
import { formatAmount, parseAmount } from '../ledger/amounts.ts'
import { type LedgerAsset, refuseOtherDecimals } from '../ledger/assets.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import { hourText } from './gate.ts'
import { destinationOfKey } from './limited-movement.ts'
import { effectiveLimits, type HourlyUse, type Limit, useOf } from './model.ts'
import { hourNumber, isCounted, limitOf, type OwnLimitRow } from './use-store.ts'

/** A limit with its amount as decimal text. */
export type LimitDocument = Omit<Limit, 'amount'> & { readonly amount: string }

export interface LimitUseDocument extends Omit<Limit, 'amount'> {
  readonly destination_id?: string
  readonly destination?: MovementDestination
  readonly limit: string
  readonly used: string
  readonly available: string
  readonly next_release_at?: string
}

/** A customer's limits in the operator API. */
export interface CustomerLimitsDocument {
  readonly customer_id: string
  readonly limits: readonly LimitDocument[]
  readonly use: readonly LimitUseDocument[]
}

/** At least the decimals of every asset. */
const SCALE = 40
/** The most used destinations are shown. */
const DESTINATIONS_MAX = 1_000

interface UseRow {
  readonly asset: string
  /** Null: all destinations. */
  readonly destination: string | null
  /** A registered address's id. */
  readonly address_id: string | null
  readonly amount: string
  readonly first_hour: number
}

interface LimitsRow {
  readonly own: readonly Omit<OwnLimitRow, 'customer_id'>[]
  readonly uses: readonly UseRow[]
  readonly decimals: Readonly<Record<string, number>> | null
}

/** @param defaults the setting `limits.defaults` */
export async function customerLimits<Tables>(
  tables: Kysely<Tables>,
  customerId: string,
  defaults: readonly Limit[],
): Promise<CustomerLimitsDocument> {
  const { rows } = await sql<LimitsRow>`
    select
      (select coalesce(jsonb_agg(jsonb_build_object('scope', scope, 'asset', asset, 'window', "window",
          'amount', amount::text) order by asset, scope, "window"), '[]')
        from limit_overrides where customer_id = ${customerId}) as own,
      (select coalesce(jsonb_agg(to_jsonb(uses) || jsonb_build_object('address_id', (
          select id from destinations where customer_id = ${customerId} and status <> 'DELETED'
            and network = split_part(uses.destination, '/', 2) and address_key = split_part(uses.destination, '/', 3)
        ))), '[]') from (
        select asset, destination, sum(amount)::text as amount, min(${hourNumber}) as first_hour
        from limit_uses where customer_id = ${customerId} and ${isCounted}
        group by grouping sets ((asset), (asset, destination))
        order by destination is not null, sum(amount) desc, destination limit ${DESTINATIONS_MAX}
      ) as uses) as uses,
      (select jsonb_object_agg(symbol, decimals) from ledger_assets) as decimals
  `.execute(tables)
  const { own: ownRows, uses, decimals } = rows[0] as LimitsRow
  const own = ownRows.map(limitOf)
  const text = (asset: string, amount: MinorUnits) => formatAmount(amount, decimals?.[asset] ?? 0)
  return {
    customer_id: customerId,
    limits: own.map(({ amount, ...limit }) => ({ ...limit, amount: text(limit.asset, amount) })),
    use: effectiveLimits(defaults, own).flatMap((limit) => useDocuments(limit, uses, text)),
  }
}

function useDocuments(
  limit: Limit,
  uses: readonly UseRow[],
  text: (asset: string, amount: MinorUnits) => string,
): readonly LimitUseDocument[] {
  const { scope, asset, window, amount } = limit
  const ofAsset = uses.filter((row) => row.asset === asset)
  const document = (hours: HourlyUse, row?: UseRow): LimitUseDocument => {
    const { used, available, nextRelease } = useOf(limit, hours)
    return {
      scope,
      ...(row === undefined ? {} : shownDestination(row)),
      asset,
      window,
      limit: text(asset, amount),
      used: text(asset, used),
      available: text(asset, available),
      ...(nextRelease === undefined ? {} : { next_release_at: hourText(nextRelease) }),
    }
  }
  const hoursOf = ({ first_hour, amount: used }: UseRow) => new Map([[first_hour, BigInt(used)]])
  if (scope === 'customer') {
    const sum = ofAsset.find(({ destination }) => destination === null)
    return [document(sum === undefined ? new Map() : hoursOf(sum))]
  }
  const used = window === 'day' ? ofAsset.filter(({ destination }) => destination !== null) : []
  return [document(new Map()), ...used.map((row) => document(hoursOf(row), row))]
}

function shownDestination({ destination: key, address_id }: UseRow): Partial<LimitUseDocument> {
  const destination = destinationOfKey(key ?? '')
  if ('profile' in destination) return { destination_id: destination.profile.profile_id, destination }
  if ('fiat' in destination) return { destination_id: destination.fiat.fiat_account_id, destination }
  return { ...(address_id === null ? {} : { destination_id: address_id }), destination }
}

type FieldPlace = { readonly parameter: string } | { readonly pointer: string }

/** The customer's id in lower case. Throws 404 when there is no such customer. */
export async function knownCustomer<Tables>(tables: Kysely<Tables>, id: string, place: FieldPlace): Promise<string> {
  const { rows } = isUuid(id)
    ? await sql<{ id: string }>`select id from customers where id = ${id}`.execute(tables)
    : { rows: [] }
  if (rows[0] !== undefined) return rows[0].id
  const detail = 'there is no customer with this id'
  throw new Problem('not_found', `customer_id: ${detail}`, { errors: [{ ...place, detail }] })
}

/** Locks a customer's own limits until the transaction ends. */
export async function lockOwnLimits<Tables>(transaction: Transaction<Tables>, customerId: string): Promise<void> {
  await lockNames(transaction, 'limit', [`${customerId}/own`])
}

/** Replaces the customer's own limits, which the caller has locked. A raised one queues a notice. */
export async function replaceLimits<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  before: CustomerLimitsDocument,
  limits: readonly Limit[],
  defaults: readonly Limit[],
  assets: readonly LedgerAsset[],
): Promise<CustomerLimitsDocument> {
  const { customer_id: customerId } = before
  await sql`delete from limit_overrides where customer_id = ${customerId}`.execute(transaction)
  if (limits.length > 0) {
    await inserting(
      'limit_overrides',
      limits,
      [
        ['scope', 'text', ({ scope }) => scope],
        ['asset', 'text', ({ asset }) => asset],
        ['"window"', 'text', ({ window }) => window],
        ['amount', 'numeric', ({ amount }) => amount],
      ],
      { customer_id: sql`${customerId}::uuid` },
    ).execute(transaction)
  }
  await refuseOtherDecimals(
    transaction,
    assets.filter(({ symbol }) => limits.some(({ asset }) => asset === symbol)),
  )
  const after = await customerLimits(transaction, customerId, defaults)
  if (JSON.stringify(after.limits) !== JSON.stringify(before.limits)) {
    const raised = raisedLimits(before, after)
    const notice = { customerId, type: 'limit.raised', subject: customerId, facts: raised } as const
    if (Object.keys(raised).length > 0) await queueNotice(transaction, notice)
    const detail = { before: before.limits, after: after.limits }
    await writeAudit(transaction, { actor, action: 'limits.replace', subject: customerId, detail })
  }
  return after
}

/** Each raised or removed limit's amounts, by its name. */
function raisedLimits(before: CustomerLimitsDocument, after: CustomerLimitsDocument): Readonly<Record<string, string>> {
  const nameOf = ({ scope, window, asset }: LimitUseDocument) => `${scope}/${window}/${asset}`
  const limitsOf = ({ use }: CustomerLimitsDocument) => new Map(use.map((item) => [nameOf(item), item.limit]))
  const now = limitsOf(after)
  return Object.fromEntries(
    [...limitsOf(before)].flatMap(([name, was]) => {
      const is = now.get(name)
      if (is === undefined) return [[name, `${was} before, none now`]]
      return isMore(is, was) ? [[name, `${was} before, ${is} now`]] : []
    }),
  )
}

/** Whether a decimal text is more than another one. */
function isMore(text: string, other: string): boolean {
  const [value, than] = [parseDecimal(text, SCALE), parseDecimal(other, SCALE)]
  return typeof value !== 'string' && typeof than !== 'string' && value > than
}

/** The requested limits in minor units. Throws 400 with all faults. */
export function readLimits(
  documents: readonly LimitDocument[],
  assets: readonly { readonly symbol: string; readonly decimals: number }[],
): readonly Limit[] {
  const faults: { pointer: string; detail: string }[] = []
  const seen = new Set<string>()
  const limits = documents.map(({ amount, ...limit }, index): Limit => {
    const { scope, asset, window } = limit
    const pointer = `/limits/${index}`
    const key = `${scope} ${asset} ${window}`
    if (seen.has(key)) faults.push({ pointer, detail: 'is given twice, by scope, asset and window' })
    seen.add(key)
    const decimals = assets.find(({ symbol }) => symbol === asset)?.decimals
    if (decimals === undefined) {
      const detail = `must be one of ${assets.map(({ symbol }) => symbol).join(', ')}`
      faults.push({ pointer: `${pointer}/asset`, detail })
      return { ...limit, amount: 0n }
    }
    const value = /^0(\.0+)?$/.test(amount) ? 0n : parseAmount(amount, decimals)
    if (typeof value !== 'string') return { ...limit, amount: value }
    faults.push({ pointer: `${pointer}/amount`, detail: value })
    return { ...limit, amount: 0n }
  })
  const [first, ...rest] = faults
  if (first !== undefined) throw invalidRequest([first, ...rest])
  return limits
}

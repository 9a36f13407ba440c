/**
 * Reads limits and their use, and counts movements. A movement's row is inserted with its reserved money and marked as
 * returned when the money returns (`orchestrations/step-store`). Only the transaction holding its movement
 * changes a row, so counting never waits for another movement's end.
 */
import type { Kysely, Transaction } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { type Column, inserting } from '../../platform/store/unnested.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import type { LimitedMovement } from './limited-movement.ts'
import { COUNTED_HOURS, type HourlyUse, type Limit, type LimitScope, type LimitWindow } from './model.ts'

/** What is known about some movements' limits. */
export interface LimitState {
  /** The amounts already counted, by movement. */
  readonly counted: ReadonlyMap<string, CountedAmount>
  /** A customer's own limits in an asset. */
  ownLimits(movement: Pick<LimitedMovement, 'customerId' | 'asset'>): readonly Limit[]
  hours(movement: Pick<LimitedMovement, 'customerId' | 'asset' | 'destination'>, scope: LimitScope): HourlyUse
  /** An asset's decimals. */
  decimalsOf(asset: string): number
  /** Seconds since 1970, by the store's clock. */
  readonly now: number
}

interface CountedAmount {
  readonly amount: MinorUnits
  readonly hour: number
}

export const SECONDS_PER_HOUR = 3_600

interface StateRow {
  readonly counted: readonly { readonly id: string; readonly amount: string; readonly hour: number }[]
  readonly own: readonly OwnLimitRow[]
  readonly uses: readonly UseRow[]
  readonly decimals: Readonly<Record<string, number>> | null
  readonly now: number
}

export interface OwnLimitRow {
  readonly customer_id: string
  readonly scope: LimitScope
  readonly asset: string
  readonly window: LimitWindow
  readonly amount: string
}

interface UseRow {
  readonly customer_id: string
  readonly asset: string
  /** Null: all destinations. */
  readonly destination: string | null
  readonly hour: number
  readonly amount: string
}

/** Whether a row still counts. */
export const isCounted: RawBuilder<boolean> = sql<boolean>`not returned
  and hour > clock_timestamp() - make_interval(hours => ${sql.lit(COUNTED_HOURS)})`

/** A row's hour, in hours since 1970. */
export const hourNumber = sql<number>`(extract(epoch from hour) / ${sql.lit(SECONDS_PER_HOUR)})::integer`

export async function readLimitState<Tables>(
  tables: Kysely<Tables>,
  movements: readonly LimitedMovement[],
): Promise<LimitState> {
  const column = (read: (movement: LimitedMovement) => string) => movements.map(read)
  const sums = (destination: RawBuilder<unknown>, columns: RawBuilder<unknown>) => sql`
    select customer_id, asset, ${destination} as destination, ${hourNumber} as hour, sum(amount)::text as amount
    from limit_uses where ${isCounted} and (${columns}) in (select ${columns} from movements)
    group by customer_id, asset, ${destination}, hour`
  const { rows } = await sql<StateRow>`
    with movements as (
      select * from unnest(${column(({ id }) => id)}::uuid[], ${column(({ customerId }) => customerId)}::uuid[],
        ${column(({ asset }) => asset)}::text[], ${column(({ destination }) => destination)}::text[]
      ) as movements (id, customer_id, asset, destination)
    )
    select
      (select coalesce(jsonb_agg(jsonb_build_object('id', movement_id, 'amount', amount::text,
          'hour', ${hourNumber})), '[]')
        from limit_uses
        where not returned and movement_id in (select id from movements)) as counted,
      (select coalesce(jsonb_agg(jsonb_build_object('customer_id', customer_id, 'scope', scope, 'asset', asset,
          'window', "window", 'amount', amount::text)), '[]')
        from limit_overrides where (customer_id, asset) in (select customer_id, asset from movements)) as own,
      (select coalesce(jsonb_agg(uses), '[]') from (
        ${sums(sql`null::text`, sql`customer_id, asset`)}
        union all ${sums(sql`limit_uses.destination`, sql`customer_id, asset, destination`)}
      ) as uses) as uses,
      (select jsonb_object_agg(symbol, decimals) from ledger_assets
        where symbol in (select asset from movements)) as decimals,
      extract(epoch from clock_timestamp())::float8 as now
  `.execute(tables)
  return stateOf(rows[0] as StateRow)
}

function stateOf({ counted, own, uses, decimals, now }: StateRow): LimitState {
  const hours = new Map<string, Map<number, MinorUnits>>()
  for (const { customer_id, asset, destination, hour, amount } of uses) {
    const key = JSON.stringify([customer_id, asset, destination])
    hours.set(key, (hours.get(key) ?? new Map()).set(hour, BigInt(amount)))
  }
  return {
    counted: new Map(counted.map(({ id, amount, hour }) => [id, { amount: BigInt(amount), hour }])),
    ownLimits: ({ customerId, asset }) =>
      own.filter((row) => row.customer_id === customerId && row.asset === asset).map(limitOf),
    hours: ({ customerId, asset, destination }, scope) =>
      hours.get(JSON.stringify([customerId, asset, scope === 'customer' ? null : destination])) ?? new Map(),
    decimalsOf: (asset) => decimals?.[asset] ?? 0,
    now,
  }
}

export function limitOf({ scope, asset, window, amount }: Omit<OwnLimitRow, 'customer_id'>): Limit {
  return { scope, asset, window, amount: BigInt(amount) }
}

const COLUMNS: readonly Column<LimitedMovement>[] = [
  ['movement_id', 'uuid', ({ id }) => id],
  ['customer_id', 'uuid', ({ customerId }) => customerId],
  ['asset', 'text', ({ asset }) => asset],
  ['destination', 'text', ({ destination }) => destination],
  ['amount', 'numeric', ({ amount }) => amount],
]

/** Counts these movements in the present hour. One counted with another amount is counted again. */
export async function insertUses<Tables>(
  transaction: Transaction<Tables>,
  movements: readonly LimitedMovement[],
): Promise<void> {
  if (movements.length === 0) return
  const hour = sql`date_bin('1 hour', clock_timestamp(), timestamptz '1970-01-01 00:00:00Z')`
  await sql`
    ${inserting('limit_uses', movements, COLUMNS, { hour })}
    on conflict (movement_id) do update set amount = excluded.amount, hour = excluded.hour, returned = false
  `.execute(transaction)
}

/** Gives back the use of these movements. */
export async function returnUses<Tables>(
  transaction: Transaction<Tables>,
  movements: readonly LimitedMovement[],
): Promise<void> {
  if (movements.length === 0) return
  const ids = movements.map(({ id }) => id)
  await sql`update limit_uses set returned = true where movement_id = any(${ids}::uuid[])`.execute(transaction)
}

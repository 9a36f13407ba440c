/**
 * The desk: the operator's own account, the counterparty in all conversions. Its position in an asset is the received
 * amount minus the paid amount.
 */
import { type Kysely, sql } from '../../../platform/store/sql.ts'
import { formatAmount } from '../../ledger/amounts.ts'
import type { MinorUnits } from '../../ledger/posting.ts'

export interface DeskItem {
  readonly asset: string
  /** Credits minus debits. */
  readonly position: string
  /** The setting `conversion.desk_limits`: how far below zero the position may be. Absent: no limit. */
  readonly limit?: string
  /** The source amounts of all orchestrations at step `convert`, including fees and amounts that are not converted. */
  readonly committed: string
  /** The amount reserved for orchestrations and deliveries in all profiles. */
  readonly in_transit: string
  /** The amount all profiles owe. */
  readonly receivable: string
  /** The trade that brings the position back to zero. Absent when it is zero. */
  readonly hedge?: { readonly side: 'BUY' | 'SELL'; readonly amount: string }
}

export interface DeskPosition {
  readonly asset: string
  readonly decimals: number
  readonly position: MinorUnits
}

interface PositionRow {
  readonly asset: string
  readonly decimals: number
  readonly position: string
}

type DeskRow = PositionRow & Readonly<Record<'committed' | 'in_transit' | 'receivable', string>>

/**
 * Checkpoint plus later postings. The bucket is a literal, not a parameter, to match the partial indexes' conditions.
 */
const POSITION = sql`
  coalesce((select credits - debits from ledger_checkpoints where bucket = 'desk' and asset = symbol), 0)
  + coalesce((select sum(amount) from postings where credit_bucket = 'desk' and asset = symbol
      and id > coalesce((select last_posting_id from ledger_checkpoints where bucket = 'desk' and asset = symbol), 0)), 0)
  - coalesce((select sum(amount) from postings where debit_bucket = 'desk' and asset = symbol
      and id > coalesce((select last_posting_id from ledger_checkpoints where bucket = 'desk' and asset = symbol), 0)), 0)
`

/** The position in every ledger asset, in symbol order. */
export async function readDeskPositions<Tables>(tables: Kysely<Tables>): Promise<readonly DeskPosition[]> {
  const { rows } = await sql<PositionRow>`
    select symbol as asset, decimals, ${POSITION} as position from ledger_assets order by symbol collate "C"
  `.execute(tables)
  return rows.map(({ asset, decimals, position }) => ({ asset, decimals, position: BigInt(position) }))
}

/** The desk in every ledger asset, in symbol order, read by one statement. */
export async function readDesk<Tables>(
  tables: Kysely<Tables>,
  limits: ReadonlyMap<string, MinorUnits>,
): Promise<readonly DeskItem[]> {
  const { rows } = await sql<DeskRow>`
    with unconverted as (
      select source_asset, sum(source_amount) as amount from orchestrations
      where step = 'convert' and id in (
        select orchestration_id from orchestration_queue
        union select id from orchestrations where waiting_for is not null
      )
      group by source_asset
    ), owned as (
      select asset, sum(in_transit) as in_transit, sum(receivable) as receivable from balances group by asset
    )
    select symbol as asset, decimals, ${POSITION} as position, coalesce(unconverted.amount, 0) as committed,
      coalesce(in_transit, 0) as in_transit, coalesce(receivable, 0) as receivable
    from ledger_assets
      left join unconverted on source_asset = symbol
      left join owned on owned.asset = symbol
    order by symbol collate "C"
  `.execute(tables)
  return rows.map((row) => deskItem(row, limits.get(row.asset)))
}

function deskItem({ asset, decimals, ...amounts }: DeskRow, limit: MinorUnits | undefined): DeskItem {
  const text = (amount: string | MinorUnits) => formatAmount(BigInt(amount), decimals)
  const position = BigInt(amounts.position)
  const hedge =
    position < 0n
      ? { side: 'BUY' as const, amount: text(-position) }
      : { side: 'SELL' as const, amount: text(position) }
  return {
    asset,
    position: text(position),
    ...(limit === undefined ? {} : { limit: text(limit) }),
    committed: text(amounts.committed),
    in_transit: text(amounts.in_transit),
    receivable: text(amounts.receivable),
    ...(position === 0n ? {} : { hedge }),
  }
}

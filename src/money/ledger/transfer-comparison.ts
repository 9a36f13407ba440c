/**
 * Compares transfers, which customers see, with the records behind them. For each deposit, orchestration and delivery,
 * the sum of its COMPLETED transfers per profile and asset must equal the postings' change. For each profile deposit
 * and each delivery, its transfer must show the right profile, asset, amount and status, and for a payment also the
 * destination address and fee. It reads in id order, each piece in one statement, so writers raise no false alarm.
 * Read-only.
 *
 * Not compared: ledger entries, which have no transfers, and a transfer without money whose deposit or delivery does
 * not exist. Some records from earlier releases are accepted: a fee equal to the payment's cost, the kept fee of a
 * failed payment, and a reversed deposit whose status alone shows the reversal.
 */
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { DIFFERENCES_MAX, type LedgerDifference } from './comparison.ts'
import { type LedgerStore, SERVICE, sidesOf } from './verified-sums.ts'

/** Rows per table in one statement: about ten milliseconds. */
const PIECE_ROWS = 500

/** One pass over all transfers. */
export class TransferComparison {
  readonly differences: LedgerDifference[] = []
  readonly #db: LedgerStore
  readonly #pieceRows: number
  /** The last compared id. */
  #after = SERVICE

  /** @param pieceRows the rows per table compared by one statement */
  constructor(db: LedgerStore, pieceRows: number = PIECE_ROWS) {
    this.#db = db
    this.#pieceRows = pieceRows
  }

  /** Reads one piece. False when the pass is complete. */
  async step(): Promise<boolean> {
    const end = await this.#nextEnd()
    const { rows } = await differencesWithin(this.#after, end).execute(this.#db.tables<unknown>())
    this.differences.push(...rows.slice(0, DIFFERENCES_MAX - this.differences.length))
    if (end === undefined) return false
    this.#after = end
    return true
  }

  async #nextEnd(): Promise<string | undefined> {
    const nth = (table: string, column: string) => sql`(
      select ${sql.ref(column)} as id from ${sql.table(table)} where ${sql.ref(column)} > ${this.#after}
      order by ${sql.ref(column)} limit 1 offset ${this.#pieceRows - 1}
    )`
    const ends = [
      nth('postings', 'group_id'),
      nth('transfers', 'group_id'),
      ...['transfers', 'deposits', 'orchestrations', 'deliveries'].map((table) => nth(table, 'id')),
    ]
    const { rows } = await sql<{ readonly id: string }>`
      select id from (${sql.join(ends, sql` union all `)}) as ends order by id limit 1
    `.execute(this.#db.tables<unknown>())
    return rows[0]?.id
  }
}

function differencesWithin(after: string, end: string | undefined) {
  const within = (name: string) => {
    const id = sql.ref(name)
    return end === undefined ? sql`${id} > ${after}` : sql`${id} > ${after} and ${id} <= ${end}`
  }
  return sql<LedgerDifference>`
    select account, asset, kept, recomputed from (
      select 'transfers of ' || profile_id || ' in ' || id as account, asset,
        sum(shown)::text as kept, sum(moved)::text as recomputed
      from (
        select group_id as id, profile_id, asset, 0 as moved,
          case direction when 'CREDIT' then amount else -amount - fee end as shown
        from transfers where ${within('group_id')} and status = 'COMPLETED' and type not like '%WITHDRAWAL'
          and (secondary_status is distinct from 'REVERSED' or exists (
            select from transfers as reversal
            where reversal.group_id = transfers.group_id and reversal.direction = 'DEBIT' and reversal.type = transfers.type
          ))
        union all
        select id, profile_id, asset, 0, -amount
        from transfers where ${within('id')} and status = 'COMPLETED' and type like '%WITHDRAWAL'
        union all
        select id, profile_id, source_asset, 0, -${PAYMENT_FEE} from orchestrations where ${within('id')} and ${IS_CHARGED}
        union all
        select deliveries.id, deliveries.profile_id, asset, 0, ${PAYMENT_FEE}
        from deliveries join orchestrations on orchestrations.id = orchestration_id
        where ${within('deliveries.id')} and deliveries.status = 'FAILED' and ${IS_CHARGED} and fee_amount is null
        union all
        select group_id, profile_id, asset, amount, 0
        from (${sidesOf(sql`(select * from postings where ${within('group_id')}) as read`)}) as sides
        where profile_id <> ${SERVICE}
      ) as entries
      group by id, profile_id, asset
      having sum(shown) <> sum(moved) and not exists (select from ledger_entries where ledger_entries.id = entries.id)
      union all
      select 'transfer ' || coalesce(transfer_id, deposits.id), deposits.asset, ${shownText(sql`transfers.secondary_status`)},
        concat_ws(' ', 'CREDIT', deposits.status,
          case deposits.secondary_status when 'REJECTED' then 'HELD' else deposits.secondary_status end,
          deposits.amount, deposits.asset, deposits.profile_id)
      from deposits left join transfers on transfers.id = coalesce(transfer_id, deposits.id)
      where ${within('deposits.id')} and deposits.profile_id is not null
      union all
      select 'transfer ' || deliveries.id, deliveries.asset,
        ${shownText(sql`transfers.destination_address`, sql`transfers.fee`)},
        concat_ws(' ', 'DEBIT',
          case deliveries.status when 'SETTLED' then 'COMPLETED' when 'FAILED' then 'FAILED' else 'PENDING' end,
          deliveries.destination #>> '{crypto,address}', deliveries.amount, deliveries.asset, deliveries.profile_id,
          case when transfers.fee = deliveries.fee then transfers.fee when ${IS_CHARGED} then ${PAYMENT_FEE} else 0 end)
      from deliveries left join transfers on transfers.id = deliveries.id
      left join orchestrations on orchestrations.id = orchestration_id
      where ${within('deliveries.id')}
    ) as compared
    where kept <> recomputed limit ${DIFFERENCES_MAX}
  `
}

/**
 * A payment without a conversion is charged in its orchestration. If it fails, the fee is given back and no longer
 * there.
 */
const IS_CHARGED = sql<boolean>`
  source_asset = destination_asset and destination_amount is not null and orchestrations.destination -> 'profile' is null
`
const PAYMENT_FEE = sql`(source_amount - destination_amount)`

/** The values that a transfer shows about its deposit or delivery. */
function shownText(detail: RawBuilder<unknown>, fee: RawBuilder<unknown> = sql`null`): RawBuilder<unknown> {
  return sql`coalesce(nullif(concat_ws(' ', transfers.direction, transfers.status, ${detail}, transfers.amount,
    transfers.asset, transfers.profile_id, ${fee}), ''), 'none')`
}

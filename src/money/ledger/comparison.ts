/**
 * Compares every profile balance, and every checkpoint of the service, with the sum of its postings: the verified sums
 * plus the postings after them. One statement reads both sides for some accounts at a time. So a pass costs only the
 * new postings, and concurrent postings raise no false alarm. For an account with postings but no balance, the balance
 * counts as zero. The comparison writes nothing but the verified sums.
 */
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { advanceSums, beginAgain, type LedgerStore, readPosition, SERVICE, sidesOf } from './verified-sums.ts'

/** A balance that differs from its postings' sum, or a transfer that differs from its postings or record. */
export interface LedgerDifference {
  /** `available of PROFILE`, a service account such as `desk`, `transfer ID`, or `transfers of PROFILE in GROUP`. */
  readonly account: string
  readonly asset: string
  /** The stored balance in the asset's smallest units, or the values a transfer shows. */
  readonly kept: string
  /** The correct value. */
  readonly recomputed: string
}

interface Key {
  readonly profile_id: string
  readonly asset: string
}

/** Postings per segment, and balances per statement: ten to twenty milliseconds. */
const PIECE_ROWS = 2_000
/** The most differences that a pass keeps. */
export const DIFFERENCES_MAX = 1_000

/** One pass over the whole ledger. */
export class LedgerComparison {
  readonly differences: LedgerDifference[] = []
  /** How many profile balances were compared so far. */
  balances = 0
  readonly #db: LedgerStore
  readonly #pieceRows: number
  /** The last compared account. */
  #after: Key = { profile_id: SERVICE, asset: '' }

  /** @param pieceRows the postings per segment, and the balances compared by one statement */
  constructor(db: LedgerStore, pieceRows: number = PIECE_ROWS) {
    this.#db = db
    this.#pieceRows = pieceRows
  }

  /** Reads one piece. False when the pass is complete. */
  async step(): Promise<boolean> {
    if (!(await advanceSums(this.#db, this.#pieceRows))) return true
    const { posting_id, generation } = await readPosition(this.#db)
    const end = await this.#nextEnd()
    const within = this.#within(end)
    const { rows } = await sql<Counts & { readonly [Name in keyof LedgerDifference]: string | null }>`
      select is_current, compared, account, asset, kept, recomputed
      from (
        select exists (
          select from ledger_position where posting_id = ${posting_id} and generation = ${generation}
        ) as is_current, (select count(*) from balances where ${within}) as compared
      ) as counts
      left join (
        select
          bucket || case when profile_id = ${SERVICE} then '' else ' of ' || profile_id end as account, asset,
          -- A debit increases this one.
          (case when bucket = 'receivable' then -1 else 1 end * coalesce(kept.amount, 0))::text as kept,
          (case when bucket = 'receivable' then -1 else 1 end * coalesce(posted.amount, 0))::text as recomputed
        from (${keptWithin(within)}) as kept
        full join (
          select profile_id, asset, bucket, sum(amount) as amount from (
            select profile_id, asset, bucket, amount from ledger_sums where generation = ${generation}
            union all
            select profile_id, asset, bucket, amount
            from (${sidesOf(sql`(select * from postings where id > ${posting_id}) as later`)}) as sides
            where profile_id <> ${SERVICE} or id <= (select max(last_posting_id) from ledger_checkpoints)
          ) as sums where ${within} group by profile_id, asset, bucket
        ) as posted using (profile_id, asset, bucket)
        where coalesce(kept.amount, 0) <> coalesce(posted.amount, 0)
        order by profile_id, asset, bucket limit ${DIFFERENCES_MAX}
      ) as different on true
    `.execute(this.#db.tables<unknown>())
    const { is_current, compared } = rows[0] as Counts
    // Another process has advanced the sums between the statements.
    if (!is_current) return true
    this.balances += Number(compared)
    const found = rows.filter((row): row is typeof row & LedgerDifference => row.account !== null)
    this.differences.push(
      ...found
        .slice(0, DIFFERENCES_MAX - this.differences.length)
        .map(({ account, asset, kept, recomputed }) => ({ account, asset, kept, recomputed })),
    )
    this.#after = end ?? this.#after
    if (end === undefined && this.differences.length > 0) await beginAgain(this.#db)
    return end !== undefined
  }

  /** The next piece's last account, by its balances and sums. Undefined when the piece has all remaining accounts. */
  async #nextEnd(): Promise<Key | undefined> {
    const nth = (table: string, number: number) => sql`
      select profile_id, asset from ${sql.raw(table)} where ${this.#within(undefined)}
      order by profile_id, asset limit 1 offset ${number - 1}
    `
    const { rows } = await sql<Key>`
      select profile_id, asset from (
        (${nth('balances', this.#pieceRows)}) union all (${nth('ledger_sums', 2 * this.#pieceRows)})
      ) as ends order by profile_id, asset limit 1
    `.execute(this.#db.tables<unknown>())
    return rows[0]
  }

  #within(end: Key | undefined): RawBuilder<boolean> {
    const after = sql<boolean>`(profile_id, asset) > (${this.#after.profile_id}::uuid, ${this.#after.asset}::text)`
    return end === undefined
      ? after
      : sql`${after} and (profile_id, asset) <= (${end.profile_id}::uuid, ${end.asset}::text)`
  }
}

interface Counts {
  readonly is_current: boolean
  readonly compared: string
}

/** Each account's stored balance, as credits less debits. */
function keptWithin(within: RawBuilder<boolean>): RawBuilder<unknown> {
  return sql`
    select profile_id, asset, bucket, amount
    from balances
    cross join lateral (
      values ('available', available), ('in_transit', in_transit), ('held', held), ('receivable', -receivable)
    ) as buckets (bucket, amount)
    where ${within}
    union all
    select profile_id, asset, bucket, amount from (
      select ${SERVICE}::uuid as profile_id, asset, bucket, credits - debits as amount from ledger_checkpoints
    ) as checkpoints where ${within}
  `
}

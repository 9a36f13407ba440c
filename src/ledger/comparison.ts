/**
 * Compares every balance of a profile, and every checkpoint of the service, with the sum of its postings. It reads in pieces
 * of bounded size while others post, without false alarms: a balance has the id of the last posting in it, and postings
 * never change. Read-only.
 */
import { assert } from '../base/assert.ts'
import type { Db } from '../store/db.ts'
import { type RawBuilder, sql } from '../store/sql.ts'
import { PROFILE_BUCKETS, type ProfileBucket } from './posting.ts'

/** An account whose balance is not the sum of its postings, in units of its asset. */
export interface LedgerDifference {
  /** `available of PROFILE`, or an account of the service such as `desk`. */
  readonly account: string
  readonly asset: string
  readonly kept: bigint
  readonly recomputed: bigint
}

type Side = 'debit' | 'credit'

/** A balance that is being recomputed: the position in the postings of each side, and the sums so far. */
interface Candidate {
  readonly profileId: string
  readonly asset: string
  readonly lastPostingId: string
  readonly kept: Readonly<Record<ProfileBucket, bigint>>
  readonly sums: Record<ProfileBucket, bigint>
  /** The position of the last posting that was read; undefined when none is left. */
  readonly places: Record<Side, { readonly createdAt: string; readonly id: string } | undefined>
}

interface BalanceRow extends Readonly<Record<ProfileBucket, string>> {
  readonly profile_id: string
  readonly asset: string
  readonly last_posting_id: string
}

interface ServiceSums {
  readonly until: bigint
  readonly kept: ReadonlyMap<string, bigint>
  readonly sums: Map<string, bigint>
  position: bigint
}

/** Postings in one statement: about ten milliseconds, in which an embedded store serves no other caller. */
const PIECE_ROWS = 5_000
/** Balances that are recomputed together. */
const BALANCES_MAX = 50
/** The position before the first posting. */
const START = { createdAt: '-infinity', id: '0' } as const

/** One pass over the whole ledger. */
export class LedgerComparison {
  readonly differences: LedgerDifference[] = []
  /** The number of profile balances that were compared so far. */
  balances = 0
  readonly #db: Db
  readonly #pieceRows: number
  #service: ServiceSums | undefined
  /** Sums of postings whose profile has no balance in their asset. */
  readonly #orphans = new Map<string, bigint>()
  #isServiceDone = false
  /** The last balance that was read. */
  #position: { readonly profileId: string; readonly asset: string } | undefined
  #candidates: Candidate[] = []

  /** @param pieceRows the approximate maximum of postings that one statement reads */
  constructor(db: Db, pieceRows: number = PIECE_ROWS) {
    this.#db = db
    this.#pieceRows = pieceRows
  }

  /** Reads one piece; false when the pass is complete. */
  async step(): Promise<boolean> {
    if (!this.#isServiceDone) {
      await this.#sumService()
      return true
    }
    if (this.#candidates.length === 0 && !(await this.#readCandidates())) return false
    await this.#sum('debit')
    await this.#sum('credit')
    this.#candidates = this.#candidates.filter((candidate) => {
      if (candidate.places.debit !== undefined || candidate.places.credit !== undefined) return true
      this.#compare(candidate)
      return false
    })
    return true
  }

  async #sumService(): Promise<void> {
    this.#service ??= await this.#readCheckpoints()
    const { until, sums, kept, position } = this.#service
    if (position >= until) {
      for (const account of new Set([...kept.keys(), ...sums.keys()])) {
        const [bucket, asset] = account.split('/') as [string, string]
        this.#note(bucket, asset, kept.get(account) ?? 0n, sums.get(account) ?? 0n)
      }
      for (const [account, sum] of this.#orphans) {
        const [owner, asset] = account.split('/') as [string, string]
        this.#note(owner, asset, 0n, sum)
      }
      this.#isServiceDone = true
      return
    }
    const end = position + BigInt(this.#pieceRows)
    const last = end < until ? end : until
    const within = sql`id > ${position} and id <= ${last}`
    const { rows } = await sql<{ readonly account: string; readonly balance: string }>`
      select bucket || '/' || asset as account, sum(amount) as balance
      from (
        select debit_bucket as bucket, asset, -amount as amount from postings
          where ${within} and debit_profile_id is null
        union all
        select credit_bucket, asset, amount from postings where ${within} and credit_profile_id is null
      ) as sides
      group by bucket, asset
    `.execute(this.#db.tables())
    for (const { account, balance } of rows) sums.set(account, (sums.get(account) ?? 0n) + BigInt(balance))
    this.#service.position = last
    await this.#findOrphans(within)
  }

  /** Sums up postings of profiles that have no balance in their asset. */
  async #findOrphans(within: RawBuilder<unknown>): Promise<void> {
    const { rows } = await sql<{ readonly account: string; readonly asset: string; readonly sum: string }>`
      select bucket || ' of ' || profile_id as account, asset, sum(amount) as sum
      from (
        select debit_bucket as bucket, debit_profile_id as profile_id, asset, -amount as amount from postings
          where ${within} and debit_profile_id is not null
        union all
        select credit_bucket, credit_profile_id, asset, amount from postings
          where ${within} and credit_profile_id is not null
      ) as touched
      where not exists (
        select from balances where balances.profile_id = touched.profile_id and balances.asset = touched.asset
      )
      group by bucket, profile_id, asset
    `.execute(this.#db.tables())
    for (const { account, asset, sum } of rows) {
      const key = `${account}/${asset}`
      const signed = account.startsWith('receivable') ? -BigInt(sum) : BigInt(sum)
      this.#orphans.set(key, (this.#orphans.get(key) ?? 0n) + signed)
    }
  }

  async #readCheckpoints(): Promise<ServiceSums> {
    const { rows } = await sql<{ readonly account: string; readonly balance: string; readonly last: string }>`
      select bucket || '/' || asset as account, credits - debits as balance, last_posting_id as last
      from ledger_checkpoints
    `.execute(this.#db.tables())
    const kept = new Map(rows.map(({ account, balance }) => [account, BigInt(balance)]))
    // All checkpoints are at the same posting.
    return { until: BigInt(rows[0]?.last ?? 0), kept, sums: new Map(), position: 0n }
  }

  /** Reads the next balances; false when none is left. */
  async #readCandidates(): Promise<boolean> {
    const { profileId = '00000000-0000-0000-0000-000000000000', asset = '' } = this.#position ?? {}
    const { rows } = await sql<BalanceRow>`
      select profile_id, asset, available, in_transit, held, receivable, last_posting_id from balances
      where (profile_id, asset) > (${profileId}::uuid, ${asset}::text)
      order by profile_id, asset
      limit ${BALANCES_MAX}
    `.execute(this.#db.tables())
    const last = rows.at(-1)
    if (last === undefined) return false
    this.#position = { profileId: last.profile_id, asset: last.asset }
    this.#candidates = rows.map(candidateOf)
    return true
  }

  /** Adds the next postings of one side to the sums of the candidates. */
  async #sum(side: Side): Promise<void> {
    const open = this.#candidates.filter(({ places }) => places[side] !== undefined)
    if (open.length === 0) return
    const postings = Math.max(1, Math.floor(this.#pieceRows / open.length))
    const placesOf = open.map(({ places }) => places[side] as NonNullable<Candidate['places'][Side]>)
    const profile = sql.ref(`${side}_profile_id`)
    const { rows } = await sql<{
      readonly number: string
      readonly bucket: ProfileBucket
      readonly sum: string
      readonly postings: string
      readonly created_at: string
      readonly id: string
    }>`
      select number, bucket, sum(amount) as sum, count(*) as postings,
        (array_agg(created_at order by created_at desc, id desc))[1] as created_at,
        (array_agg(id order by created_at desc, id desc))[1] as id
      from unnest(
        ${open.map(({ profileId }) => profileId)}::uuid[],
        ${open.map(({ asset }) => asset)}::text[],
        ${placesOf.map(({ createdAt }) => createdAt)}::timestamptz[],
        ${placesOf.map(({ id }) => id)}::bigint[],
        ${open.map(({ lastPostingId }) => lastPostingId)}::bigint[]
      ) with ordinality as open (profile_id, asset, after_time, after_id, last_id, number)
      cross join lateral (
        select id, created_at, ${sql.ref(`${side}_bucket`)} as bucket, amount from postings
        where ${profile} = open.profile_id and postings.asset = open.asset
          and (created_at, id) > (open.after_time, open.after_id) and id <= open.last_id
        order by created_at, id
        limit ${postings}
      ) as read
      group by number, bucket
    `.execute(this.#db.tables())
    for (const [index, candidate] of open.entries()) {
      const found = rows.filter(({ number }) => Number(number) === index + 1)
      for (const { bucket, sum } of found) candidate.sums[bucket] += changeOf(side, bucket, BigInt(sum))
      const read = found.reduce((count, row) => count + Number(row.postings), 0)
      candidate.places[side] = read < postings ? undefined : lastPlace(found)
    }
  }

  #compare({ profileId, asset, kept, sums }: Candidate): void {
    this.balances++
    for (const bucket of PROFILE_BUCKETS) this.#note(`${bucket} of ${profileId}`, asset, kept[bucket], sums[bucket])
  }

  #note(account: string, asset: string, kept: bigint, recomputed: bigint): void {
    if (kept !== recomputed) this.differences.push({ account, asset, kept, recomputed })
  }
}

function candidateOf(row: BalanceRow): Candidate {
  const { available, in_transit, held, receivable } = row
  return {
    profileId: row.profile_id,
    asset: row.asset,
    lastPostingId: row.last_posting_id,
    kept: {
      available: BigInt(available),
      in_transit: BigInt(in_transit),
      held: BigInt(held),
      receivable: BigInt(receivable),
    },
    sums: { available: 0n, in_transit: 0n, held: 0n, receivable: 0n },
    places: { debit: START, credit: START },
  }
}

/** A debit increases `receivable` and decreases the other buckets. */
function changeOf(side: Side, bucket: ProfileBucket, amount: bigint): bigint {
  return (side === 'credit') === (bucket === 'receivable') ? -amount : amount
}

/** All times have one text form, so they compare as texts. */
function lastPlace(rows: readonly { readonly created_at: string; readonly id: string }[]) {
  const [first, ...rest] = rows
  assert(first !== undefined, 'a full piece has rows')
  const last = rest.reduce((latest, row) => {
    const isLater =
      row.created_at === latest.created_at ? BigInt(row.id) > BigInt(latest.id) : row.created_at > latest.created_at
    return isLater ? row : latest
  }, first)
  return { createdAt: last.created_at, id: last.id }
}

/**
 * The advisory locks of pricing, held until the transaction ends. Their key is a pair of numbers: the key space below,
 * and the first four bytes of the SHA-256 of the symbol; two symbols with equal bytes share a lock, which only makes
 * them wait for each other. Markets are locked before assets, each in ascending order of the second number.
 */
import { createHash } from 'node:crypto'
import type { Transaction } from '../../store/db.ts'
import { sql } from '../../store/sql.ts'

/** Whoever holds it alone decides what is left of the book of the market. */
const MARKET_SPACE = 1_413_958_987 // 'TGMK'
/** Whoever holds it alone decides what the desk may still pay of the asset. */
const DESK_SPACE = 1_413_956_683 // 'TGDK'

/** Locks markets and assets of the desk, by symbol. Nothing of either may be read before. */
export async function lockPricing<Tables>(
  transaction: Transaction<Tables>,
  markets: readonly string[],
  deskAssets: readonly string[],
): Promise<void> {
  const locks = [...locksOf(MARKET_SPACE, markets), ...locksOf(DESK_SPACE, deskAssets)]
  if (locks.length === 0) return
  await sql`
    select pg_advisory_xact_lock(space, key)
    from unnest(${locks.map(([space]) => space)}::integer[], ${locks.map(([, key]) => key)}::integer[]) as locks (space, key)
  `.execute(transaction)
}

function locksOf(space: number, symbols: readonly string[]): readonly (readonly [space: number, key: number])[] {
  const keys = new Set(symbols.map((symbol) => createHash('sha256').update(symbol).digest().readInt32BE(0)))
  return [...keys].sort((left, right) => left - right).map((key) => [space, key])
}

/** Counts each pool's free addresses, so the operator can import more before requests fail. */
import { CRYPTO_NETWORKS } from '../../contract/crypto-networks.ts'
import { Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { POOL_NETWORKS } from './allocation.ts'

/** The count stops here, so its cost does not grow with the pool. */
const COUNTED_MAX = 1_000

export function createPoolMetrics(registry: MetricsRegistry, db: Db): void {
  new Gauge({
    name: 'tidegate_address_pool_free',
    help: `Addresses left in a pool, counted up to ${COUNTED_MAX}. Absent for a pool without an import`,
    labelNames: ['network'],
    registers: [registry],
    async collect() {
      const counted = await countFree(db)
      this.reset()
      for (const network of POOL_NETWORKS) {
        const free = counted.get(CRYPTO_NETWORKS[network])
        if (free !== undefined) this.set({ network }, free)
      }
    },
  })
}

/** By family. Empty while the store has no tables yet, or is unavailable. Other metrics report that. */
async function countFree(db: Db): Promise<ReadonlyMap<string, number>> {
  if (!db.available) return new Map()
  const families = POOL_NETWORKS.map((network) => CRYPTO_NETWORKS[network])
  try {
    const { rows } = await sql<{ family: string; free: number }>`
      select family, (
        select count(*)::integer from (
          select from address_pool
          where address_pool.family = families.family and deposit_address_id is null limit ${COUNTED_MAX}
        ) as free
      ) as free
      from unnest(${families}::text[]) as families (family)
      where exists (select from address_pool where address_pool.family = families.family)
    `.execute(db.tables())
    return new Map(rows.map(({ family, free }) => [family, free]))
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StatementFailed) return new Map()
    throw error
  }
}

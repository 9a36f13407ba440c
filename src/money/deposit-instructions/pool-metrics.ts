/** Counts each pool's free addresses, so the operator can import more before requests fail. */
import { CRYPTO_NETWORKS } from '../../contract/crypto-networks.ts'
import type { MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { createStoreGauge } from '../../platform/store/store-gauge.ts'
import { POOL_NETWORKS } from './allocation.ts'

/** The count stops here, so its cost does not grow with the pool. */
const COUNTED_MAX = 1_000

export function createPoolMetrics(registry: MetricsRegistry, db: Db): void {
  const networks = [...POOL_NETWORKS]
  createStoreGauge(registry, db, {
    name: 'tidegate_address_pool_free',
    help: `Addresses left in a pool, counted up to ${COUNTED_MAX}. Absent for a pool without an import`,
    labelName: 'network',
    sample: sql`
      select network as label, (
        select count(*)::integer from (
          select from address_pool
          where address_pool.family = pools.family and deposit_address_id is null limit ${COUNTED_MAX}
        ) as free
      ) as value
      from unnest(${networks}::text[], ${networks.map((network) => CRYPTO_NETWORKS[network])}::text[])
        as pools (network, family)
      where exists (select from address_pool where address_pool.family = pools.family)`,
  })
}

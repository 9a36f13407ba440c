/**
 * The part of the process that moves money: the ledger's upkeep, the converter of deposits, and the customers' quotas.
 */
import type { Quotas } from '../../../money/accounts/quotas.ts'
import { createPoolMetrics } from '../../../money/deposit-instructions/pool-metrics.ts'
import { LedgerUpkeep } from '../../../money/ledger/upkeep.ts'
import type { Converter } from '../../../money/orchestrations/convert.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Parts } from '../parts.ts'
import { createConverter, type PriceBooks } from './converter.ts'
import { createQuotas } from './customer-quotas.ts'

export interface Money {
  /** Both listeners share them. */
  readonly quotas: Quotas
  readonly ledger: LedgerUpkeep
  readonly converter: Converter
}

/** Registers the metrics. Nothing runs before `startLedger`. */
export function createMoney(parts: Parts, db: Db, books: PriceBooks): Money {
  createPoolMetrics(parts.metrics, db)
  return {
    quotas: createQuotas(parts.metrics, parts.current),
    ledger: new LedgerUpkeep({ ...parts, db }),
    converter: createConverter(parts, db, books),
  }
}

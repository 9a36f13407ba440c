/** Reads a stored conversion's price, with its evidence and verification result. */
import { Problem } from '../../../platform/http/problem.ts'
import { type Kysely, sql } from '../../../platform/store/sql.ts'
import { formatAmount } from '../../ledger/amounts.ts'
import { type Explanation, explainPrice, type StoredConversion } from './explain.ts'

export interface PriceDocument {
  readonly orchestration_id: string
  readonly source_asset: string
  readonly source_amount: string
  readonly destination_asset: string
  readonly destination_amount: string
  readonly price?: string
  /** `par`, or the market's symbol. */
  readonly price_source?: string
  readonly evidence: unknown
  readonly explanation: Explanation
  readonly created_at: string
}

interface Row extends StoredConversion {
  readonly source_decimals: number
  readonly destination_decimals: number
  readonly created_at: string
}

/**
 * Throws 404 when the orchestration has no conversion.
 * @param customerId other customers' orchestrations are 404. Absent: any customer's, for the operator.
 */
export async function readPrice<Tables>(
  tables: Kysely<Tables>,
  orchestrationId: string,
  customerId?: string,
): Promise<PriceDocument> {
  const owner = customerId ?? null
  const { rows } = await sql<Row>`
    select conversions.source_asset, conversions.source_amount, conversions.destination_asset,
      conversions.destination_amount, market, side, base_amount, evidence, price, price_source, conversions.created_at,
      source.decimals as source_decimals, destination.decimals as destination_decimals
    from conversions
      join ledger_assets as source on source.symbol = conversions.source_asset
      join ledger_assets as destination on destination.symbol = conversions.destination_asset
      left join orchestrations on orchestrations.id = orchestration_id
    where orchestration_id = ${orchestrationId} and (${owner}::uuid is null or customer_id = ${owner}::uuid)
  `.execute(tables)
  const [row] = rows
  if (row === undefined) throw new Problem('not_found', 'no converted orchestration has this id')
  return {
    orchestration_id: orchestrationId,
    source_asset: row.source_asset,
    source_amount: formatAmount(BigInt(row.source_amount), row.source_decimals),
    destination_asset: row.destination_asset,
    destination_amount: formatAmount(BigInt(row.destination_amount), row.destination_decimals),
    ...(row.price === null ? {} : { price: row.price }),
    ...(row.price_source === null ? {} : { price_source: row.price_source }),
    evidence: row.evidence,
    explanation: explainPrice(row),
    created_at: row.created_at,
  }
}

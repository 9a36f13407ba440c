/**
 * A conversion's result: amounts, price, and the ids of the records it creates. Also prices a batch, for the worker or
 * for the transaction that starts it.
 */
import { newId } from '../../platform/base/ids.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import type { Failure, Wait } from './model.ts'
import type { Amounts, Convertible, StepIds } from './movements.ts'
import type { Conversion, PriceOutcome, PriceRequest } from './pricing/outcome.ts'

export interface Done {
  readonly kind: 'done'
  readonly amounts: Amounts
  readonly ids: StepIds
  readonly price: string
  readonly priceSource: string
  /** Absent when source and destination are the same asset. */
  readonly conversion?: Conversion
}

type Priceable = Pick<Convertible, 'id' | 'sourceAsset' | 'sourceAmount' | 'destinationAsset'>

/**
 * The rows' results, in the same order; undefined where no price was made.
 *
 * @param feeOf the part of the source amount that is not converted
 * @param price makes the prices for all rows that need one, in request order
 */
export async function priceAll<Row extends Priceable>(
  rows: readonly Row[],
  feeOf: (row: Row) => MinorUnits,
  price: (requests: readonly PriceRequest[]) => Promise<readonly (PriceOutcome | undefined)[]>,
): Promise<readonly (Done | Wait | Failure | undefined)[]> {
  const converting = rows.filter(isConversion)
  const requests = converting.map((row) => ({
    orchestrationId: row.id,
    sourceAsset: row.sourceAsset,
    sourceAmount: row.sourceAmount - feeOf(row),
    destinationAsset: row.destinationAsset,
  }))
  const prices = requests.length === 0 ? [] : await price(requests)
  const priced = new Map(converting.map((row, index) => [row, prices[index]]))
  return rows.map((row) => {
    if (!isConversion(row)) return doneUnconverted(row.sourceAmount, feeOf(row))
    const outcome = priced.get(row)
    if (outcome === undefined) return undefined
    if (outcome.kind === 'waits') return { ...outcome, kind: 'wait' }
    if (outcome.kind === 'impossible') return { ...outcome, kind: 'fail' }
    return doneBy(outcome.conversion, feeOf(row))
  })
}

function isConversion({ sourceAsset, destinationAsset }: Priceable): boolean {
  return sourceAsset !== destinationAsset
}

function doneBy(conversion: Conversion, fee: MinorUnits): Done {
  const { sourceAmount: converted, remainder, destinationAmount: outgoing, price, priceSource } = conversion
  return {
    kind: 'done',
    amounts: { fee, converted, remainder, outgoing },
    ids: newIds(),
    price,
    priceSource,
    conversion,
  }
}

/** The result without a conversion: the source amount less the fee, in the same asset. */
function doneUnconverted(sourceAmount: MinorUnits, fee: MinorUnits): Done {
  const outgoing = sourceAmount - fee
  const amounts = { fee, converted: outgoing, remainder: 0n, outgoing }
  return { kind: 'done', amounts, ids: newIds(), price: '1', priceSource: 'par' }
}

function newIds(): StepIds {
  return { debit: newId(), credit: newId(), move: newId(), destination: newId() }
}

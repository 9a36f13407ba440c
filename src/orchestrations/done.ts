/** The result of a conversion: amounts, price, and the ids of the records that it creates. */
import { newId } from '../base/ids.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import type { Amounts, StepIds } from './movements.ts'
import type { Conversion } from './pricing/outcome.ts'

export interface Done {
  readonly kind: 'done'
  readonly amounts: Amounts
  readonly ids: StepIds
  readonly price: string
  readonly priceSource: string
  /** Absent when source and destination are the same asset. */
  readonly conversion?: Conversion
}

/** @param fee the part of the source amount that is not converted */
export function doneBy(conversion: Conversion, fee: MinorUnits): Done {
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
export function doneUnconverted(sourceAmount: MinorUnits, fee: MinorUnits): Done {
  const outgoing = sourceAmount - fee
  const amounts = { fee, converted: outgoing, remainder: 0n, outgoing }
  return { kind: 'done', amounts, ids: newIds(), price: '1', priceSource: 'par' }
}

function newIds(): StepIds {
  return { debit: newId(), credit: newId(), move: newId(), destination: newId() }
}

/** What a conversion comes to: amounts, price, and the ids of what it makes. */
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

/** @param fee part of the source amount, and not of the conversion */
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

/** The same asset leaves as it came, without the fee. */
export function doneUnconverted(sourceAmount: MinorUnits, fee: MinorUnits): Done {
  const outgoing = sourceAmount - fee
  const amounts = { fee, converted: outgoing, remainder: 0n, outgoing }
  return { kind: 'done', amounts, ids: newIds(), price: '1', priceSource: 'par' }
}

function newIds(): StepIds {
  return { debit: newId(), credit: newId(), move: newId(), destination: newId() }
}

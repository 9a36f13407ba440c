/** The operator's verbs for conversion prices and the desk. */

import { printable } from '../terminal/styled-line.ts'
import { tableLines } from '../terminal/table.ts'
import { listText } from './admin-output.ts'
import type { AdminNoun } from './admin-verb.ts'

/** The shown parts of `GET /orchestrations/:id/price`. */
interface PriceAnswer {
  readonly orchestration_id: string
  readonly source_asset: string
  readonly source_amount: string
  readonly destination_asset: string
  readonly destination_amount: string
  readonly price?: string
  readonly price_source?: string
  readonly evidence: Readonly<Record<string, unknown>> | null
  readonly explanation: {
    readonly adds_up: boolean
    readonly steps: readonly string[]
    readonly differences: readonly Readonly<Record<'value' | 'stored' | 'recomputed', string>>[]
  }
  readonly created_at: string
}

const LEVEL_COLUMNS = ['price', 'amount', 'taken_before', 'taken']
const DIFFERENCE_COLUMNS = ['value', 'stored', 'recomputed']

export const CONVERSION_NOUNS: readonly AdminNoun[] = [
  {
    name: 'conversion',
    description: 'conversion prices and their evidence',
    verbs: [
      {
        usage: 'explain <id>',
        description: 'recomputes an orchestration’s price from its stored evidence (exit 1 when the result differs)',
        example: 'conversion explain ORCHESTRATION_ID',
        method: 'GET',
        path: '/orchestrations/:id/price',
        text: (answer) => priceText(answer as PriceAnswer),
        fault: (answer) =>
          (answer as PriceAnswer).explanation.adds_up ? undefined : 'the price does not follow from its evidence',
      },
    ],
  },
  {
    name: 'desk',
    description: 'the operator’s own positions, as the counterparty in conversions',
    verbs: [
      {
        usage: 'show',
        description: 'shows the position in every asset, its limit, and the hedge to close it',
        example: 'desk',
        method: 'GET',
        path: '/desk',
        columns: ['asset', 'position', 'limit', 'committed', 'in_transit', 'receivable', 'hedge.side', 'hedge.amount'],
        isDefault: true,
      },
    ],
  },
]

/** The amounts, the levels taken, the calculation's steps, and every stored value which does not follow from them. */
function priceText(answer: PriceAnswer): string {
  const { explanation, evidence } = answer
  const levels: unknown = evidence?.levels
  const rows = [
    ['orchestration', answer.orchestration_id],
    ['converted', `${answer.source_amount} ${answer.source_asset}`],
    ['into', `${answer.destination_amount} ${answer.destination_asset}`],
    ['price', answer.price ?? '-'],
    ['from', answer.price_source ?? '-'],
    ['at', answer.created_at],
    ['adds up', explanation.adds_up ? 'yes' : 'NO'],
  ].map((row) => row.map(printable))
  const parts = [`${tableLines(rows).join('\n')}\n`]
  if (Array.isArray(levels)) parts.push(listText({ items: levels }, LEVEL_COLUMNS))
  if (explanation.steps.length > 0) parts.push(`${explanation.steps.map(printable).join('\n')}\n`)
  if (!explanation.adds_up) parts.push(listText({ items: explanation.differences }, DIFFERENCE_COLUMNS))
  return parts.join('\n')
}

/** The schemas of the operator API's answers about prices and the desk. */
import { Type } from 'typebox'
import { textChoice } from '../../http/text-choice.ts'

const Amount = Type.String({ description: 'Decimal text without trailing zeros' })

export const Price = Type.Object(
  {
    orchestration_id: Type.String({ format: 'uuid' }),
    source_asset: Type.String(),
    source_amount: Amount,
    destination_asset: Type.String(),
    destination_amount: Amount,
    price: Type.Optional(Type.String()),
    price_source: Type.Optional(Type.String({ description: '`par`, or the symbol of the market' })),
    evidence: Type.Unknown({ description: 'All inputs from which price and amounts were computed' }),
    explanation: Type.Object({
      adds_up: Type.Boolean({ description: 'Whether every stored value equals the recomputed one' }),
      steps: Type.Array(Type.String(), { description: 'The computation, one sentence per step' }),
      differences: Type.Array(Type.Object({ value: Type.String(), stored: Type.String(), recomputed: Type.String() })),
    }),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Price' },
)

const DeskItem = Type.Object(
  {
    asset: Type.String(),
    position: Type.String({ description: 'Received minus paid' }),
    limit: Type.Optional(Type.String({ description: 'How far below zero it may be; absent: no limit' })),
    committed: Type.String({ description: 'Source amounts of orchestrations that are not converted yet' }),
    in_transit: Type.String({ description: 'What all profiles have reserved' }),
    receivable: Type.String({ description: 'What all profiles owe' }),
    hedge: Type.Optional(
      Type.Object(
        { side: textChoice(['BUY', 'SELL']), amount: Amount },
        { description: 'The trade that brings the position back to zero' },
      ),
    ),
  },
  { title: 'DeskItem' },
)

export const Desk = Type.Object({ items: Type.Array(DeskItem) })

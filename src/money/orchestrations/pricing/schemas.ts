/** The answer schemas for prices and the desk. */
import { Type } from 'typebox'
import { textChoice } from '../../../platform/http/text-choice.ts'

const Amount = Type.String({ description: 'Decimal text without trailing zeros' })

const EvidenceAmount = Type.Object({ asset: Type.String(), decimals: Type.Integer(), amount: Amount })
const EvidenceMarket = Type.Object({
  symbol: Type.String(),
  base_asset: Type.String(),
  quote_asset: Type.String(),
  price_decimals: Type.Integer(),
})
const EvidenceBook = Type.Object(
  {
    cursor: Type.Optional(
      Type.String({ description: 'The cursor of this book’s `market_data` message, at the market’s depth' }),
    ),
    time: Type.Optional(Type.String({ description: 'Of its UPDATE, exactly as sent' })),
    simulated: Type.Boolean(),
    best_bid: Type.String(),
    best_ask: Type.String(),
    mid: Type.String({ description: 'One fraction digit more than prices have' }),
  },
  { description: 'Conversions from earlier versions have no `cursor` and `time`' },
)
const EvidenceLevel = Type.Object({
  price: Type.String(),
  amount: Amount,
  taken_before: Type.String({ description: 'Other conversions’ share in it during the last `depth_seconds`' }),
  taken: Amount,
})
const Evidence = Type.Union(
  [
    Type.Object({
      kind: Type.Literal('par'),
      source: EvidenceAmount,
      converted_amount: Amount,
      remainder: Type.String({
        description: 'Finer than the destination asset’s decimals. Stays with the profile',
      }),
      destination: EvidenceAmount,
      pegs: Type.Array(Type.Object({ market: EvidenceMarket, book: EvidenceBook }), {
        description: 'The markets of the pair; empty where it has none, and no book was needed',
      }),
      settings: Type.Object({ peg_bps_max: Type.Integer(), book_age_seconds_max: Type.Number() }),
    }),
    Type.Object({
      kind: Type.Literal('market'),
      market: EvidenceMarket,
      side: textChoice(['bids', 'asks']),
      book: EvidenceBook,
      taken_before: Amount,
      levels: Type.Array(EvidenceLevel, { description: 'The used levels, from the best one' }),
      source: EvidenceAmount,
      base_amount: Type.String({ description: 'The exact sum over the levels' }),
      quote_amount: Type.String({ description: 'The exact sum over the levels' }),
      destination: EvidenceAmount,
      price: Type.String(),
      settings: Type.Object({
        slippage_bps_max: Type.Integer(),
        depth_seconds: Type.Number(),
        book_age_seconds_max: Type.Number(),
        notional_max: Type.Optional(Type.String({ description: 'In the quote asset' })),
      }),
    }),
  ],
  { description: 'All inputs from which price and amounts were computed' },
)

export const Price = Type.Object(
  {
    orchestration_id: Type.String({ format: 'uuid' }),
    source_asset: Type.String(),
    source_amount: Amount,
    destination_asset: Type.String(),
    destination_amount: Amount,
    price: Type.Optional(Type.String()),
    price_source: Type.Optional(Type.String({ description: '`par`, or the market’s symbol' })),
    evidence: Evidence,
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
    limit: Type.Optional(Type.String({ description: 'How far below zero it may be. Absent: no limit' })),
    committed: Type.String({ description: 'Source amounts in orchestrations not converted yet' }),
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

/** The schemas for the operator API's answers about connections, markets and books. */
import { Type } from 'typebox'
import { pageOf } from '../../platform/http/page-query.ts'
import { PROOFS } from '../market/event.ts'

const Time = Type.String({ format: 'date-time' })
const Count = Type.Integer({ minimum: 0 })
const Reason = Type.Optional(Type.String({ description: 'Why it is not live' }))

export const Connection = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    client_id: Type.String(),
    customer_id: Type.String(),
    client_address: Type.String(),
    subprotocol: Type.Optional(Type.String({ description: 'Absent: the base protocol' })),
    created_at: Time,
    subscriptions: Count,
    behind: Type.Boolean({ description: 'Whether it lags: it gets conflated updates when its socket has drained' }),
    reading: Type.Optional(
      Type.Boolean({
        description: 'False when it reads nothing: two pongs are missing. Absent from a node with an earlier release',
      }),
    ),
    pong_age_ms: Type.Optional({ ...Count, description: 'Since its last pong. Absent before the first' }),
    round_trip_ms: Type.Optional({ ...Count, description: 'From its last answered ping to the pong' }),
    queued_bytes: { ...Count, description: 'Bytes waiting in the process' },
    bytes_out: { ...Count, description: 'Bytes written to its socket' },
    conflated_messages: Type.Optional({
      ...Count,
      description: 'Conflated UPDATEs made for it. Absent from a node with an earlier release',
    }),
    node: Type.String({ description: 'Its node' }),
  },
  { title: 'Connection' },
)

export const ConnectionPage = Type.Object({
  ...pageOf(Connection).properties,
  nodes: Type.Array(
    Type.Object({
      node: Type.String(),
      connections: Type.Optional({ ...Count, description: 'Its matching connections, on all pages' }),
      problem: Type.Optional(Type.String({ description: 'Why its connections are missing in the list' })),
    }),
  ),
})

/** A connection's position in one market. */
const SubscribedMarket = Type.Object(
  {
    market: Type.String(),
    channels: Type.Array(
      Type.Object({
        type: Type.String(),
        depth: Type.Optional({ ...Count, description: 'The chosen depth. Absent: the published one' }),
        interval_ms: Type.Optional({ ...Count, description: 'The chosen interval. Absent: every change' }),
        attribution: Type.Optional(Type.Boolean({ description: 'Whether its levels name their venues' })),
      }),
    ),
    behind: Type.Boolean({ description: 'Whether messages are pending until the connection has drained' }),
    version: Type.Optional({
      ...Count,
      description: 'The last sent book version. Absent before the first, and without market_data',
    }),
    current_version: { ...Count, description: 'The market’s version now, in the same process' },
    last_digest: Type.Optional(
      Type.Object(
        {
          digest: Type.String(),
          cursor: Type.String({ description: 'Cursor of the book’s last message before that heartbeat' }),
          sent_at: Time,
        },
        { description: 'Its book’s last digest, as in the extended protocol’s heartbeats' },
      ),
    ),
  },
  { title: 'SubscribedMarket' },
)

export const ConnectionDetails = Type.Object(
  {
    ...Connection.properties,
    heartbeat: Type.Boolean({ description: 'Whether the heartbeat is subscribed' }),
    market_count: { ...Count, description: 'Markets with a subscribed channel' },
    markets: Type.Array(SubscribedMarket, { description: 'The first 500 of them' }),
  },
  { title: 'ConnectionDetails' },
)

const Level = Type.Object({ price: Type.String(), amount: Type.String() }, { title: 'Level' })

const Source = Type.Object(
  {
    source: Type.String({ description: 'As the configuration names it' }),
    live: Type.Boolean(),
    reason: Reason,
    since: Type.String({ format: 'date-time', description: 'When its state changed last' }),
    notices: Type.Array(Type.String()),
    proof: Type.Enum([...PROOFS], { type: 'string', description: 'What proves its book, while it is live' }),
    levels: Type.Optional({ ...Count, description: 'For a market with several sources: its levels in the book' }),
    heard_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'The same: when its last book message arrived' }),
    ),
  },
  { title: 'MarketSource' },
)

const Market = Type.Object(
  {
    symbol: Type.String(),
    live: Type.Boolean(),
    reason: Reason,
    stale_since: Type.Optional(Time),
    sources: Type.Array(Type.String()),
    source_states: Type.Array(Source),
    depth: { ...Count, description: 'Published levels per side (0 = all)' },
    version: { ...Count, description: 'The last commit’s version (0 before the first)' },
    committed_at: Type.Optional(Type.String({ description: 'RFC 3339 with nanoseconds' })),
    bid_levels: Count,
    ask_levels: Count,
    best_bid: Type.Optional(Level),
    best_ask: Type.Optional(Level),
    subscribers: { ...Count, description: 'Connections with a subscription to any of its channels' },
  },
  { title: 'Market' },
)

export const MarketList = Type.Object({ items: Type.Array(Market) })

const Execution = Type.Object({
  ...Level.properties,
  id: Type.Optional(Type.String()),
  side: Type.Optional(Type.String()),
  venue: Type.Optional(Type.String()),
  executed_at: Type.Optional(Time),
  committed_at: Time,
})

/** With `at`, from the recordings. */
const recorded = {
  at: Type.Optional(Type.String()),
  stale_since: Type.Optional(Time),
  withdrawn: Type.Optional(Type.Boolean({ description: 'Whether the market was removed' })),
  epoch: Type.Optional(Type.String()),
  committed_at: Type.Optional(Type.String({ description: 'RFC 3339 with nanoseconds' })),
  origin: Type.Optional(Type.String({ description: 'The origin stated by the book’s publisher' })),
  instrument_state: Type.Optional(Type.String()),
  instrument_reason: Type.Optional(Type.String()),
  executions: Type.Optional(Type.Array(Execution)),
  recording: Type.Optional(Type.String({ description: 'The file that contains it' })),
}

export const Book = Type.Object(
  {
    symbol: Type.String(),
    live: Type.Boolean(),
    reason: Reason,
    version: Count,
    time: Type.Optional(Type.String({ format: 'date-time', description: 'Of the last commit' })),
    depth: { ...Count, description: 'Most levels per side in bids and asks: the parameter `depth`, 100 without it' },
    bid_levels: { ...Count, description: 'Published levels. bids has the best ones' },
    ask_levels: { ...Count, description: 'Published levels. asks has the best ones' },
    bids: Type.Array(Level, { description: 'Best first' }),
    asks: Type.Array(Level, { description: 'Best first' }),
    ...recorded,
  },
  { title: 'Book', description: 'With `at`, also the members from recordings' },
)

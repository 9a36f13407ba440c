/** The descriptions and examples of the operations on market data. Pure. */
const LEVELS = {
  bids: [{ price: '60000.10', amount: '0.50000000' }],
  asks: [{ price: '60000.90', amount: '1.25000000' }],
}

export const MARKET_DATA_EXAMPLES = {
  listMarkets: {
    description: 'Every market on this node, at most 2,000. Their data is sent over the WebSocket.',
    answered: 'All markets',
    answer: {
      items: [
        {
          market: 'BTCUSD',
          base_asset: 'BTC',
          quote_asset: 'USD',
          price_decimals: 2,
          amount_decimals: 8,
          tick_size: '0.01',
          amount_min: '0.00000001',
          depth: 1000,
          state: 'LIVE',
          state_since: '2026-11-20T12:00:00.000Z',
          simulated: false,
          proof: 'CHECKSUM',
        },
      ],
    },
  },
  getOrderBook: {
    description:
      'The book as the stream’s extended protocol has it at the same `depth`: the same levels, cursor and digest, so ' +
      'both can be compared. It comes from memory, and an old book is never sent: a market that is not live is 503 ' +
      '`market_not_live`. The entity tag names cursor and depth. A request with it in `If-None-Match` is 304 until the ' +
      'book changes. The customer must be on the streaming allow list.',
    answered: 'The book',
    answer: {
      market: 'BTCUSD',
      cursor: 'Jm3x0P2q.4711',
      time: '2026-11-20T12:00:00.125Z',
      depth: 1,
      digest: '6f1c0d2a9b3e4785',
      ...LEVELS,
    },
  },
  listTrades: {
    description:
      'The market’s last executions, the newest first, as far as this node’s memory reaches. `before` takes the ' +
      'cursor of a trade, and is 400 when that is no longer kept. The customer must be on the streaming allow list.',
    answered: 'The trades',
    answer: {
      market: 'BTCUSD',
      items: [
        {
          cursor: 'b81TqWnE.902',
          price: '60000.90',
          amount: '0.01500000',
          executed_at: '2026-11-20T12:00:00.120Z',
          id: '74220119',
          side: 'buy',
          venue: 'simulator',
        },
      ],
    },
  },
  getTicker: {
    description:
      'The market’s last price, its best bid and ask, and the executions of the last 24 hours, counted by whole minutes: ' +
      'the present one and the 1,440 before it. It is equal on every node. A market that is not live is 503 ' +
      '`market_not_live`. The customer must be on the streaming allow list.',
    answered: 'The ticker',
    answer: {
      market: 'BTCUSD',
      time: '2026-11-20T12:00:00.125Z',
      last: '60000.90',
      bid: '60000.10',
      ask: '60000.90',
      open: '59100.00',
      high: '60410.50',
      low: '58990.20',
      volume: '1204.53110000',
      quote_volume: '71925431.8811400000',
      vwap: '59712.39',
      trades: 48120,
    },
  },
  listCandles: {
    description:
      'Candles from the market’s published executions, by their `executed_at` and, where it is equal, in the stream’s ' +
      'order. Without `from`, the last `limit` candles before `to`; with it, the first ones from there on. Candles of a ' +
      'minute to 15 minutes reach back 30 days, longer ones `candles.retention_days`, and none is before the market’s ' +
      'first execution. A candle without executions has the last close as its prices, and volume 0. `closed` candles ' +
      'change only when an execution arrives late, which raises `revision`. `incomplete`: executions may be missing in ' +
      'its time. Closed candles are equal on every node, also after a failover. A market whose executions are not known ' +
      'here yet is 503 `market_not_live`. The customer must be on the streaming allow list.',
    answered: 'The candles',
    answer: {
      market: 'BTCUSD',
      interval: '1m',
      items: [
        {
          time: '2026-11-20T12:00:00.000Z',
          open: '60000.10',
          high: '60004.00',
          low: '59998.70',
          close: '60000.90',
          volume: '3.01500000',
          quote_volume: '180904.5331500000',
          trades: 41,
          first_execution_id: '74220079',
          last_execution_id: '74220119',
          revision: 0,
          closed: true,
          incomplete: false,
        },
      ],
    },
  },
}

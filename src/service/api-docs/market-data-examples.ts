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
}

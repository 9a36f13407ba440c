/** Short notations for the stream's messages, well-formed unless a test changes them. */

type Level = readonly [price: string, amount: string]

function levels(side: readonly Level[]): { price: string; amount: string }[] {
  return side.map(([price, amount]) => ({ price, amount }))
}

/** A book time: milliseconds since the start of a day. */
export function bookTime(milliseconds: number): string {
  return new Date(Date.UTC(2026, 0, 1) + milliseconds).toISOString()
}

export function nanosecondTime(milliseconds: number): string {
  return bookTime(milliseconds).replace('Z', '000000Z')
}

export function snapshot(market: string, milliseconds: number, bids: readonly Level[], asks: readonly Level[]): object {
  const payload = { market, type: 'SNAPSHOT', time: bookTime(milliseconds), bids: levels(bids), asks: levels(asks) }
  return { channel: 'market_data', payload }
}

export function update(market: string, milliseconds: number, bids: readonly Level[], asks: readonly Level[]): object {
  const payload = { market, type: 'UPDATE', time: bookTime(milliseconds), bids: levels(bids), asks: levels(asks) }
  return { channel: 'market_data', payload }
}

export function top(market: string, milliseconds: number, bid: Level | undefined, ask: Level | undefined): object {
  const bids = bid === undefined ? [] : levels([bid])
  const asks = ask === undefined ? [] : levels([ask])
  const payload = { market, type: 'TOP_OF_BOOK', timestamp: nanosecondTime(milliseconds), bids, asks }
  return { channel: 'market_data.top_of_book', payload }
}

/** @param members those added by `tidegate.v1` */
export function execution(market: string, milliseconds: number, price: string, amount: string, members = {}): object {
  const payload = { market, price, amount, executed_at: bookTime(milliseconds), ...members }
  return { channel: 'execution_data', payload }
}

export function heartbeat(milliseconds: number): object {
  return { channel: 'heartbeat', payload: { timestamp: nanosecondTime(milliseconds) } }
}

/** The acknowledgement for all of a market's channels, and heartbeat. */
export function acknowledged(market: string): object {
  const perMarket = ['market_data', 'market_data.top_of_book', 'execution_data']
  const channels = perMarket.map((type) => ({ type, params: { market }, success: true }))
  return { type: 'subscribe', channels: [...channels, { type: 'heartbeat', success: true }] }
}

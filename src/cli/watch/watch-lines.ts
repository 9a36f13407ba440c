/**
 * What `watch` prints without a terminal: one line per event, with time, event, market and then `name=value` pairs in a
 * fixed order, for use with grep, cut and awk. Pure.
 */
import type { BookChange, Level, StreamEvent } from '../../../packages/client/src/index.ts'
import { printable } from '../terminal/styled-line.ts'
import { type Best, type MarketView, spreadOf, type Trade } from './market-view.ts'

/** The line for a book change, with the current book. Undefined where no level changed. `depth` = levels per side. */
export function changeLine({ market, book }: MarketView, change: BookChange, depth: number): string | undefined {
  const levelCount = change.bids.length + change.asks.length
  // A SNAPSHOT without levels is an empty book, except while the book is unknown.
  if (levelCount === 0 && (change.type === 'UPDATE' || change.status === 'RESYNCING')) return undefined
  return line(change.time, change.type.toLowerCase(), market, [
    `levels=${levelCount}`,
    `bids=${levelsText(book?.bids(depth) ?? [])}`,
    `asks=${levelsText(book?.asks(depth) ?? [])}`,
  ])
}

/** The best prices, as in a `top` line. */
export function topText(best: Best): string {
  const { bestBid, bestAsk } = best
  const spread = spreadOf(best)
  const pairs = [
    `bid=${bestBid?.price ?? ''}`,
    `bid_amount=${bestBid?.amount ?? ''}`,
    `ask=${bestAsk?.price ?? ''}`,
    `ask_amount=${bestAsk?.amount ?? ''}`,
    `spread=${spread?.value ?? ''}`,
    `spread_bp=${spread?.basisPoints ?? ''}`,
  ]
  return pairs.join(' ')
}

export function topLine(market: string, time: string, text: string): string {
  return line(time, 'top', market, [text])
}

/** The line for an execution, or for a gap in the executions noticed at `now`. */
export function tradeLine(market: string, trade: Trade, now: string): string {
  if (trade.type === 'GAP') return line(now, 'gap', market, [`reason=${JSON.stringify(trade.reason)}`])
  const { price, amount, side = '', venue = '', executedAt } = trade
  return line(executedAt, 'trade', market, [`price=${price}`, `amount=${amount}`, `side=${side}`, `venue=${venue}`])
}

export function heartbeatLine(market: string, time: string): string {
  return line(time, 'heartbeat', market, [])
}

/** The line for a connection event. `now` is by our own clock. */
export function connectionLine(market: string, event: StreamEvent, now: string): string {
  switch (event.type) {
    case 'CONNECTED':
      return line(now, 'connected', market, [`host=${new URL(event.url).host}`, `protocol=${event.protocol}`])
    case 'DISCONNECTED': {
      const { code, retryInMilliseconds, reason } = event
      const pairs = [`code=${code ?? ''}`, `retry_ms=${retryInMilliseconds}`, `reason=${JSON.stringify(reason)}`]
      return line(now, 'disconnected', market, pairs)
    }
    case 'RESYNC':
      return line(now, 'resync', market, [`channel=${event.channel}`, `reason=${JSON.stringify(event.reason)}`])
  }
}

/** The line for a market state which the service reports. */
export function stateLine(market: string, state: string, since: string, now: string): string {
  return line(now, state.toLowerCase(), market, [`since=${since}`])
}

function line(time: string, what: string, market: string, pairs: readonly string[]): string {
  return printable([time, what, market, ...pairs].join(' '))
}

/** Best first: `price:amount,price:amount`. */
function levelsText(levels: readonly Level[]): string {
  return levels.map(({ price, amount }) => `${price}:${amount}`).join(',')
}

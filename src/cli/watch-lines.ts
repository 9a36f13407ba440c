/**
 * The output of `watch` without a terminal: one line per event, with time, event, market and then `name=value` pairs in a
 * fixed order, for use with grep, cut and awk. Pure.
 */
import type { WireLevel } from './client-book.ts'
import { type MarketView, spreadText, type ViewEvent } from './market-view.ts'
import { printable } from './styled-line.ts'

/** The line of one event; undefined for events that are not printed. `depth` = levels per side in book lines. */
export function eventLine(view: MarketView, event: ViewEvent, depth: number): string | undefined {
  switch (event.type) {
    case 'snapshot':
    case 'update': {
      const bids = view.book?.top('bids', depth) ?? []
      const asks = view.book?.top('asks', depth) ?? []
      const pairs = [`levels=${event.levelCount}`, `bids=${levelsText(bids)}`, `asks=${levelsText(asks)}`]
      return line(event.time, event.type, view.market, pairs)
    }
    case 'top': {
      const { bid, ask } = event.best
      const spread = spreadText(event.best)
      return line(event.time, 'top', view.market, [
        `bid=${bid?.price ?? ''}`,
        `bid_amount=${bid?.amount ?? ''}`,
        `ask=${ask?.price ?? ''}`,
        `ask_amount=${ask?.amount ?? ''}`,
        `spread=${spread?.value ?? ''}`,
        `spread_bp=${spread?.basisPoints ?? ''}`,
      ])
    }
    case 'trade': {
      const { price, amount, side } = event.trade
      return line(event.time, 'trade', view.market, [`price=${price}`, `amount=${amount}`, `side=${side ?? ''}`])
    }
    case 'heartbeat':
      return line(event.time, 'heartbeat', view.market, [])
    case 'reply':
    case 'ended':
    case 'failed':
      return undefined
  }
}

/** The line of a connection event; `time` is by our own clock. */
export function connectionEventLine(time: string, what: string, market: string, pairs: readonly string[]): string {
  return line(time, what, market, pairs)
}

function line(time: string, what: string, market: string, pairs: readonly string[]): string {
  return printable([time, what, market, ...pairs].join(' '))
}

/** Best first: `price:amount,price:amount`. */
function levelsText(levels: readonly WireLevel[]): string {
  return levels.map(({ price, amount }) => `${price}:${amount}`).join(',')
}

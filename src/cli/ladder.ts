/**
 * Draws a market as a ladder: asks above, bids below, the spread between them, amounts as bars scaled to the largest visible
 * one, the last trades next to the ladder or below it, and a status line. The result is never larger than the terminal. Pure.
 */
import { fractionDigits } from './checker-forms.ts'
import type { BookSide, WireLevel } from './client-book.ts'
import { exactInteger, type Freshness, type MarketView, middleText, spreadText, type Trade } from './market-view.ts'
import { fitLine, type Line, type Piece, renderLine, type Style } from './styled-line.ts'

export interface LadderSize {
  readonly columns: number
  /** Lines of the terminal. */
  readonly rows: number
  /** Maximum number of levels per side; absent = as many as fit. */
  readonly depth?: number
}

export interface ConnectionState {
  /** Address of the service, such as 127.0.0.1:8080. */
  readonly host: string
  readonly isOpen: boolean
  /** The status while the connection is not open. */
  readonly note: string
  readonly nowMilliseconds: number
}

const BAR_WIDTH_MIN = 8
const BAR_WIDTH_MAX = 48
const PANEL_GAP = 3
/** Trades below the ladder when the terminal is too narrow to show them next to it. */
const TRADES_BENEATH = 4
/** Header, column titles, spread, connection. */
const FIXED_ROWS = 4
const BAR_EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** Keeps the widest numbers, so that columns do not move between frames. */
export class Ladder {
  #priceWidth = 'PRICE'.length
  #amountWidth = 'AMOUNT'.length

  lines(view: MarketView, connection: ConnectionState, size: LadderSize, hasColors: boolean): string[] {
    const isBeside = size.columns >= this.#bookWidth(BAR_WIDTH_MIN) + PANEL_GAP + this.#tradesWidth()
    const beneath = isBeside || size.rows < FIXED_ROWS + TRADES_BENEATH + 6 ? 0 : TRADES_BENEATH + 1
    const levelsFitting = Math.max(1, Math.floor((size.rows - FIXED_ROWS - beneath) / 2))
    const levelCount = Math.min(levelsFitting, size.depth ?? levelsFitting)
    const asks = view.book?.top('asks', levelCount) ?? []
    const bids = view.book?.top('bids', levelCount) ?? []
    this.#measure([...asks, ...bids, ...view.trades.slice(0, size.rows)])

    const besideWidth = isBeside ? this.#tradesWidth() + PANEL_GAP : 0
    const barWidth = Math.max(0, Math.min(BAR_WIDTH_MAX, size.columns - besideWidth - this.#bookWidth(0)))
    const ladder = this.#ladderLines(asks, bids, levelCount, barWidth, view)
    const body = isBeside ? this.#besideTrades(ladder, view.trades, this.#bookWidth(barWidth)) : ladder
    const trades = beneath === 0 ? [] : [this.#tradeTitle(), ...this.#tradeLines(view.trades, TRADES_BENEATH)]
    const all = [headerLine(view, connection), ...body, ...trades, connectionLine(view, connection)]
    return all.slice(0, size.rows).map((line) => renderLine(line, size.columns, hasColors))
  }

  #bookWidth(barWidth: number): number {
    return 1 + this.#priceWidth + 2 + this.#amountWidth + 2 + barWidth
  }

  /** `12:00:00.000 ▲ price  amount` */
  #tradesWidth(): number {
    return 12 + 3 + this.#priceWidth + 2 + this.#amountWidth
  }

  #measure(levels: readonly WireLevel[]): void {
    for (const { price, amount } of levels) {
      this.#priceWidth = Math.max(this.#priceWidth, price.length)
      this.#amountWidth = Math.max(this.#amountWidth, amount.length)
    }
  }

  /** Titles, asks from far to near, spread, bids from near to far. */
  #ladderLines(
    asks: readonly WireLevel[],
    bids: readonly WireLevel[],
    levelCount: number,
    barWidth: number,
    view: MarketView,
  ): Line[] {
    const title = ` ${'PRICE'.padStart(this.#priceWidth)}  ${'AMOUNT'.padStart(this.#amountWidth)}`
    const empty: Line[] = Array.from({ length: levelCount }, () => [])
    const bar = barScale([...asks, ...bids], barWidth)
    const askLines = [...asks.map((level, index) => this.#levelLine('asks', level, index, bar)), ...empty]
    const bidLines = [...bids.map((level, index) => this.#levelLine('bids', level, index, bar)), ...empty]
    return [
      [{ text: title, style: 'dim' }],
      ...askLines.slice(0, levelCount).reverse(),
      spreadLine(view, this.#bookWidth(barWidth)),
      ...bidLines.slice(0, levelCount),
    ]
  }

  #levelLine(side: BookSide, level: WireLevel, index: number, bar: (amount: string) => string): Line {
    const isBest = index === 0
    const color: Style = side === 'bids' ? (isBest ? 'boldGreen' : 'green') : isBest ? 'boldRed' : 'red'
    return [
      { text: ` ${level.price.padStart(this.#priceWidth)}`, style: color },
      withStyle(`  ${level.amount.padStart(this.#amountWidth)}  `, isBest ? 'bold' : undefined),
      { text: bar(level.amount), style: side === 'bids' ? 'green' : 'red' },
    ]
  }

  #besideTrades(ladder: readonly Line[], trades: readonly Trade[], bookWidth: number): Line[] {
    const right = [this.#tradeTitle(), ...this.#tradeLines(trades, ladder.length - 1)]
    return ladder.map((line, index) => {
      const trade = right[index]
      return trade === undefined ? line : [...fitLine(line, bookWidth + PANEL_GAP), ...trade]
    })
  }

  #tradeTitle(): Line {
    const price = 'PRICE'.padStart(this.#priceWidth)
    return [{ text: `${'TRADES'.padEnd(12)}   ${price}  ${'AMOUNT'.padStart(this.#amountWidth)}`, style: 'dim' }]
  }

  #tradeLines(trades: readonly Trade[], count: number): Line[] {
    return trades
      .slice(0, count)
      .map((trade) => [
        { text: trade.executedAt.slice(11, 23), style: 'dim' },
        withStyle(` ${sideMark(trade)} ${trade.price.padStart(this.#priceWidth)}`, tradeStyle(trade)),
        { text: `  ${trade.amount.padStart(this.#amountWidth)}` },
      ])
  }
}

function headerLine(view: MarketView, { host }: ConnectionState): Line {
  const last = view.trades[0]
  const lastPiece = last === undefined ? [] : [withStyle(`  last ${last.price} ${sideMark(last)}`, tradeStyle(last))]
  const sizes = view.book === undefined ? '' : `  ${view.book.size('bids')} bids, ${view.book.size('asks')} asks`
  return [{ text: ` ${view.market}`, style: 'bold' }, ...lastPiece, { text: `${sizes}  ${host}`, style: 'dim' }]
}

function spreadLine(view: MarketView, width: number): Line {
  const spread = spreadText(view.best())
  if (spread === undefined) {
    const text = spreadNote(view)
    return [{ text, style: 'dim' }]
  }
  const text = ` ${middleText(view.best())}  spread ${spread.value}, ${spread.basisPoints} bp `
  return [
    { text, style: 'bold' },
    { text: '─'.repeat(Math.max(0, width - text.length)), style: 'dim' },
  ]
}

function spreadNote({ book }: MarketView): string {
  if (book === undefined) return ' waiting for the book'
  return book.size('bids') + book.size('asks') === 0 ? ' the book is empty' : ' one side is empty'
}

function connectionLine(view: MarketView, connection: ConnectionState): Line {
  if (!connection.isOpen) return [{ text: ` ○ ${connection.note}`, style: 'yellow' }]
  const now = connection.nowMilliseconds
  const parts = [
    `${view.updatesPerSecond(now)} updates/s`,
    `message ${ageText(view.lastMessageMilliseconds, now)}`,
    `heartbeat ${ageText(view.lastHeartbeatMilliseconds, now)}`,
    'Ctrl-C ends',
  ]
  return [freshnessPiece(view.freshness(now)), { text: ` · ${parts.join(' · ')}`, style: 'dim' }]
}

function freshnessPiece(freshness: Freshness): Piece {
  if (freshness.type === 'live') return { text: ' ● live', style: 'green' }
  if (freshness.type === 'waiting') return { text: ' ○ no book yet', style: 'yellow' }
  return { text: ` ○ STALE for ${Math.floor(freshness.ageMilliseconds / 1000)} s`, style: 'yellow' }
}

function ageText(sinceMilliseconds: number | undefined, nowMilliseconds: number): string {
  if (sinceMilliseconds === undefined) return 'none yet'
  const age = Math.max(0, Math.round(nowMilliseconds - sinceMilliseconds))
  if (age < 1000) return `${age} ms ago`
  return `${Math.floor(age / 1000)}.${Math.floor((age % 1000) / 100)} s ago`
}

/** Bars in eighths of a column, the largest amount filling the width; any amount shows at least one eighth. */
function barScale(levels: readonly WireLevel[], width: number): (amount: string) => string {
  const scale = levels.reduce((digits, { amount }) => Math.max(digits, fractionDigits(amount)), 0)
  let largest = 1n
  for (const { amount } of levels) {
    const value = exactInteger(amount, scale)
    if (value > largest) largest = value
  }
  return (amount) => {
    if (width === 0) return ''
    const eighths = Number((exactInteger(amount, scale) * BigInt(width * 8)) / largest) || 1
    return '█'.repeat(eighths >> 3) + BAR_EIGHTHS[eighths & 7]
  }
}

function sideMark({ side }: Trade): string {
  return side === 'buy' ? '▲' : side === 'sell' ? '▼' : ' '
}

function tradeStyle({ side }: Trade): Style | undefined {
  return side === 'buy' ? 'green' : side === 'sell' ? 'red' : undefined
}

function withStyle(text: string, style: Style | undefined): Piece {
  return style === undefined ? { text } : { text, style }
}

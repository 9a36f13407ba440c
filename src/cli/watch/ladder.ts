/**
 * Draws a market as a ladder: asks above, bids below, the spread between them, amounts as bars scaled to the largest visible
 * one, the last trades next to the ladder or below it, and a status line. The result is never larger than the terminal. Pure.
 */
import type { Book, Execution, Level } from '../../../packages/client/src/index.ts'
import { fitLine, type Line, type Piece, renderLine, type Style } from '../terminal/styled-line.ts'
import { type Freshness, type MarketView, spreadOf, type Trade } from './market-view.ts'

export interface LadderSize {
  readonly columns: number
  /** The terminal's lines. */
  readonly rows: number
  /** Maximum levels per side. Absent = as many as fit. */
  readonly depth?: number
}

export interface ConnectionState {
  /** The service's address, such as 127.0.0.1:8080. */
  readonly host: string
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

/** Keeps the widest numbers, so columns do not move between frames. */
export class Ladder {
  #priceWidth = 'PRICE'.length
  #amountWidth = 'AMOUNT'.length
  /** 0 until an execution has a venue. */
  #venueWidth = 0

  lines(view: MarketView, connection: ConnectionState, size: LadderSize, hasColors: boolean): string[] {
    const isBeside = size.columns >= this.#bookWidth(BAR_WIDTH_MIN) + PANEL_GAP + this.#tradesWidth(0)
    const beneath = isBeside || size.rows < FIXED_ROWS + TRADES_BENEATH + 6 ? 0 : TRADES_BENEATH + 1
    const levelsFitting = Math.max(1, Math.floor((size.rows - FIXED_ROWS - beneath) / 2))
    const levelCount = Math.min(levelsFitting, size.depth ?? levelsFitting)
    const asks = view.book?.asks(levelCount) ?? []
    const bids = view.book?.bids(levelCount) ?? []
    const executions = view.trades.slice(0, size.rows).filter(isExecution)
    this.#measure([...asks, ...bids, ...executions], executions)

    const besideWidthMin = this.#bookWidth(BAR_WIDTH_MIN) + PANEL_GAP + this.#tradesWidth(this.#venueWidth)
    const venueWidth = isBeside && size.columns < besideWidthMin ? 0 : this.#venueWidth
    const besideWidth = isBeside ? this.#tradesWidth(venueWidth) + PANEL_GAP : 0
    const barWidth = Math.max(0, Math.min(BAR_WIDTH_MAX, size.columns - besideWidth - this.#bookWidth(0)))
    const ladder = this.#ladderLines(asks, bids, levelCount, barWidth, view)
    const trades = this.#tradeLines(view.trades, isBeside ? ladder.length - 1 : TRADES_BENEATH, venueWidth)
    const body = isBeside ? besideTrades(ladder, trades, this.#bookWidth(barWidth)) : ladder
    const below = beneath === 0 ? [] : trades
    const all = [headerLine(view, connection), ...body, ...below, connectionLine(view, connection)]
    return all.slice(0, size.rows).map((line) => renderLine(line, size.columns, hasColors))
  }

  #bookWidth(barWidth: number): number {
    return 1 + this.#priceWidth + 2 + this.#amountWidth + 2 + barWidth
  }

  /** `12:00:00.000 ▲ price  amount  venue`. Width 0 leaves the venue out. */
  #tradesWidth(venueWidth: number): number {
    return 12 + 3 + this.#priceWidth + 2 + this.#amountWidth + (venueWidth === 0 ? 0 : 2 + venueWidth)
  }

  #measure(rows: readonly Pick<Level, 'price' | 'amount'>[], executions: readonly Execution[]): void {
    for (const { price, amount } of rows) {
      this.#priceWidth = Math.max(this.#priceWidth, price.length)
      this.#amountWidth = Math.max(this.#amountWidth, amount.length)
    }
    for (const { venue } of executions)
      if (venue !== undefined) this.#venueWidth = Math.max(this.#venueWidth, 'VENUE'.length, venue.length)
  }

  /** Titles, asks from far to near, spread, bids from near to far. */
  #ladderLines(
    asks: readonly Level[],
    bids: readonly Level[],
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

  #levelLine(side: 'bids' | 'asks', level: Level, index: number, bar: (level: Level) => string): Line {
    const isBest = index === 0
    const color: Style = side === 'bids' ? (isBest ? 'boldGreen' : 'green') : isBest ? 'boldRed' : 'red'
    return [
      { text: ` ${level.price.padStart(this.#priceWidth)}`, style: color },
      withStyle(`  ${level.amount.padStart(this.#amountWidth)}  `, isBest ? 'bold' : undefined),
      { text: bar(level), style: side === 'bids' ? 'green' : 'red' },
    ]
  }

  /** A title and at most `count` lines. */
  #tradeLines(trades: readonly Trade[], count: number, venueWidth: number): Line[] {
    const column = (text: string, width: number): string => `  ${text.padStart(width)}`
    const venueColumn = (venue: string): string => (venueWidth === 0 ? '' : `  ${venue}`)
    const titles = `${column('PRICE', this.#priceWidth)}${column('AMOUNT', this.#amountWidth)}${venueColumn('VENUE')}`
    const lines = trades.slice(0, count).map((trade): Line => {
      if (!isExecution(trade)) return [{ text: '… some are missing', style: 'yellow' }]
      const { executedAt, price, amount, venue = '' } = trade
      return [
        { text: executedAt.slice(11, 23), style: 'dim' },
        withStyle(` ${sideMark(trade)} ${price.padStart(this.#priceWidth)}`, tradeStyle(trade)),
        { text: `${column(amount, this.#amountWidth)}${venueColumn(venue)}` },
      ]
    })
    return [[{ text: `${'TRADES'.padEnd(13)}${titles}`, style: 'dim' }], ...lines]
  }
}

function besideTrades(ladder: readonly Line[], trades: readonly Line[], bookWidth: number): Line[] {
  return ladder.map((line, index) => {
    const trade = trades[index]
    return trade === undefined ? line : [...fitLine(line, bookWidth + PANEL_GAP), ...trade]
  })
}

function isExecution(trade: Trade): trade is Execution {
  return trade.type === 'EXECUTION'
}

function headerLine({ market, book, trades, protocol }: MarketView, { host }: ConnectionState): Line {
  const last = trades.find(isExecution)
  const lastPiece = last === undefined ? [] : [withStyle(`  last ${last.price} ${sideMark(last)}`, tradeStyle(last))]
  const sizes = book === undefined ? '' : `  ${book.bids().length} bids, ${book.asks().length} asks`
  const service = protocol === undefined ? host : `${host}  ${protocol}`
  return [{ text: ` ${market}`, style: 'bold' }, ...lastPiece, { text: `${sizes}  ${service}`, style: 'dim' }]
}

function spreadLine({ book }: MarketView, width: number): Line {
  const spread = book === undefined ? undefined : spreadOf(book)
  if (spread === undefined) return [{ text: spreadNote(book), style: 'dim' }]
  const text = ` ${spread.middle}  spread ${spread.value}, ${spread.basisPoints} bp `
  return [
    { text, style: 'bold' },
    { text: '─'.repeat(Math.max(0, width - text.length)), style: 'dim' },
  ]
}

function spreadNote(book: Book | undefined): string {
  if (book === undefined || book.priceDecimals === undefined) return ' waiting for the book'
  return book.bestBid === undefined && book.bestAsk === undefined ? ' the book is empty' : ' one side is empty'
}

function connectionLine(view: MarketView, { note, nowMilliseconds: now }: ConnectionState): Line {
  if (view.protocol === undefined) return [{ text: ` ○ ${note}`, style: 'yellow' }]
  const parts = [
    `${view.updatesPerSecond(now)} updates/s`,
    `message ${ageText(view.lastMessageMilliseconds, now)}`,
    `heartbeat ${ageText(view.lastHeartbeatMilliseconds, now)}`,
    'Ctrl-C ends',
  ]
  return [freshnessPiece(view.freshness(now)), { text: ` · ${parts.join(' · ')}`, style: 'dim' }]
}

function freshnessPiece(freshness: Freshness): Piece {
  switch (freshness.type) {
    case 'live':
      return { text: ' ● live', style: 'green' }
    case 'waiting':
      return { text: ' ○ no book yet', style: 'yellow' }
    case 'resyncing':
      return { text: ' ○ resyncing', style: 'yellow' }
    case 'stale': {
      const { ageMilliseconds } = freshness
      const age = ageMilliseconds === undefined ? '' : ` for ${Math.floor(ageMilliseconds / 1000)} s`
      return { text: ` ○ STALE${age}`, style: 'yellow' }
    }
  }
}

function ageText(sinceMilliseconds: number | undefined, nowMilliseconds: number): string {
  if (sinceMilliseconds === undefined) return 'none yet'
  const age = Math.max(0, Math.round(nowMilliseconds - sinceMilliseconds))
  if (age < 1000) return `${age} ms ago`
  return `${Math.floor(age / 1000)}.${Math.floor((age % 1000) / 100)} s ago`
}

/** Bars in eighths of a column. The largest amount fills the width, and any amount shows at least one eighth. */
function barScale(levels: readonly Level[], width: number): (level: Level) => string {
  const largest = levels.reduce((most, { scaledAmount }) => (scaledAmount > most ? scaledAmount : most), 1n)
  return ({ scaledAmount }) => {
    if (width === 0) return ''
    const eighths = Number((scaledAmount * BigInt(width * 8)) / largest) || 1
    return '█'.repeat(eighths >> 3) + BAR_EIGHTHS[eighths & 7]
  }
}

function sideMark({ side }: Execution): string {
  return side === 'buy' ? '▲' : side === 'sell' ? '▼' : ' '
}

function tradeStyle({ side }: Execution): Style | undefined {
  return side === 'buy' ? 'green' : side === 'sell' ? 'red' : undefined
}

function withStyle(text: string, style: Style | undefined): Piece {
  return style === undefined ? { text } : { text, style }
}

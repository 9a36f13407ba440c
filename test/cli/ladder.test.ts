/** The ladder as text, and that it never exceeds the size of the terminal. */
import { describe, expect, it } from 'vitest'
import { type ConnectionState, Ladder } from '../../src/cli/watch/ladder.ts'
import { MarketView } from '../../src/cli/watch/market-view.ts'
import { formatDecimal } from '../../src/platform/base/decimal.ts'
import { liveBook } from '../support/live-book.ts'
import { bookTime, nanosecondTime, snapshot } from '../support/wire.ts'

const M = 'BTCUSD'
const STATE: ConnectionState = { host: '127.0.0.1:8080', note: '', nowMilliseconds: 1_040 }

function openView(): MarketView {
  const view = new MarketView(M)
  view.noteEvent({ type: 'CONNECTED', url: 'ws://127.0.0.1:8080/', protocol: 'tidegate.v1' })
  return view
}

function filledView(levels: number, venue?: string): MarketView {
  const view = openView()
  const side = (direction: 1 | -1, best: number): [string, string][] =>
    Array.from({ length: levels }, (_, index) => [
      `${best + direction * index}.00`,
      formatDecimal(1_000 + index * 500, 4),
    ])
  view.book = liveBook(M, snapshot(M, 1, side(-1, 67_000), side(1, 67_001)))
  const trades = [
    { price: '67001.00', amount: '0.2500', side: 'buy' },
    { price: '67000.00', amount: '1.2500', side: 'sell' },
    { price: '67000.50', amount: '0.0100', side: 'buy' },
  ] as const
  for (const [index, trade] of trades.entries()) {
    const executedAt = bookTime(5 + index)
    view.noteTrade({ type: 'EXECUTION', ...trade, executedAt, ...(venue === undefined ? {} : { venue }) }, 1_000)
  }
  view.noteHeartbeat(nanosecondTime(10), 1_000)
  return view
}

describe('Ladder', () => {
  it('Ladder shows asks above bids, trades next to them, and the connection', () => {
    const lines = new Ladder().lines(filledView(8), STATE, { columns: 80, rows: 12 }, false)
    expect(lines).toEqual([
      ' BTCUSD  last 67000.50 ▲  8 bids, 8 asks  127.0.0.1:8080  tidegate.v1',
      '    PRICE  AMOUNT                                TRADES            PRICE  AMOUNT',
      ' 67004.00  0.2500  ███████████████████████████   00:00:00.007 ▲ 67000.50  0.0100',
      ' 67003.00  0.2000  █████████████████████▌        00:00:00.006 ▼ 67000.00  1.2500',
      ' 67002.00  0.1500  ████████████████▏             00:00:00.005 ▲ 67001.00  0.2500',
      ' 67001.00  0.1000  ██████████▊',
      ' 67000.500  spread 1.00, 0.149 bp ────────────',
      ' 67000.00  0.1000  ██████████▊',
      ' 66999.00  0.1500  ████████████████▏',
      ' 66998.00  0.2000  █████████████████████▌',
      ' 66997.00  0.2500  ███████████████████████████',
      ' ● live · 3 updates/s · message 40 ms ago · heartbeat 40 ms ago · Ctrl-C ends',
    ])
  })

  it('Ladder shows trades below when the terminal is too narrow', () => {
    const lines = new Ladder().lines(filledView(3), STATE, { columns: 50, rows: 16 }, false)
    expect(lines.slice(-5)).toEqual([
      'TRADES            PRICE  AMOUNT',
      '00:00:00.007 ▲ 67000.50  0.0100',
      '00:00:00.006 ▼ 67000.00  1.2500',
      '00:00:00.005 ▲ 67001.00  0.2500',
      ' ● live · 3 updates/s · message 40 ms ago · heartb',
    ])
  })

  it('Ladder shows the venue of each trade where there is space for it', () => {
    const rows = (columns: number) =>
      new Ladder().lines(filledView(8, 'kraken'), STATE, { columns, rows: 12 }, false).slice(1, 3)
    expect(rows(80)).toEqual([
      '    PRICE  AMOUNT                        TRADES            PRICE  AMOUNT  VENUE',
      ' 67004.00  0.2500  ███████████████████   00:00:00.007 ▲ 67000.50  0.0100  kraken',
    ])
    expect(rows(66)).toEqual([
      '    PRICE  AMOUNT                  TRADES            PRICE  AMOUNT',
      ' 67004.00  0.2500  █████████████   00:00:00.007 ▲ 67000.50  0.0100',
    ])
  })

  it('Ladder shows where executions are missing', () => {
    const view = filledView(8)
    view.noteTrade({ type: 'GAP', reason: 'the connection was lost' }, 1_000)
    const text = new Ladder().lines(view, STATE, { columns: 80, rows: 12 }, false).join('\n')
    expect(text).toContain('█   … some are missing\n')
    expect(text).toContain('last 67000.50 ▲')
  })

  it('Ladder shows no more levels than requested', () => {
    const lines = new Ladder().lines(filledView(8), STATE, { columns: 80, rows: 40, depth: 2 }, false)
    expect(lines).toHaveLength(8)
  })

  it('Ladder shows that it waits for the book, and why there is no connection', () => {
    const waiting = new Ladder().lines(openView(), STATE, { columns: 80, rows: 12 }, false)
    expect(waiting.join('\n')).toContain('waiting for the book')
    const state = { ...STATE, note: 'restarting, trying again in 3 s' }
    expect(new Ladder().lines(new MarketView(M), state, { columns: 80, rows: 12 }, false).at(-1)).toBe(
      ' ○ restarting, trying again in 3 s',
    )
  })

  it('Ladder shows for how long a market has been stale, and live in green only with a book', () => {
    const GREEN = '\u001b[32m ● live'
    const last = (view: MarketView) => new Ladder().lines(view, STATE, { columns: 80, rows: 12 }, true).at(-1)
    expect(last(filledView(3))).toContain(GREEN)
    const stale = filledView(3)
    stale.book = liveBook(M, snapshot(M, 1, [], []))
    expect(last(stale)).toContain('\u001b[33m ○ STALE\u001b')
    stale.served = { state: 'STALE', since: '2025-12-31T23:59:48.000Z' }
    expect(last(stale)).toContain('\u001b[33m ○ STALE for 12 s')
    for (const view of [stale, openView(), filledView(0)]) expect(last(view)).not.toContain(GREEN)
    expect(last(openView())).toContain('no book yet')
  })

  it('Ladder never exceeds the terminal, whatever its size', () => {
    for (const levels of [0, 1, 5, 100]) {
      const view = filledView(levels)
      for (let columns = 1; columns <= 200; columns += 7) {
        for (let rows = 1; rows <= 60; rows += 3) {
          const ladder = new Ladder()
          for (const hasColors of [false, true]) {
            const lines = ladder.lines(view, STATE, { columns, rows }, hasColors)
            const longest = Math.max(...lines.map((line) => withoutStyle(line).length))
            expect(lines.length).toBeLessThanOrEqual(rows)
            expect(longest).toBeLessThanOrEqual(columns)
          }
        }
      }
    }
  })

  it('Ladder uses colors only where they are supported', () => {
    const size = { columns: 80, rows: 12 }
    const plain = new Ladder().lines(filledView(8), STATE, size, false).join('\n')
    const colored = new Ladder().lines(filledView(8), STATE, size, true).join('\n')
    expect(plain).not.toContain('\u001b')
    expect(colored).toContain('\u001b[1;32m 67000.00\u001b[0m')
    const trimmed = withoutStyle(colored).replace(/ +$/gm, '')
    expect(trimmed).toBe(plain)
  })
})

function withoutStyle(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  return text.replace(/\u001b\[[0-9;]*m/g, '')
}

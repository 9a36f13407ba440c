/** The ladder as text, and that it never exceeds the size of the terminal. */
import { describe, expect, it } from 'vitest'
import { type ConnectionState, Ladder } from '../../src/cli/ladder.ts'
import { MarketView } from '../../src/cli/market-view.ts'
import { execution, heartbeat, snapshot } from '../support/wire.ts'

const M = 'BTCUSD'
const OPEN: ConnectionState = { host: '127.0.0.1:8080', isOpen: true, note: '', nowMilliseconds: 1_040 }

function filledView(levels: number): MarketView {
  const view = new MarketView(M)
  const side = (direction: 1 | -1, best: number): [string, string][] =>
    Array.from({ length: levels }, (_, index) => [`${best + direction * index}.00`, `0.${1000 + index * 500}`])
  const messages = [
    snapshot(M, 1, side(-1, 67_000), side(1, 67_001)),
    execution(M, 5, '67001.00', '0.2500'),
    execution(M, 6, '67000.00', '1.2500'),
    execution(M, 7, '67000.50', '0.0100'),
    heartbeat(10),
  ]
  for (const message of messages) view.onMessage(JSON.stringify(message), 1_000)
  return view
}

describe('Ladder', () => {
  it('shows asks above bids, trades next to them, and the connection', () => {
    const lines = new Ladder().lines(filledView(8), OPEN, { columns: 80, rows: 12 }, false)
    expect(lines).toEqual([
      ' BTCUSD  last 67000.50 ▲  8 bids, 8 asks  127.0.0.1:8080',
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
      ' ● live · 4 updates/s · message 40 ms ago · heartbeat 40 ms ago · Ctrl-C ends',
    ])
  })

  it('shows trades below when the terminal is too narrow', () => {
    const lines = new Ladder().lines(filledView(3), OPEN, { columns: 50, rows: 16 }, false)
    expect(lines.slice(-5)).toEqual([
      'TRADES            PRICE  AMOUNT',
      '00:00:00.007 ▲ 67000.50  0.0100',
      '00:00:00.006 ▼ 67000.00  1.2500',
      '00:00:00.005 ▲ 67001.00  0.2500',
      ' ● live · 4 updates/s · message 40 ms ago · heartb',
    ])
  })

  it('shows no more levels than requested', () => {
    const lines = new Ladder().lines(filledView(8), OPEN, { columns: 80, rows: 40, depth: 2 }, false)
    expect(lines).toHaveLength(8)
  })

  it('shows that it waits for the book, and why there is no connection', () => {
    const waiting = new Ladder().lines(new MarketView(M), OPEN, { columns: 80, rows: 12 }, false)
    expect(waiting.join('\n')).toContain('waiting for the book')
    const state = { ...OPEN, isOpen: false, note: 'restarting, trying again in 3 s' }
    expect(new Ladder().lines(new MarketView(M), state, { columns: 80, rows: 12 }, false).at(-1)).toBe(
      ' ○ restarting, trying again in 3 s',
    )
  })

  it('shows for how long a market has been stale, and live in green only with a book', () => {
    const GREEN = '\u001b[32m ● live'
    const last = (view: MarketView) => new Ladder().lines(view, OPEN, { columns: 80, rows: 12 }, true).at(-1)
    expect(last(filledView(3))).toContain(GREEN)
    const stale = filledView(3)
    stale.served = { state: 'STALE', since: '2026-01-01T00:00:00.000Z', sinceMilliseconds: -11_000 }
    expect(last(stale)).toContain('\u001b[33m ○ STALE for 12 s')
    for (const view of [stale, new MarketView(M), filledView(0)]) expect(last(view)).not.toContain(GREEN)
    expect(last(new MarketView(M))).toContain('no book yet')
  })

  it('never exceeds the terminal, whatever its size', () => {
    for (const levels of [0, 1, 5, 100]) {
      const view = filledView(levels)
      for (let columns = 1; columns <= 200; columns += 7) {
        for (let rows = 1; rows <= 60; rows += 3) {
          const ladder = new Ladder()
          for (const hasColors of [false, true]) {
            const lines = ladder.lines(view, OPEN, { columns, rows }, hasColors)
            expect(lines.length).toBeLessThanOrEqual(rows)
            for (const line of lines) expect(withoutStyle(line).length).toBeLessThanOrEqual(columns)
          }
        }
      }
    }
  })

  it('uses colors only where they are supported', () => {
    const size = { columns: 80, rows: 12 }
    const plain = new Ladder().lines(filledView(8), OPEN, size, false).join('\n')
    const colored = new Ladder().lines(filledView(8), OPEN, size, true).join('\n')
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

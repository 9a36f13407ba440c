/** The rows of the state of an instrument; books, trades and losses are tested by `export.test`. */
import { expect, it } from 'vitest'
import type { MarketEvent } from '../../../src/streaming/market/event.ts'
import { type ExportRow, MarketRows } from '../../../src/streaming/recordings/export-rows.ts'
import type { RecordedEntry } from '../../../src/streaming/recordings/recording.ts'
import { RECORDING_START, recordedMarket } from '../../support/recording-file.ts'

const OPEN = { state: 'OPEN', reason: '' } as const
const HALTED = { state: 'HALTED', reason: 'kraken:BTC/USD: maintenance' } as const
const SNAPSHOT: MarketEvent = { type: 'snapshot', levels: [{ side: 0, price: 100, amount: 1 }] }

function setUp() {
  const emitted: ExportRow[] = []
  const rows = new MarketRows(recordedMarket('BTC').definition, (row) => emitted.push(row))
  const entry = (at: number, facts: Partial<RecordedEntry>): RecordedEntry => ({
    market: 0,
    atMilliseconds: RECORDING_START + at,
    events: [{ type: 'update', changes: [], executions: [] }],
    ...facts,
  })
  /** Milliseconds and state of the rows since the last call. */
  const states = (): [number, string | undefined][] =>
    emitted.splice(0).flatMap((row) => {
      if (row.table !== 'instrument') return []
      return [[row.timestamp / 1_000 - RECORDING_START, row.instrument?.state]]
    })
  return { rows, entry, states }
}

it('the export has a row where the state changes, and none for a keyframe that repeats it', () => {
  const { rows, entry, states } = setUp()
  rows.keyframe([entry(0, { events: [SNAPSHOT], instrument: OPEN })])
  rows.entry(entry(1, {}))
  rows.entry(entry(2, { instrument: HALTED }))
  rows.keyframe([entry(3, { events: [SNAPSHOT], instrument: HALTED })])
  rows.entry(entry(4, { instrument: null }))
  rows.keyframe([entry(5, { events: [SNAPSHOT] })])
  expect(states()).toEqual([
    [0, 'OPEN'],
    [2, 'HALTED'],
    [4, undefined],
  ])
})

it('the export repeats the state where a file begins, and after a time that was not recorded', () => {
  const { rows, entry, states } = setUp()
  rows.skip(entry(0, { events: [SNAPSHOT], instrument: HALTED }), true)
  rows.begin((RECORDING_START + 10) * 1_000)
  expect(states()).toEqual([[10, 'HALTED']])
  rows.renew()
  rows.entry(entry(20, { events: [SNAPSHOT] }))
  rows.entry(entry(21, { events: [SNAPSHOT] }))
  expect(states()).toEqual([[20, 'HALTED']])
  rows.gap(RECORDING_START + 30, RECORDING_START + 40, 'no recorder was running')
  rows.keyframe([entry(40, { events: [SNAPSHOT], instrument: HALTED })])
  expect(states()).toEqual([[40, 'HALTED']])
})

it('the export has no state row for recordings without states', () => {
  const { rows, entry, states } = setUp()
  rows.keyframe([entry(0, { events: [SNAPSHOT] })])
  rows.entry(entry(1, {}))
  rows.begin((RECORDING_START + 10) * 1_000)
  expect(states()).toEqual([])
})

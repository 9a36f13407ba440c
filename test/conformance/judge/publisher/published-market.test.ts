/** What several connections show of one market, as `check-publisher` puts it together. */
import { expect, it } from 'vitest'
import { readMessage, type SnapshotMessage } from '../../../../src/conformance/judge/publisher/message.ts'
import { type NumberedMessage, PublishedMarket } from '../../../../src/conformance/judge/publisher/published-market.ts'

const TIME = '2026-11-20T12:00:00.123Z'
const INSTRUMENT = { price_decimals: 0, amount_decimals: 0, state: 'OPEN' }
type Bids = Readonly<Record<string, string>>

const parse = (payload: object, stream: object) =>
  readMessage({ channel: 'publication', payload: { market: 'BTCUSD', time: TIME, ...payload }, stream })
const levelsOf = (bids: Bids) => Object.entries(bids).map(([price, amount]) => ({ price, amount }))
const snapshot = (seq: number, bids: Bids) =>
  parse(
    { type: 'SNAPSHOT', instrument: INSTRUMENT, bids: levelsOf(bids), asks: [] },
    { epoch: 'a', seq },
  ) as SnapshotMessage
const update = (prev: number, seq: number, bids: Bids, ids: readonly string[] = []) => {
  const executions = ids.map((id) => ({ id, price: '10', amount: '1' }))
  return parse({ type: 'UPDATE', bids: levelsOf(bids), executions }, { epoch: 'a', seq, prev }) as NumberedMessage
}

function startMarket() {
  const reports: string[] = []
  const market = new PublishedMarket({ symbol: 'BTCUSD', decimals: undefined }, 1_000, (name, _market, detail) =>
    reports.push(`${name}: ${detail}`),
  )
  market.takeSnapshot(snapshot(1, { 10: '1' }), '')
  return { market, reports }
}

it('a SNAPSHOT after an INSTRUMENT with other decimals is the book that the messages lead to', () => {
  const { market, reports } = startMarket()
  const finer = { ...INSTRUMENT, price_decimals: 1 }
  market.takeNumbered(parse({ type: 'INSTRUMENT', ...finer }, { epoch: 'a', seq: 2 }) as NumberedMessage, true, '')
  market.takeNumbered(update(2, 3, { '10.5': '1' }), true, '')
  const payload = { type: 'SNAPSHOT', instrument: finer, bids: levelsOf({ '10': '1', '10.5': '1' }), asks: [] }
  market.takeSnapshot(parse(payload, { epoch: 'a', seq: 3 }) as SnapshotMessage, '')
  expect(reports).toEqual([])
  expect(market.levels).toBe(2)
})

it('a conflated message that began before the known book is not applied to it', () => {
  const { market, reports } = startMarket()
  // Another connection is ahead: level 10 changes, and changes back by message 3.
  market.takeNumbered(update(1, 2, { 10: '2' }), false, '')
  market.takeNumbered(update(1, 3, { 9: '1' }), true, '')
  market.takeSnapshot(snapshot(3, { 10: '1', 9: '1' }), '')
  expect(reports).toEqual([])
  expect(market.levels).toBe(2)
})

it('a conflated message of another connection leaves the book to the messages that continue it', () => {
  const { market, reports } = startMarket()
  market.takeNumbered(update(1, 2, { 10: '2' }), true, '')
  market.takeNumbered(update(1, 3, { 9: '1' }), false, '')
  market.takeNumbered(update(2, 3, { 10: '1', 9: '1' }), true, '')
  market.takeSnapshot(snapshot(3, { 10: '1', 9: '2' }), '')
  expect(reports).toEqual([expect.stringMatching(/^snapshot-differs: /)])
})

it('an execution is not twice when a connection brings its message after the one that covers it', () => {
  const { market, reports } = startMarket()
  market.takeNumbered(update(1, 3, {}, ['x', 'y']), false, '')
  market.takeNumbered(update(1, 2, {}, ['x']), true, '')
  market.takeNumbered(update(2, 3, {}, ['y']), true, '')
  expect(reports).toEqual([])
})

it('an execution is not twice when its message is repeated after many others', () => {
  const { market, reports } = startMarket()
  for (let seq = 2; seq <= 51_000; seq++) market.takeNumbered(update(seq - 1, seq, {}, [`${seq}`]), true, '')
  market.takeNumbered(update(1, 2, {}, ['2']), false, '')
  expect(reports).toEqual([])
})

it('an execution is twice within one message, also within one that covers several', () => {
  const { market, reports } = startMarket()
  market.takeNumbered(update(1, 2, {}, ['x', 'x']), true, '')
  market.takeNumbered(update(2, 6, {}, ['y', 'y']), true, '')
  expect(reports).toEqual([
    'execution-twice: the execution x was in message 2 too',
    'execution-twice: the execution y was in message 6 too',
  ])
})

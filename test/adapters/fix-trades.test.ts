/** Which trades the FIX adapter publishes as new ones, and which it takes for repeated ones. */
import { afterEach, expect, it } from 'vitest'
import type { Field } from './fix-acceptor.ts'
import { type EngineBook, type Stage, type StageOptions, startStage } from './fix-stage.ts'

const SYMBOL = 'BTC/USD'
const stages: Stage[] = []

afterEach(async () => {
  for (const stage of stages.splice(0)) {
    await stage.stop()
    expect([...stage.ingest.violations, ...stage.acceptor.violations]).toEqual([])
  }
})

async function start(options: StageOptions = {}) {
  const stage = await startStage(options)
  stages.push(stage)
  await stage.settled()
  return { ...stage, own: stage.engine.get(SYMBOL) as EngineBook, book: stage.ingest.book('BTCUSD') }
}

/** A full refresh with trades. */
function refreshWith(own: EngineBook, requestId: string, trades: readonly (readonly Field[])[]): Field[] {
  const count = own.levels('buy').length + own.levels('sell').length + trades.length
  const fields = own.full(requestId).map(([tag, value]) => [tag, tag === 268 ? count : value] as const)
  return [...fields, ...trades.flatMap((trade) => trade.slice(1))]
}

it('a trade without an identifier is published once, however many full refreshes repeat it', async () => {
  const { acceptor, own, book, requestId, ...stage } = await start({ market: { refresh: 'full' } })
  const unnamed = (price: number) => own.trade(price, 7).filter(([tag]) => tag !== 1003)
  const [first, second] = [unnamed(10_000), unnamed(10_001)]
  for (const [amount, trades] of [
    [3, [first]],
    [4, [first, first]],
    [5, [first, first, second]],
  ] as const) {
    own.set('buy', 9_999, amount)
    acceptor.send('W', refreshWith(own, requestId(SYMBOL), trades))
  }
  await stage.settled()
  // Two equal entries in one refresh are two trades.
  expect(book.executions.map(({ price }) => price)).toEqual(['100', '100', '100.01'])
  expect(new Set(book.executions.map(({ id }) => id)).size).toBe(3)
})

it('a trade whose identifier the engine used on an earlier day is published, with an identifier of its own', async () => {
  const { own, book, ...stage } = await start()
  const trade = own.trade(10_000, 1)
  const withField = (changed: number, text: string) =>
    trade.map(([tag, value]) => [tag, tag === changed ? text : value] as const)
  const undated = trade.filter(([tag]) => tag !== 272)
  for (const repeated of [
    trade,
    undated,
    withField(272, '20261124'),
    withField(272, '20261124'),
    withField(270, '99.5'),
  ])
    stage.send(SYMBOL, [repeated])
  stage.send(SYMBOL, [own.set('buy', 9_999, 8)])
  await stage.settled()
  expect(book.executions.map(({ price, executed_at }) => [price, executed_at?.slice(0, 10)])).toEqual([
    ['100', '2026-11-23'],
    ['100', '2026-11-24'],
    ['99.5', '2026-11-23'],
  ])
  expect(book.executions[0]?.id).toBe('BTC/USD-1')
})

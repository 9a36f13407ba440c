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

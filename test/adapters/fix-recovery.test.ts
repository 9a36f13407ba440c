/** What the FIX adapter publishes after messages, requests or answers were lost, and while Tidegate rejects a market. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Field } from './fix-acceptor.ts'
import { type EngineBook, incremental, type Stage, type StageOptions, startStage } from './fix-stage.ts'

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

/** A full refresh with a trade. */
function refreshWith(own: EngineBook, requestId: string, trade: readonly Field[]): Field[] {
  const count = own.levels('buy').length + own.levels('sell').length + 1
  const fields = own.full(requestId).map(([tag, value]) => [tag, tag === 268 ? count : value] as const)
  return [...fields, ...trade.slice(1)]
}

describe('messages that the engine does not send again', () => {
  it('the FIX adapter requests the trading state again when the engine skips numbers', async () => {
    let status = 17
    const { acceptor, book, ...stage } = await start({
      market: { securityStatus: true },
      prepare: ({ acceptor: engine }) => {
        engine.onStatusRequest = (symbol) =>
          engine.send('f', [
            [324, 'any'],
            [55, symbol],
            [326, status],
          ])
      },
    })
    expect(book.instrument?.state).toBe('OPEN')
    // The engine halts, and its report is among the messages that it gives up.
    status = 2
    acceptor.resetTo(acceptor.lastSeq + 2)
    await acceptor.until('the new snapshot', () => book.snapshots === 2)
    expect(book.instrument?.state).toBe('HALTED')
    const requests = acceptor.of('e').map(({ get }) => [get(324)?.replace(/-[0-9a-f]{8}-/, '-'), get(263)])
    expect(requests).toEqual([
      ['BTCUSD-1-state', '1'],
      ['BTCUSD-1-state', '2'],
      ['BTCUSD-2-state', '1'],
    ])
    await stage.settled()
  })

  it('the FIX adapter trusts no book whose changes were skipped after a resent refresh', async () => {
    const { acceptor, own, book, requestId, waiters, ...stage } = await start()
    const change = (price: number, amount: number) =>
      incremental(SYMBOL, requestId(SYMBOL), [own.set('buy', price, amount)])
    acceptor.lose('W', own.full(requestId(SYMBOL)))
    own.set('buy', 9_999, 0)
    acceptor.skip()
    acceptor.lose('X', change(9_998, 700))
    const { onSubscribe } = acceptor
    let isRequested = false
    acceptor.onSubscribe = () => {
      isRequested = true
    }
    acceptor.send('X', change(9_997, 1))
    await acceptor.until('the subscription', () => isRequested)
    await waiters.until('the loss', () => book.missed === 1)
    acceptor.send('B', [[58, 'news']])
    acceptor.admin('1', [[112, 'all was read']])
    await acceptor.until('the heartbeat', () => acceptor.of('0').some(({ get }) => get(112) === 'all was read'))
    expect([book.state, book.updates]).toEqual(['lost', 1])
    acceptor.onSubscribe = onSubscribe
    await stage.pass(41_000)
    await stage.settled()
  })
})

describe('requests and answers', () => {
  it('the FIX adapter uses no request identifier of an earlier run, and ignores a late answer to one', async () => {
    const { acceptor: earlier } = await start()
    const { acceptor, own, book, requestId, ...stage } = await start()
    const idOfEarlier = earlier.of('V')[0]?.get(262) ?? ''
    expect(requestId(SYMBOL)).not.toBe(idOfEarlier)
    acceptor.send('X', incremental(SYMBOL, idOfEarlier, [own.set('buy', 9_999, 1)]))
    own.set('buy', 9_999, 100)
    acceptor.send('X', incremental(SYMBOL, requestId(SYMBOL), [own.trade(10_000, 1)]))
    await acceptor.until('the trade', () => book.executions.length === 1)
    await stage.settled()
    expect(book.snapshots).toBe(1)
  })

  it('the FIX adapter reports trades as missed while the engine refuses its requests', async () => {
    const { acceptor, own, book, waiters, log, ...stage } = await start()
    const { onSubscribe } = acceptor
    let refusals = 0
    acceptor.onSubscribe = (symbol, id) => {
      if (refusals++ > 0) return onSubscribe(symbol, id)
      acceptor.send('Y', [
        [262, id],
        [281, 3],
        [58, 'not now'],
      ])
    }
    // More decimals than the market: the book is lost, and the subscription cancelled.
    stage.send(SYMBOL, [
      [
        [279, 0],
        [269, 0],
        [270, '99.001'],
        [271, '1'],
      ],
    ])
    await waiters.until('the refusal', () => log.some((line) => line.includes('not now')))
    // Nothing is subscribed, so nothing reports this trade.
    own.trade(10_000, 1)
    await stage.settled()
    expect([book.snapshots, book.executions.length, book.missed]).toEqual([2, 0, 1])
  })

  it('the FIX adapter reports that the trading state is missing when the engine sends only the book', async () => {
    const stage = await startStage({ market: { securityStatus: true } })
    stages.push(stage)
    const { acceptor, log } = stage
    await acceptor.until('the request', () => acceptor.of('e').length === 1)
    acceptor.admin('1', [[112, 'the book was read']])
    await acceptor.until('the heartbeat', () => acceptor.of('0').some(({ get }) => get(112) === 'the book was read'))
    await stage.pass(10_000)
    expect(log.find((line) => line.includes('the book is lost'))).toContain('the engine reports no trading state')
  })

  it('the FIX adapter trusts no book between a repeated request and its answer', async () => {
    const { acceptor, own, book, ...stage } = await start()
    const { onSubscribe } = acceptor
    let answer = () => undefined as unknown
    acceptor.onSubscribe = (symbol, id) => {
      answer = () => onSubscribe(symbol, id)
    }
    const subscriptions = acceptor.of('V').length
    acceptor.admin('2', [
      [7, 1],
      [16, 0],
    ])
    await acceptor.until('the subscription', () => acceptor.of('V').length === subscriptions + 2)
    own.set('buy', 9_999, 0)
    await acceptor.until('the loss', () => book.state === 'lost')
    answer()
    await stage.settled()
    expect([book.snapshots, book.missed]).toEqual([2, 0])
  })

  it('the FIX adapter publishes late trades of a replaced subscription that name no symbol', async () => {
    const { acceptor, own, book, requestId, ...stage } = await start()
    const replaced = requestId(SYMBOL)
    acceptor.resetTo(acceptor.lastSeq + 2)
    await acceptor.until('the new snapshot', () => book.snapshots === 2)
    const late = incremental(SYMBOL, replaced, [own.trade(10_000, 1)])
    acceptor.send(
      'X',
      late.filter(([tag]) => tag !== 55),
    )
    stage.send(SYMBOL, [own.set('buy', 9_999, 8)])
    await stage.settled()
    expect([book.executions.map(({ id }) => id), book.missed]).toEqual([own.trades, 1])
  })

  it('the FIX adapter publishes the trades in a full refresh that the engine sends again', async () => {
    const { acceptor, own, book, requestId, ...stage } = await start({ market: { refresh: 'full' } })
    acceptor.garble('W', refreshWith(own, requestId(SYMBOL), own.trade(10_000, 7)))
    acceptor.send('B', [[58, 'news']])
    await acceptor.until('the new snapshot', () => acceptor.of('V').length === 3)
    await stage.settled()
    expect([book.executions.map(({ id }) => id), book.missed]).toEqual([own.trades, 0])
  })
})

describe('the session', () => {
  it('the FIX session waits longer before each logon while the engine ends each session after the logon', async () => {
    const stage = await startStage({
      prepare: ({ acceptor }) => {
        acceptor.onSubscribe = () => acceptor.admin('5', [[58, 'not entitled']])
      },
    })
    stages.push(stage)
    await stage.acceptor.until('twelve logons', () => stage.acceptor.logons >= 12)
    const waits = stage.log
      .map((line) => JSON.parse(line) as { message: string; retry_milliseconds: number })
      .filter(({ message }) => message === 'not connected to the FIX engine')
    // The first wait is at most half a second, the eleventh up to 30 seconds.
    expect(Math.max(...waits.map((wait) => wait.retry_milliseconds))).toBeGreaterThan(500)
  })

  it('the FIX session ends two seconds after its logout although missing messages arrive in the meantime', async () => {
    const { acceptor, adapter, own, log, requestId, ...stage } = await start()
    acceptor.isAnswering = false
    acceptor.lose('X', incremental(SYMBOL, requestId(SYMBOL), [own.trade(10_000, 1)]))
    acceptor.send('X', incremental(SYMBOL, requestId(SYMBOL), [own.set('buy', 9_999, 8)]))
    await acceptor.until('the resend request', () => acceptor.of('2').length === 1)
    const stopped = adapter.stop()
    await acceptor.until('the logout', () => acceptor.of('5').length === 1)
    acceptor.repeat(acceptor.lastSeq - 1)
    acceptor.repeat(acceptor.lastSeq)
    // The resend is complete.
    await acceptor.until('the new subscription', () => acceptor.of('V').length === 3)
    await stage.pass(2_000)
    await stopped
    expect(log.some((line) => line.includes('no answer to the logout'))).toBe(true)
  })
})

describe('Tidegate', () => {
  it.each(['the book is lost', 'a new epoch begins'])(
    'Tidegate is sent a rejected market again half a minute later, even if in the meantime %s',
    async (event) => {
      const { acceptor, own, book, ingest, waiters, log, ...stage } = await start()
      ingest.reject('BTCUSD')
      await waiters.until('the log', () => log.some((line) => line.includes('rejects the market')))
      if (event === 'the book is lost') acceptor.resetTo(acceptor.lastSeq + 2)
      else acceptor.resetSession()
      await acceptor.until('the subscription', () => acceptor.of('V').length > 1)
      own.set('buy', 9_999, 9)
      acceptor.send('W', own.full(stage.requestId(SYMBOL)))
      await stage.passUntil('the snapshot', () => book.snapshots === 2)
      await stage.settled()
    },
  )

  it('Tidegate gets the snapshot that it requests within 30 s after the clock was set back', async () => {
    const { book, ingest, clock, waiters, log } = await start()
    const request = async (count: number) => {
      ingest.requestSnapshot('BTCUSD')
      await waiters.until('the request', () => log.filter((line) => line.includes('a snapshot')).length === count)
    }
    await request(1)
    await ingest.until('the snapshot', () => book.snapshots === 2)
    clock.stepWall(-3_600_000)
    await request(2)
    clock.advance(30_000)
    await ingest.until('the second snapshot', () => book.snapshots === 3)
  })
})

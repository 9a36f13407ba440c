/**
 * The FIX adapter between an engine written from the specification and an ingest server that checks every message: books
 * and trades, both versions, and the faults of either side.
 */

import { afterEach, describe, expect, it } from 'vitest'
import { newCertificate } from '../support/certificates.ts'
import { note } from '../support/note.ts'
import { seedOf } from '../support/property.ts'
import { Random } from '../support/random.ts'
import type { FixAcceptor } from './fix-acceptor.ts'
import { type EngineBook, incremental, type Stage, type StageOptions, startStage } from './fix-stage.ts'

const ROUNDS = process.env.TIDEGATE_LONG === '1' ? 5_000 : 250
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
  const symbol = options.symbols?.[0] ?? SYMBOL
  return { ...stage, own: stage.engine.get(symbol) as EngineBook, book: stage.ingest.book(symbol.replace('/', '')) }
}

describe('market data', () => {
  it('market data arrives exactly: levels, trades and their members, for several markets in one message', async () => {
    const stage = await start({ symbols: [SYMBOL, 'ETH/USD'] })
    const { acceptor, ingest, engine, own, book } = stage
    const other = engine.get('ETH/USD') as EngineBook
    await stage.settled('ETH/USD')
    const entries = [own.set('buy', 9_999, 250), own.trade(9_999, 5)]
    const message = incremental(SYMBOL, stage.requestId(SYMBOL), entries)
    const [first, ...rest] = other.set('sell', 10_001, 0)
    acceptor.send('X', [
      // Without the identifier of a request, because two requests are concerned.
      ...message.slice(1).map(([tag, value]) => [tag, tag === 268 ? 3 : value] as const),
      first as readonly [number, number],
      [55, 'ETH/USD'],
      ...rest,
    ])
    await stage.settled()
    await stage.settled('ETH/USD')
    expect(book.side('buy')[0]).toEqual({ price: '99.99', amount: '2.5' })
    expect(book.executions).toEqual([
      { id: 'BTC/USD-1', side: 'buy', price: '99.99', amount: '0.05', executed_at: '2026-11-23T10:11:12.123456Z' },
    ])
    expect([book.updates, ingest.book('ETHUSD').updates]).toEqual([1, 1])
    expect(ingest.book('ETHUSD').side('sell')).toHaveLength(4)
    expect(book.instrument).toEqual({ price_decimals: 2, amount_decimals: 2, state: 'OPEN', reason: '' })
  })

  it('market data arrives exactly in a long random run with faults of every kind', async () => {
    const seed = seedOf(20_261_123)
    note(`seed ${seed}`)
    const random = new Random(seed)
    const stage = await start()
    const { acceptor, ingest, own, book } = stage
    const faults = [
      () => acceptor.lose('X', incremental(SYMBOL, stage.requestId(SYMBOL), own.random(random))),
      () => acceptor.garble('X', incremental(SYMBOL, stage.requestId(SYMBOL), own.random(random))),
      () => acceptor.resetTo(acceptor.lastSeq + 3),
      () => acceptor.resetSession(),
      () => acceptor.repeat(acceptor.lastSeq),
      () => acceptor.drop(),
      () => ingest.drop(),
      async () => {
        ingest.requestSnapshot('BTCUSD')
        await stage.pass(31_000)
      },
    ]
    for (let round = 0; round < ROUNDS; round++) {
      if (random.chance(0.06)) {
        acceptor.resends = random.pick(['all', 'none'] as const)
        await random.pick(faults)()
        stage.send(SYMBOL, own.random(random))
        await stage.settled()
      } else stage.send(SYMBOL, own.random(random))
      if (random.chance(0.02)) ingest.accept()
    }
    await stage.settled()
    // Trades may be lost while a side is disconnected, never silently: a new epoch or `missed` stands for them.
    const published = book.executions.map(({ id }) => id)
    expect(own.trades.filter((id) => published.includes(id))).toEqual(published)
    expect(own.trades.length - published.length === 0 || book.missed + book.epochs.length > 1).toBe(true)
    expect(published.length).toBeGreaterThan(own.trades.length / 2)
  })

  it('market data arrives from full refreshes alone', async () => {
    const stage = await start({ market: { refresh: 'full' } })
    const { acceptor, own, book } = stage
    own.set('sell', 10_001, 0)
    const trade = own.trade(10_001, 7).slice(1)
    const withTrade = own.full(stage.requestId(SYMBOL))
    const count = own.levels('buy').length + own.levels('sell').length + 1
    const fields = [...withTrade.map(([tag, value]) => [tag, tag === 268 ? count : value] as const), ...trade]
    acceptor.send('W', fields)
    acceptor.send('W', fields)
    await stage.settled()
    await acceptor.until('the trade', () => book.executions.length > 0)
    expect(book.executions.map(({ id }) => id)).toEqual(['BTC/USD-1'])
    expect(book.snapshots).toBe(1)
    expect(acceptor.of('V')[0]?.get(265)).toBe('0')
  })

  it('market data publishes a repeated trade once, and gives a trade without an identifier its own', async () => {
    const stage = await start()
    const trade = stage.own.trade(10_000, 1)
    const unnamed = trade.filter(([tag]) => tag !== 1003)
    stage.send(SYMBOL, [trade, trade])
    stage.send(SYMBOL, [trade])
    stage.send(SYMBOL, [unnamed, unnamed])
    stage.send(SYMBOL, [stage.own.set('buy', 9_999, 1)])
    await stage.settled()
    const ids = stage.book.executions.map(({ id }) => id)
    expect(ids).toHaveLength(3)
    expect(new Set(ids).size).toBe(3)
    stage.acceptor.repeat(stage.acceptor.lastSeq - 1)
    stage.send(SYMBOL, [stage.own.set('buy', 9_999, 2)])
    await stage.settled()
    expect(stage.book.executions).toHaveLength(3)
  })

  it('market data with more decimals than the market is never rounded: the book is lost and requested again', async () => {
    const stage = await start()
    const subscriptions = stage.acceptor.of('V').length
    stage.send(SYMBOL, [
      [
        [279, 0],
        [269, 0],
        [270, '99.991'],
        [271, '1'],
      ],
    ])
    await stage.acceptor.until('the new subscription', () => stage.acceptor.of('V').length === subscriptions + 2)
    await stage.ingest.until('the new snapshot', () => stage.book.snapshots === 2)
    await stage.settled()
    expect(stage.acceptor.of('V').at(-2)?.get(263)).toBe('2')
    expect(stage.book.epochs).toHaveLength(1)
    expect(stage.book.snapshots).toBe(2)
  })
})

describe('the session', () => {
  it('the FIX session logs on with FIXT.1.1 and FIX 5.0 SP2, a user and a password, and logs out', async () => {
    const fix = { username: 'market', password: 'fix-secret-4712', heartbeatSeconds: 20 }
    const stage = await start({ version: 'FIXT.1.1', fix })
    const [logon] = stage.acceptor.of('A')
    const tags = [98, 108, 141, 553, 554, 1137].map((tag) => logon?.get(tag))
    expect(tags).toEqual(['0', '20', 'Y', 'market', 'fix-secret-4712', '9'])
    await stage.stop()
    expect(stage.acceptor.of('5')).toHaveLength(1)
    expect(stage.book.state).toBe('lost')
    expect(stage.log.join()).not.toMatch(/secret/)
  })

  it.each(['all', 'none'] as const)(
    'the FIX session publishes a new snapshot after a gap; resent: %s',
    async (resends) => {
      const stage = await start()
      const { acceptor, own, book } = stage
      acceptor.resends = resends
      acceptor.lose('X', incremental(SYMBOL, stage.requestId(SYMBOL), [own.set('buy', 9_990, 5), own.trade(10_000, 1)]))
      stage.send(SYMBOL, [own.trade(10_000, 2)])
      await acceptor.until('the new snapshot', () => book.snapshots === 2)
      await stage.settled()
      const [request] = acceptor.of('2')
      expect([request?.get(7), request?.get(16)]).toEqual([String(acceptor.lastSeq - 2), '0'])
      // What is resent is published; what is not is reported as missed.
      expect(book.executions.map(({ id }) => id)).toEqual(resends === 'all' ? own.trades : [])
      expect(book.missed).toBe(resends === 'all' ? 0 : 1)
      expect(book.epochs).toHaveLength(1)
    },
  )

  it('the FIX session skips a message with a wrong checksum and has it sent again', async () => {
    const stage = await start()
    const { acceptor, own, book } = stage
    acceptor.garble('X', incremental(SYMBOL, stage.requestId(SYMBOL), [own.trade(10_000, 1)]))
    acceptor.raw('8=FIX.4.4\u00019=5\u0001garbage')
    stage.send(SYMBOL, [own.set('sell', 10_003, 0)])
    await acceptor.until('the new snapshot', () => book.snapshots === 2)
    await stage.settled()
    expect(book.executions).toHaveLength(1)
    expect(stage.log.filter((line) => line.includes('garbled')).length).toBeGreaterThan(1)
  })

  it('the FIX session answers a resend request with a gap fill and repeats its subscription', async () => {
    const stage = await start()
    const { acceptor } = stage
    const subscriptions = acceptor.of('V').length
    acceptor.admin('2', [
      [7, 1],
      [16, 0],
    ])
    await acceptor.until('the subscription', () => acceptor.of('V').length > subscriptions + 1)
    const [fill] = acceptor.of('4')
    expect([fill?.seq, fill?.get(43), fill?.get(123), fill?.get(36)]).toEqual([1, 'Y', 'Y', String(subscriptions + 2)])
    await stage.settled()
  })

  it('the FIX session answers test requests, and tests a silent engine before it reconnects, although the clock is set back', async () => {
    const stage = await start({ fix: { heartbeatSeconds: 10 } })
    const { acceptor, clock, book } = stage
    acceptor.admin('1', [[112, 'are you there']])
    await acceptor.until('the heartbeat', () => acceptor.of('0').some(({ get }) => get(112) === 'are you there'))
    clock.advance(10_000)
    await acceptor.until('a heartbeat', () => acceptor.of('0').some(({ get }) => get(112) === undefined))
    clock.advance(3_000)
    await acceptor.until('the test request', () => acceptor.of('1').length === 1)
    acceptor.isAnswering = false
    clock.stepWall(-86_400_000)
    await stage.passUntil('the end', () => stage.log.some((line) => line.includes('does not answer')))
    acceptor.isAnswering = true
    await stage.pass(1_000)
    await acceptor.until('the second epoch', () => book.epochs.length === 2)
    await stage.settled()
  })

  it('the FIX session ends after a number that is too low, and starts another epoch', async () => {
    const stage = await start()
    stage.acceptor.raw(fixText(stage.acceptor.lastSeq))
    await stage.acceptor.until('the second epoch', () => stage.book.epochs.length === 2)
    expect(stage.acceptor.of('5')[0]?.get(58)).toMatch(/^MsgSeqNum too low, expecting \d+ but received \d+$/)
    await stage.settled()
  })

  it('the FIX session uses TLS, and trusts only the authority that it was given', async () => {
    const certificate = await newCertificate('engine')
    const stage = await start({ certificate, fix: { tls: { ca: certificate.cert } } })
    expect(stage.acceptor.logons).toBe(1)
    const other = await startStage({ certificate, fix: { tls: {} } })
    stages.push(other)
    await other.waiters.until('the refusal', () => other.log.some((line) => /self-signed/.test(line)))
    expect([other.acceptor.logons, other.acceptor.received]).toEqual([0, []])
  })

  it('the FIX session ignores changes of a subscription that it has replaced, besides their trades', async () => {
    const stage = await start()
    const { acceptor, own, book } = stage
    const replaced = stage.requestId(SYMBOL)
    acceptor.resetTo(acceptor.lastSeq + 2)
    await acceptor.until('the new snapshot', () => book.snapshots === 2)
    const late = [
      [[279, 0] as const, [269, 0] as const, [270, '99'] as const, [271, '1'] as const],
      own.trade(10_000, 1),
    ]
    acceptor.send('X', incremental(SYMBOL, replaced, late))
    stage.send(SYMBOL, [own.set('buy', 9_999, 8)])
    await stage.settled()
    expect([book.executions.length, book.missed]).toEqual([1, 1])
  })

  it('the FIX session retries after a refused logon, with waits in between', async () => {
    const refuse = (servers: { acceptor: FixAcceptor }) => Object.assign(servers.acceptor, { refusal: 'not now' })
    const stage = await startStage({ prepare: refuse })
    stages.push(stage)
    await stage.acceptor.until('three attempts', () => stage.acceptor.logons === 3)
    stage.acceptor.refusal = undefined
    await stage.settled()
    expect(stage.log.filter((line) => line.includes('the engine refuses the logon: not now')).length).toBeGreaterThan(1)
  })
})

describe('Tidegate', () => {
  it('Tidegate gets all messages that it had not accepted after a reconnect, without a snapshot or a missed trade', async () => {
    const stage = await start()
    const { ingest, own, book } = stage
    stage.send(SYMBOL, [own.trade(10_000, 1)])
    await ingest.until('the trade', () => book.executions.length === 1)
    ingest.accept()
    ingest.drop()
    await ingest.until('the loss', () => stage.log.some((line) => line.includes('not connected to Tidegate')))
    stage.send(SYMBOL, [own.trade(10_000, 2), own.set('buy', 9_998, 7)])
    await stage.settled()
    expect([book.snapshots, book.missed, book.executions.length, ingest.connections]).toEqual([1, 0, 2, 2])
  })

  it('Tidegate gets a snapshot after a reconnect when the adapter has not kept all messages', async () => {
    const stage = await start({ tidegate: { bufferedBytesMax: 1_000_000 } })
    const { ingest, own, book } = stage
    stage.send(SYMBOL, [own.trade(10_000, 1)])
    await ingest.until('the trade', () => book.executions.length === 1)
    ingest.refusals.push(503, 401)
    ingest.drop()
    stage.acceptor.drop()
    await ingest.until('the second connection', () => ingest.connections === 2 && book.epochs.length === 2)
    await stage.settled()
    expect(ingest.tokenRequests).toBe(1)
  })

  it('Tidegate gets a snapshot whenever it requests one, at a limited rate', async () => {
    const stage = await start()
    const { ingest, own, book, clock } = stage
    ingest.requestSnapshot('BTCUSD')
    await ingest.until('the snapshot', () => book.snapshots === 2)
    ingest.requestSnapshot('BTCUSD')
    stage.send(SYMBOL, [own.set('buy', 9_999, 9)])
    await stage.waiters.until('the request', () => stage.log.filter((line) => line.includes('requests')).length === 2)
    expect(book.snapshots).toBe(2)
    clock.advance(2_000)
    await stage.settled()
    expect(book.snapshots).toBe(3)
  })

  it('Tidegate makes the engine wait while it does not read, without losing anything', async () => {
    const stage = await start({ tidegate: { bufferedBytesMax: 65_536 } })
    const { acceptor, ingest, own, book } = stage
    ingest.pause()
    const isWaiting = () => stage.log.some((line) => line.includes('the engine waits'))
    const nextTick = () => new Promise((resolve) => setImmediate(resolve))
    for (let round = 1; !isWaiting(); round++) {
      if (round > 5_000) throw new Error('the adapter never stops reading')
      const levels = Array.from({ length: 400 }, (_, index) => own.set('buy', 9_000 + index, round))
      stage.send(SYMBOL, [...levels, own.trade(10_000, round)])
      await nextTick()
    }
    // What the adapter ignores, until the buffers of the connection are full: it takes nothing more.
    const news = 'x'.repeat(1_000_000)
    for (let megabytes = 0; acceptor.unsentBytes === 0; megabytes++) {
      if (megabytes > 64) throw new Error('the adapter reads although it announced that it does not')
      acceptor.send('B', [[58, news]])
      await nextTick()
    }
    stage.send(SYMBOL, [own.trade(10_000, 1)])
    ingest.resume()
    await ingest.until('the last trade', () => book.executions.length === own.trades.length)
    await stage.settled()
    expect(book.executions.map(({ id }) => id)).toEqual(own.trades)
    expect([book.snapshots, book.missed, acceptor.logons]).toEqual([1, 0, 1])
  })

  it('Tidegate is sent nothing of a market that it rejects', async () => {
    const stage = await start({ symbols: [SYMBOL, 'ETH/USD'] })
    stage.ingest.reject('BTCUSD')
    await stage.waiters.until('the log', () => stage.log.some((line) => line.includes('rejects the market')))
    const { updates } = stage.book
    stage.send(SYMBOL, [stage.own.set('buy', 9_999, 1)])
    stage.send('ETH/USD', [(stage.engine.get('ETH/USD') as EngineBook).set('buy', 9_999, 1)])
    await stage.settled('ETH/USD')
    expect(stage.book.updates).toBe(updates)
    // Half a minute later it tries again.
    await stage.pass(31_000)
    await stage.settled()
    expect(stage.book.snapshots).toBe(2)
  })

  it('Tidegate rejects a message, requests a snapshot, and gets it at once', async () => {
    const stage = await start()
    stage.ingest.reject('BTCUSD')
    stage.ingest.requestSnapshot('BTCUSD')
    await stage.ingest.until('the snapshot', () => stage.book.snapshots === 2)
    stage.send(SYMBOL, [stage.own.set('buy', 9_999, 1)])
    await stage.settled()
    expect(stage.book.updates).toBe(1)
  })
})

/** A heartbeat of the engine with this number. */
function fixText(seq: number): string {
  const body = `35=0\u000134=${seq}\u000149=ENGINE\u000156=TIDEGATE\u000152=20261123-10:00:00.000\u0001`
  const text = `8=FIX.4.4\u00019=${body.length}\u0001${body}`
  const sum = [...Buffer.from(text, 'latin1')].reduce((total, byte) => total + byte, 0) % 256
  return `${text}10=${String(sum).padStart(3, '0')}\u0001`
}

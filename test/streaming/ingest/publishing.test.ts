/** Publishers over real sockets: what the market gets, two lines, gaps, broken rules, accepted positions, silence. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PublisherClient } from '../../support/publisher-client.ts'
import { PublishingEngine, type WireMessage } from '../../support/publishing-engine.ts'
import { Random } from '../../support/random.ts'
import { Stage } from './stage.ts'

let stage: Stage
let engine: PublishingEngine
beforeEach(async () => {
  stage = await Stage.open()
  engine = newEngine('BTCUSD')
})
afterEach(() => stage.close())

function newEngine(symbol: string, publishesOrders = false): PublishingEngine {
  return new PublishingEngine({ symbol, random: new Random(7), publishesOrders, keptMax: 1_000 })
}

/** A connected publisher of the engine that has sent a SNAPSHOT. */
async function publisher(token = 'engine', from = engine): Promise<PublisherClient> {
  const client = await stage.connect(token)
  await client.until(({ type }) => type === 'accepted')
  client.send(from.snapshot())
  return client
}

function untilAt(seq: number, symbol = 'BTCUSD', source = engine): Promise<void> {
  const origin = `${source.epoch}.${seq}`
  return stage.until(`${symbol} at ${origin}`, () => {
    const { state, origin: reached } = stage.market(symbol)
    return state === 'live' && reached === origin
  })
}

/** The book of the market as the engine has it. */
function expectBook(source = engine, seq = source.seq): void {
  const expected = [...source.levels(seq)].map(([key, amount]) => {
    const [side, price = ''] = key.split(' ')
    return [`${side} ${price.replace('.', '')}`, String(BigInt(amount.replace('.', '')))] as const
  })
  expect(stage.market(source.symbol).levels).toEqual(
    new Map(expected.map(([key, value]) => [key.replace(/ 0*/, ' '), value])),
  )
}

async function send(clients: readonly PublisherClient[], message: WireMessage): Promise<void> {
  for (const client of clients) client.send(message)
}

describe('one publisher', () => {
  it.each([false, true])(
    'a publisher feeds several markets on one connection, with orders: %s',
    async (publishesOrders) => {
      const engines = [newEngine('BTCUSD', publishesOrders), newEngine('ETHUSD', publishesOrders)]
      const client = await stage.connect('engine')
      expect(await client.until(({ type }) => type === 'accepted')).toEqual({
        type: 'accepted',
        markets: [{ market: 'BTCUSD' }, { market: 'ETHUSD' }],
      })
      for (const each of engines) client.send(each.snapshot())
      for (let count = 0; count < 100; count++) for (const each of engines) client.send(each.step())
      for (const each of engines) {
        await untilAt(100, each.symbol, each)
        expectBook(each)
        expect(stage.market(each.symbol).executions).toHaveLength(each.trades)
        expect(stage.market(each.symbol).missed).toBe(0)
      }
      stage.clock.advance(1_000)
      await client.untilAccepted('BTCUSD', 'run-1', 100)
      await client.untilAccepted('ETHUSD', 'run-1', 100)
      const before = client.received.length
      stage.clock.advance(1_000)
      client.send(engines[0]!.step())
      await untilAt(101)
      stage.clock.advance(1_000)
      await client.untilAccepted('BTCUSD', 'run-1', 101)
      expect(client.received.slice(before)).toEqual([
        { type: 'accepted', markets: [{ market: 'BTCUSD', epoch: 'run-1', seq: 101 }] },
      ])
      expect(await stage.metric('tidegate_ingest_messages_total{market="BTCUSD",outcome="applied"}')).toBe(102)
      expect(await stage.metric('tidegate_ingest_lines{market="BTCUSD"}')).toBe(1)
      expect(await stage.metric('tidegate_ingest_publishers')).toBe(1)
    },
  )

  it('a publisher is asked for a SNAPSHOT once after a gap, and misses executions only there', async () => {
    const client = await publisher()
    for (let count = 0; count < 5; count++) client.send(engine.step())
    engine.step()
    for (let count = 0; count < 5; count++) client.send(engine.step())
    const request = await client.until(({ type }) => type === 'snapshot_request')
    expect(request).toMatchObject({ market: 'BTCUSD', reason: expect.stringContaining('6') })
    expect(stage.market('BTCUSD').state).toBe('lost')
    client.send(engine.snapshot())
    await untilAt(11)
    expectBook()
    expect(stage.market('BTCUSD').missed).toBe(1)
    expect(client.received.filter(({ type }) => type === 'snapshot_request')).toHaveLength(1)
    expect(await stage.metric('tidegate_ingest_gaps_total{market="BTCUSD"}')).toBe(1)
  })

  it('a publisher that breaks a rule is notified of the rule, which is logged, and asked for a SNAPSHOT', async () => {
    const client = await publisher()
    const message = engine.step()
    client.send({ ...message, payload: { ...message.payload, bids: [{ price: 7, amount: '1' }] } })
    const rejected = await client.until(({ type }) => type === 'rejected')
    expect(rejected).toMatchObject({ market: 'BTCUSD', message: expect.stringContaining('payload.bids[0].price') })
    await client.until(({ type }) => type === 'snapshot_request')
    expect(stage.market('BTCUSD').reason).toContain('payload.bids[0].price')
    expect(stage.lines.join('\n')).toContain('payload.bids[0].price')
    client.send(engine.snapshot())
    await untilAt(1)
    expectBook()
  })

  it('a publisher that answers a request with a broken SNAPSHOT is asked for another one', async () => {
    const client = await publisher()
    engine.step()
    client.send(engine.step())
    await client.until(({ type }) => type === 'snapshot_request')
    const snapshot = engine.snapshot()
    client.send({ ...snapshot, payload: { ...snapshot.payload, time: 'now' } })
    await client.until(({ type }) => type === 'rejected')
    stage.clock.advance(1_000)
    await client.until(({ type, reason = '' }) => type === 'snapshot_request' && reason.includes('payload.time'))
    client.send(snapshot)
    await untilAt(2)
    expectBook()
    expect(client.received.filter(({ type }) => type === 'snapshot_request')).toHaveLength(2)
  })

  it('a publisher continues after a reconnect with the next number', async () => {
    const first = await publisher()
    first.send(engine.step())
    await untilAt(1)
    first.terminate()
    await stage.until('the loss', () => stage.market('BTCUSD').state === 'lost')
    expect(stage.market('BTCUSD').reason).toContain('no publisher is connected')

    const second = await stage.connect('engine')
    expect((await second.until(({ type }) => type === 'accepted')).markets).toContainEqual({
      market: 'BTCUSD',
      epoch: 'run-1',
      seq: 1,
    })
    for (let count = 0; count < 20; count++) second.send(engine.step())
    await untilAt(21)
    expectBook()
    expect(stage.market('BTCUSD').missed).toBe(0)
  })

  it("a publisher continues after a reconnect by its heartbeat's digest; a wrong one is answered by a request", async () => {
    const heartbeat = (digest: string) => ({
      channel: 'heartbeat',
      payload: {
        timestamp: '2026-11-20T12:00:00Z',
        books: [
          { market: 'BTCUSD', epoch: 'run-1', seq: 0, digest },
          { market: 'ETHUSD', epoch: 'run-1', seq: 0, digest },
        ],
      },
    })
    const first = await publisher()
    await untilAt(0)
    first.terminate()
    await stage.until('the loss', () => stage.market('BTCUSD').state === 'lost')
    const second = await stage.connect('engine')
    // The book is empty.
    second.send(heartbeat('0000000000000000'))
    await stage.until('the book', () => stage.market('BTCUSD').state === 'live')
    second.send(heartbeat('000000000000000f'))
    expect(await second.until(({ type }) => type === 'snapshot_request')).toMatchObject({ market: 'BTCUSD' })
    expect(stage.market('BTCUSD').state).toBe('lost')
    second.send(engine.snapshot())
    await untilAt(0)
  })

  it('a publisher of a new epoch needs a SNAPSHOT, and its market continues', async () => {
    const client = await publisher()
    for (let count = 0; count < 20; count++) client.send(engine.step())
    await untilAt(20)
    engine.restart()
    client.send(engine.step())
    expect(await client.until(({ type }) => type === 'snapshot_request')).toMatchObject({ market: 'BTCUSD' })
    client.send(engine.snapshot())
    await untilAt(1)
    expectBook()
  })

  it('a publisher is dead when nothing arrives for 15 seconds, and heartbeats prevent it', async () => {
    const client = await publisher()
    const quiet = await stage.connect('other')
    await untilAt(0)
    stage.clock.advance(10_000)
    client.send({ channel: 'heartbeat', payload: { timestamp: '2026-11-20T12:00:00Z' } })
    client.send(engine.step())
    await untilAt(1)
    stage.clock.advance(6_000)
    expect(await quiet.untilClosed()).toMatchObject({ code: 1008, reason: 'nothing received for 15 seconds' })
    expect(client.closed).toBeUndefined()
    expect(stage.market('BTCUSD').state).toBe('live')
    stage.clock.advance(10_000)
    expect(await client.untilClosed()).toMatchObject({ code: 1008 })
    expect(client.received.at(-1)).toEqual({ type: 'rejected', message: 'nothing received for 15 seconds' })
    expect(stage.market('BTCUSD').state).toBe('lost')
  })

  it('a publisher is shown to the operator, and so is its absence', async () => {
    const [btc, eth] = stage.sourceMarkets
    await publisher()
    await untilAt(0)
    expect(stage.source.notices(btc!)).toEqual(['published by engine (WebSocket from 127.0.0.1)'])
    expect(stage.source.instrument(btc!)).toEqual({ state: 'OPEN', reason: '' })
    stage.clock.advance(2_000)
    expect([stage.market('ETHUSD').state, stage.market('ETHUSD').reason]).toEqual(['lost', 'no publisher is connected'])
    expect(stage.source.notices(eth!)).toEqual([])
  })

  it('a publisher stays HALTED in silence while its heartbeats come', async () => {
    const client = await publisher()
    client.send(engine.setState('HALTED'))
    await stage.until('HALTED', () => stage.source.instrument(stage.sourceMarkets[0]!)?.state === 'HALTED')
    for (let count = 0; count < 20; count++) {
      client.send({ channel: 'heartbeat', payload: { timestamp: '2026-11-20T12:00:00Z' } })
      client.ping()
      stage.clock.advance(5_000)
      client.send(engine.step())
      await untilAt(engine.seq)
    }
    expect(stage.market('BTCUSD').events.filter(({ type }) => type === 'lost')).toEqual([])
  })

  it('a publisher of a market that is removed and added again is asked for a SNAPSHOT', async () => {
    const client = await publisher()
    await untilAt(0)
    const [btc] = stage.sourceMarkets
    stage.source.remove(btc!)
    const before = stage.market('BTCUSD').events.length
    client.send(engine.step())
    expect(await client.until(({ type }) => type === 'rejected')).toMatchObject({
      market: 'BTCUSD',
      message: 'this node has no market with this symbol and the source ingest',
    })
    expect(stage.market('BTCUSD').events).toHaveLength(before)
    stage.source.add(btc!)
    client.send(engine.step())
    await client.until(({ type }) => type === 'snapshot_request')
    client.send(engine.snapshot())
    await untilAt(2)
    expectBook()
  })

  it('a publisher sends a SNAPSHOT when the book was found to be wrong', async () => {
    const client = await publisher()
    await untilAt(0)
    stage.source.rebuild(stage.sourceMarkets[0]!, 'crossed')
    expect(await client.until(({ type }) => type === 'snapshot_request')).toMatchObject({ reason: 'crossed' })
    client.send(engine.snapshot())
    await untilAt(0)
  })
})

describe('two lines', () => {
  /** Two publishers of the engine whose SNAPSHOTs have been taken. */
  async function bothLines(): Promise<[PublisherClient, PublisherClient]> {
    const lines: [PublisherClient, PublisherClient] = [await publisher('engine'), await publisher('other')]
    await stage.untilLines('BTCUSD', 2)
    return lines
  }

  const isGapCounted = async () => (await stage.metric('tidegate_ingest_gaps_total{market="BTCUSD"}')) === 1

  it('two lines survive the death and the return of either without an event', async () => {
    let lines = await bothLines()
    for (let round = 0; round < 4; round++) {
      for (let count = 0; count < 20; count++) await send(lines, engine.step())
      await untilAt(engine.seq)
      const [dead, alive] = round % 2 === 0 ? lines : [lines[1], lines[0]]
      dead.terminate()
      await stage.untilLines('BTCUSD', 1)
      for (let count = 0; count < 20; count++) await send([alive], engine.step())
      await untilAt(engine.seq)
      const returned = await publisher(round % 2 === 0 ? 'engine' : 'other')
      await stage.untilLines('BTCUSD', 2)
      lines = round % 2 === 0 ? [returned, alive] : [alive, returned]
    }
    expectBook()
    const { events, executions } = stage.market('BTCUSD')
    expect(executions).toEqual(Array.from({ length: engine.trades }, (_, index) => `t${index + 1}`))
    expect(events.filter(({ type }) => type !== 'update').map(({ type }) => type)).toEqual(['snapshot'])
    expect(await stage.metric('tidegate_ingest_conflicts_total{market="BTCUSD"}')).toBe(0)
  })

  it('two lines fill the gaps of each other, and the one that waits is not read', async () => {
    const [first, second] = await bothLines()
    const messages = Array.from({ length: 2_000 }, () => engine.step())
    first.send(messages[0])
    for (const message of messages.slice(2)) first.send(message)
    await stage.untilSeen('the gap', isGapCounted)
    expect(stage.market('BTCUSD').origin).toBe('run-1.1')
    second.send(messages[0])
    expect(stage.market('BTCUSD').origin).toBe('run-1.1')
    second.send(messages[1])
    await untilAt(2_000)
    expectBook()
    expect(
      stage
        .market('BTCUSD')
        .events.map(({ type }) => type)
        .slice(0, 2),
    ).toEqual(['snapshot', 'update'])
    expect(stage.market('BTCUSD').missed).toBe(0)
    expect(await stage.metric('tidegate_ingest_gaps_total{market="BTCUSD"}')).toBe(1)
  })

  it('two lines wait for a gap no longer than ingest.line_wait_ms', async () => {
    const [first, second] = await bothLines()
    engine.step()
    first.send(engine.step())
    second.send({ channel: 'heartbeat', payload: { timestamp: '2026-11-20T12:00:00Z' } })
    await stage.untilSeen('the gap', isGapCounted)
    stage.clock.advance(999)
    expect(stage.market('BTCUSD').state).toBe('live')
    stage.clock.advance(1)
    for (const line of [first, second]) await line.until(({ type }) => type === 'snapshot_request')
    expect(stage.market('BTCUSD').state).toBe('lost')
    second.send(engine.snapshot())
    await untilAt(2)
    expectBook()
  })

  it('two lines that differ lose the market, raise an alarm, and are both asked for a SNAPSHOT', async () => {
    const [first, second] = await bothLines()
    const message = engine.step()
    first.send(message)
    await untilAt(1)
    const execution = { id: 'x', price: '1.00', amount: '1' }
    second.send({ ...message, payload: { ...message.payload, executions: [execution] } })
    for (const line of [first, second]) {
      expect(await line.until(({ type }) => type === 'snapshot_request')).toMatchObject({
        market: 'BTCUSD',
        reason: 'the two lines differ at message 1 in epoch run-1',
      })
    }
    expect(stage.market('BTCUSD').state).toBe('lost')
    expect(await stage.metric('tidegate_ingest_conflicts_total{market="BTCUSD"}')).toBe(1)
    first.send(engine.snapshot())
    await untilAt(1)
    expectBook()
  })

  it('two lines reject a third connection, which may become one when another has left', async () => {
    const [first] = await bothLines()
    const third = await publisher('engine')
    expect(await third.until(({ type }) => type === 'rejected')).toEqual({
      type: 'rejected',
      market: 'BTCUSD',
      message: 'the market has 2 lines already',
    })
    expect(third.closed).toBeUndefined()
    await first.close()
    await stage.untilLines('BTCUSD', 1)
    third.send(engine.step())
    await untilAt(1)
  })

  it('two lines with a broken message on one of them keep the market', async () => {
    const lines = await bothLines()
    const message = engine.step()
    lines[0].send({ ...message, payload: { ...message.payload, time: 'now' } })
    await lines[0].until(({ type }) => type === 'rejected')
    lines[1].send(message)
    await untilAt(1)
    const next = engine.step()
    await send(lines, next)
    await untilAt(2)
    expectBook()
    expect(stage.market('BTCUSD').events.filter(({ type }) => type === 'lost')).toEqual([])
  })

  it('two lines with the same broken message lose the market at once, although nothing follows it', async () => {
    const lines = await bothLines()
    const message = engine.step()
    await send(lines, { ...message, payload: { ...message.payload, time: 'now' } })
    for (const line of lines) {
      expect(await line.until(({ type }) => type === 'snapshot_request')).toMatchObject({
        reason: expect.stringContaining('payload.time'),
      })
    }
    expect(stage.market('BTCUSD').state).toBe('lost')
    await send(lines, engine.snapshot())
    await untilAt(1)
    expectBook()
  })

  it.each([
    ['dies', (line: PublisherClient) => line.terminate()],
    ['loses its book', (line: PublisherClient) => line.send(engine.lost('a fault'))],
  ])('two lines with a broken message on one of them lose the market when the other one %s', async (_what, end) => {
    const [first, second] = await bothLines()
    const message = engine.step()
    first.send({ ...message, payload: { ...message.payload, time: 'now' } })
    await first.until(({ type }) => type === 'rejected')
    expect(stage.market('BTCUSD').state).toBe('live')
    end(second)
    await first.until(({ type }) => type === 'snapshot_request')
    expect(stage.market('BTCUSD').state).toBe('lost')
    first.send(engine.snapshot())
    await untilAt(1)
    expectBook()
  })
})

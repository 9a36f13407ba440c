/** Each rule of docs/how-to/feeding-your-own-book.md for the messages of one market, by hand. */
import { describe, expect, it } from 'vitest'
import { ASK, BID, type LevelChange } from '../../../../src/streaming/market/event.ts'
import { LevelAmounts } from '../../../../src/streaming/market/level-amounts.ts'
import { readPublication } from '../../../../src/streaming/sources/publication/message.ts'
import { PublicationReader } from '../../../../src/streaming/sources/publication/publication-reader.ts'

const MARKET = { symbol: 'BTCUSD', baseAsset: 'BTC', quoteAsset: 'USD', priceDecimals: 2, amountDecimals: 8, depth: 10 }
const INSTRUMENT = { price_decimals: 2, amount_decimals: 8, state: 'OPEN' }
const EXECUTED_AT = Date.UTC(2026, 10, 20, 12)

function reader(resumes = false) {
  const own = new PublicationReader({ market: MARKET, resumes })
  const send = (type: string, stream: object, payload: object = {}) => {
    const members = { market: 'BTCUSD', type, time: '2026-11-20T12:00:00Z', ...payload }
    const message = readPublication({ channel: 'publication', payload: members, stream: { epoch: 'a', ...stream } })
    if (message.type === 'heartbeat') throw new Error('a heartbeat')
    return message.type === 'problem' ? own.refuse(message) : own.take(message)
  }
  return {
    own,
    send,
    snapshot: (seq: number, more: object = {}, stream: object = {}) =>
      send('SNAPSHOT', { seq, ...stream }, { instrument: INSTRUMENT, bids: [level('10')], asks: [], ...more }),
    update: (seq: number, more: object = {}, stream: object = {}) => send('UPDATE', { seq, ...stream }, more),
  }
}

const level = (price: string, amount = '1') => ({ price, amount })
const trade = (id: string) => ({ id, price: '10', amount: '1' })
const execution = (id: string) => ({ price: 1000, amount: 100_000_000, id, executedAtMilliseconds: EXECUTED_AT })
const BOOK: readonly LevelChange[] = [{ side: BID, price: 1000, amount: 100_000_000 }]

describe('the messages of a publication', () => {
  it('the messages of a publication begin with a SNAPSHOT, which an UPDATE before it requests', () => {
    const { own, update, snapshot } = reader()
    const request = 'no SNAPSHOT was received yet'
    expect(update(1)).toEqual({ outcome: 'waiting', events: [{ type: 'lost', reason: request }], request })
    expect(update(2)).toEqual({ outcome: 'waiting', events: [] })
    expect(snapshot(2)).toEqual({ outcome: 'applied', events: [{ type: 'snapshot', levels: BOOK, origin: 'a.2' }] })
    expect([own.isLive, own.position, own.instrument]).toEqual([
      true,
      { epoch: 'a', seq: 2 },
      { state: 'OPEN', reason: '' },
    ])
  })

  it('the messages of a publication are applied in order, each once', () => {
    const { snapshot, update } = reader()
    snapshot(0)
    const step = update(1, { asks: [level('12', '0.5')], executions: [trade('1')] })
    expect(step).toEqual({
      outcome: 'applied',
      events: [
        {
          type: 'update',
          changes: [{ side: ASK, price: 1200, amount: 50_000_000 }],
          executions: [execution('1')],
          origin: 'a.1',
        },
      ],
    })
    expect(update(1, { executions: [trade('1')] })).toEqual({ outcome: 'repeated', events: [] })
    expect(update(4, {}, { prev: 1 }).outcome).toBe('applied')
    expect(update(5).events).toEqual([{ type: 'update', changes: [], executions: [], origin: 'a.5' }])
  })

  it('a gap in a publication loses its messages and their executions; the executions after it continue', () => {
    const { own, snapshot, update } = reader()
    snapshot(3)
    const request = 'the messages 4 to 6 in epoch a are missing'
    expect(update(7, { bids: [level('9')], executions: [trade('1')] })).toEqual({
      outcome: 'applied',
      events: [
        { type: 'lost', reason: request },
        { type: 'missed', reason: 'the messages 4 to 6 are missing in epoch a' },
        { type: 'update', changes: [], executions: [execution('1')] },
      ],
      request,
    })
    expect(own.needsSnapshot).toBe(true)
    expect(update(8, { executions: [trade('2')] }).events).toHaveLength(1)
    expect(snapshot(8).events).toEqual([{ type: 'snapshot', levels: BOOK, origin: 'a.8' }])
  })

  it('a publication may have a gap where a message covers applied ones: nothing of it is published twice', () => {
    const { snapshot, update } = reader()
    snapshot(3)
    update(4, { executions: [trade('1')] })
    const { events, request } = update(6, { executions: [trade('1'), trade('2')] }, { prev: 2 })
    expect(request).toBe('message 6 in epoch a covers messages that were partly applied')
    expect(events.map(({ type }) => type)).toEqual(['lost', 'missed'])
  })

  it("a publication's SNAPSHOT replaces the book; later numbers without prev mean missed executions", () => {
    const { snapshot } = reader()
    snapshot(3)
    expect(snapshot(3).events.map(({ type }) => type)).toEqual(['snapshot'])
    expect(snapshot(5).events.map(({ type }) => type)).toEqual(['missed', 'snapshot'])
    expect(snapshot(9, {}, { prev: 5 }).events.map(({ type }) => type)).toEqual(['snapshot'])
    expect(snapshot(4)).toEqual({ outcome: 'repeated', events: [] })
  })

  it("a publication's old SNAPSHOT is trusted only after the messages that reach the last execution", () => {
    const { own, snapshot, update } = reader()
    snapshot(1)
    update(2, { bids: [level('9')] })
    update(3, { executions: [trade('1')] })
    own.disconnect('cut')
    expect(snapshot(1).events).toEqual([
      { type: 'lost', reason: 'the SNAPSHOT has the state after message 1, but message 3 was applied' },
    ])
    expect(update(2, { bids: [level('9')] }).events).toEqual([])
    expect(own.isLive).toBe(false)
    expect(update(3, { executions: [trade('1')] }).events).toEqual([
      { type: 'snapshot', levels: [...BOOK, { side: BID, price: 900, amount: 100_000_000 }], origin: 'a.3' },
    ])
  })

  it("a publication's new epoch needs a SNAPSHOT; executions in between are missed if there were any before", () => {
    for (const hadExecutions of [false, true]) {
      const { own, snapshot, update } = reader()
      snapshot(0)
      update(1, hadExecutions ? { executions: [trade('1')] } : {})
      const request = 'no SNAPSHOT in the new epoch b was received yet'
      expect(update(1, {}, { epoch: 'b' })).toMatchObject({ outcome: 'waiting', request })
      const { events } = snapshot(0, {}, { epoch: 'b' })
      expect(events.map(({ type }) => type)).toEqual(hadExecutions ? ['missed', 'snapshot'] : ['snapshot'])
      expect(own.position).toEqual({ epoch: 'b', seq: 0 })
      expect(update(1).outcome).toBe('repeated')
      expect(snapshot(0)).toMatchObject({
        outcome: 'refused',
        problem: 'stream.seq is below 1, at which this epoch was left',
      })
    }
  })

  it("the messages of a publication report the publisher's missed executions before their own", () => {
    const { snapshot, update } = reader()
    snapshot(0)
    expect(update(1, { missed: 'a gap', executions: [trade('1')] }).events).toMatchObject([
      { type: 'missed', reason: 'a gap' },
      { type: 'update', executions: [{ id: '1' }] },
    ])
  })

  it('a publication has no book from LOST to the SNAPSHOT, which the publisher sends by itself', () => {
    const { own, send, snapshot, update } = reader()
    snapshot(2)
    expect(send('LOST', { seq: 2 }, { reason: 'no source' })).toEqual({
      outcome: 'applied',
      events: [{ type: 'lost', reason: 'the publisher lost its book: no source' }],
    })
    expect(update(3, { bids: [level('8')], executions: [trade('1')] })).toEqual({
      outcome: 'applied',
      events: [{ type: 'update', changes: [], executions: [execution('1')] }],
    })
    expect(send('LOST', { seq: 5 }).events.map(({ type }) => type)).toEqual(['missed', 'lost'])
    expect(snapshot(5).events).toHaveLength(1)
    expect(own.isLive).toBe(true)
  })

  it('a trusted book is lost by the LOST that begins a new subscription with the number 0', () => {
    const { own, send, snapshot, update } = reader()
    snapshot(2)
    update(3)
    const events = [{ type: 'lost', reason: 'the publisher lost its book: no source' }]
    expect(send('LOST', { seq: 0 }, { reason: 'no source' })).toEqual({ outcome: 'applied', events })
    expect([own.isLive, own.position]).toEqual([false, { epoch: 'a', seq: 3 }])
    expect(update(4, { executions: [trade('1')] }).events).toMatchObject([{ type: 'update', changes: [] }])
    expect(snapshot(4).events).toMatchObject([{ type: 'snapshot', levels: BOOK }])
  })
})

describe('the content of a message', () => {
  const problemOf = (payload: object, snapshotMore: object = {}) => {
    const { snapshot, update } = reader()
    snapshot(0, snapshotMore)
    const { outcome, problem, request } = update(1, payload)
    return outcome === 'refused' && request === `the publisher breaks a rule: ${problem}` ? problem : 'accepted'
  }

  it('a publication message is checked with the decimals of the market, and for prices that appear twice', () => {
    expect(problemOf({ bids: [level('9.999')] })).toBe(
      'payload.bids[0].price has more than the 2 decimals of the market BTCUSD',
    )
    expect(problemOf({ bids: [level('9.990', '1.000000000')] })).toBe('accepted')
    expect(problemOf({ bids: [level('9', '0.000000001')] })).toMatch(/^payload.bids\[0\].amount has more than the 8/)
    expect(problemOf({ asks: [level('11'), level('12'), level('11.00')] })).toBe(
      'payload.asks[2].price occurs in another level on the same side',
    )
    expect(problemOf({ asks: [level('900719925474099.2')] })).toMatch(/too large for the market BTCUSD$/)
    expect(problemOf({ executions: [trade('1'), trade('1')] })).toBe(
      'payload.executions[1].id occurs in another execution in the message',
    )
  })

  it('a publication message has levels or orders, as in the SNAPSHOT', () => {
    const orders = {
      orders: [{ order_id: '1', side: 'buy', price: '10', amount: '1' }],
      bids: undefined,
      asks: undefined,
    }
    const add = { type: 'order_add', order_id: '2', side: 'sell', price: '11', amount: '1' }
    expect(problemOf({ orders: [add] })).toBe('payload.orders has orders, but the SNAPSHOT had levels')
    expect(problemOf({ bids: [level('9')] }, orders)).toBe('payload.bids has levels, but the SNAPSHOT had orders')
    expect(problemOf({ orders: [add] }, orders)).toBe('accepted')
    expect(
      problemOf(
        {
          orders: [
            { type: 'trade', ...trade('1') },
            { type: 'order_delete', order_id: '3' },
          ],
        },
        orders,
      ),
    ).toBe('payload.orders[1] names an order that is not in the book')
  })

  it('a broken publication message counts neither as a book nor as executions', () => {
    const { snapshot, update } = reader()
    snapshot(0)
    update(1, { bids: [level('9.999')], executions: [trade('1')] })
    expect(update(2, { executions: [trade('2')] }).events).toMatchObject([
      { type: 'missed', reason: 'message 1 is missing in epoch a' },
      { type: 'update', executions: [{ id: '2' }] },
    ])
  })

  it('a broken SNAPSHOT is requested again, and other broken messages only once', () => {
    const { snapshot, update } = reader()
    expect(snapshot(0, { bids: [level('9.999')] }).request).toBeDefined()
    expect(snapshot(0, { bids: 7 }).request).toBeDefined()
    expect(update(1, { bids: 7 }).request).toBeUndefined()
  })

  it('an INSTRUMENT message sets the state, and is refused with more decimals than the market has', () => {
    const { own, snapshot, send } = reader()
    snapshot(0)
    const halted = { ...INSTRUMENT, state: 'HALTED', reason: 'volatility' }
    expect(send('INSTRUMENT', { seq: 1 }, halted)).toEqual({ outcome: 'applied', events: [] })
    expect([own.instrument, own.isLive]).toEqual([{ state: 'HALTED', reason: 'volatility' }, true])
    expect(send('INSTRUMENT', { seq: 2 }, { ...INSTRUMENT, amount_decimals: 9 })).toMatchObject({
      outcome: 'refused',
      problem: 'payload.amount_decimals is 9, but the market BTCUSD has 8',
    })
  })
})

it('a publication is simulated whether its SNAPSHOT or a later message says so', () => {
  const { own, snapshot, send } = reader()
  snapshot(0, { instrument: { ...INSTRUMENT, simulated: true } })
  expect([own.isLive, own.instrument]).toEqual([true, { state: 'OPEN', reason: '', simulated: true }])
  // Also without a state.
  snapshot(0, { instrument: { price_decimals: 2, amount_decimals: 8, simulated: true } })
  expect(own.instrument?.simulated).toBe(true)
  send('INSTRUMENT', { seq: 1 }, INSTRUMENT)
  expect(own.instrument).toEqual({ state: 'OPEN', reason: '' })
  send('INSTRUMENT', { seq: 2 }, { ...INSTRUMENT, simulated: true })
  expect([own.isLive, own.instrument?.simulated]).toEqual([true, true])
})

describe('after another process, which followed orders', () => {
  const order = { type: 'order_delete', order_id: '1' }
  const taken = () => {
    const market = reader(true)
    market.own.takeOver({ epoch: 'a', seq: 5, levels: BOOK, instrument: { state: 'OPEN', reason: '' } })
    market.own.resume()
    return market
  }

  it('the messages between the last one and the SNAPSHOT that the orders need are asked for, not missed', () => {
    const { own, update, snapshot } = taken()
    expect(update(6, { orders: [order] })).toMatchObject({ request: 'the book’s orders are not known' })
    const request = 'message 7 is missing in epoch a'
    expect(snapshot(7)).toMatchObject({ outcome: 'waiting', request, events: [{ type: 'lost' }] })
    own.resume()
    expect(update(7, { executions: [trade('x')] }).events).toMatchObject([
      { type: 'update', executions: [{ id: 'x' }] },
      { type: 'snapshot' },
    ])
  })

  it('a publisher that answers with nothing new is not asked again', () => {
    const { own, update, snapshot } = taken()
    update(6, { orders: [order] })
    snapshot(7)
    own.resume()
    expect(snapshot(8)).toMatchObject({ outcome: 'applied', events: [{ type: 'missed' }, { type: 'snapshot' }] })
  })
})

describe('between connections', () => {
  it("a publication's book is not trusted between connections until the publication is proved to continue", () => {
    const proofs = {
      'the owner knows': ({ own }: ReturnType<typeof reader>) => own.resume(),
      'the next message': ({ update }: ReturnType<typeof reader>) => update(2).events,
      'the last message again': ({ update }: ReturnType<typeof reader>) => update(1).events,
      'an equal digest': ({ own }: ReturnType<typeof reader>) => own.compare({ ...HEARTBEAT, digest: DIGEST }).events,
    }
    for (const [name, prove] of Object.entries(proofs)) {
      const market = reader()
      market.snapshot(0)
      market.update(1)
      expect(market.own.disconnect('cut')).toEqual([{ type: 'lost', reason: 'cut' }])
      expect([market.own.isLive, market.own.needsSnapshot]).toEqual([false, false])
      expect([name, prove(market)]).toMatchObject([name, [{ type: 'snapshot', levels: BOOK }]])
    }
  })

  it("an equal digest of the current connection proves the publication's book, beside the numbers", () => {
    const { own, snapshot } = reader()
    snapshot(1)
    expect(own.proof).toBe('SEQUENCE')
    own.compare({ ...HEARTBEAT, digest: DIGEST })
    expect(own.proof).toBe('CHECKSUM')
    own.disconnect('away')
    expect(own.proof).toBe('SEQUENCE')
  })

  it('a digest that differs is a loss of the book; one of another message proves nothing', () => {
    const { own, snapshot, update } = reader()
    snapshot(0)
    update(1)
    expect(own.compare({ ...HEARTBEAT, seq: 0, digest: WRONG })).toEqual({ outcome: 'waiting', events: [] })
    expect(own.compare({ ...HEARTBEAT, epoch: 'b', digest: WRONG })).toEqual({ outcome: 'waiting', events: [] })
    expect(own.compare({ ...HEARTBEAT, digest: DIGEST })).toEqual({ outcome: 'applied', events: [] })
    const reason = "the digest of the publisher's book after message 1 differs"
    expect(own.compare({ ...HEARTBEAT, digest: WRONG })).toMatchObject({ outcome: 'refused', request: reason })
  })
})

const HEARTBEAT = { market: 'BTCUSD', epoch: 'a', seq: 1 }
const WRONG = '0123456789abcdef'
const DIGEST = digestOfBook()

function digestOfBook(): string {
  const levels = new LevelAmounts(MARKET)
  for (const { side, price, amount } of BOOK) levels.set(side, price, amount)
  return levels.digest()
}

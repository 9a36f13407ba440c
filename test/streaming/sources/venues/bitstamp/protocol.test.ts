import { describe, expect, it } from 'vitest'
import { BITSTAMP } from '../../../../../src/streaming/sources/venues/bitstamp/protocol.ts'

const create = () => BITSTAMP.createProtocol({ restUrl: '' })
const error = '{"event":"bts:error","channel":"","data":{"code":null,"message":"Bad subscription string."}}'
const succeeded = (channel: string) => JSON.stringify({ event: 'bts:subscription_succeeded', channel, data: {} })

describe('requests of Bitstamp', () => {
  it('Bitstamp requests name one channel each', () => {
    expect(create().requests('subscribe', 'book', ['btcusd', 'xrpeur'], Infinity)).toEqual([
      { event: 'bts:subscribe', data: { channel: 'diff_order_book_btcusd' } },
      { event: 'bts:subscribe', data: { channel: 'diff_order_book_xrpeur' } },
    ])
    expect(create().requests('unsubscribe', 'trades', ['btcusd'], 0)).toEqual([
      { event: 'bts:unsubscribe', data: { channel: 'live_trades_btcusd' } },
    ])
  })

  it('a request of Bitstamp that is refused without a channel is the oldest unanswered one', () => {
    const protocol = create()
    protocol.requests('subscribe', 'book', ['btcusd', 'xrpeur'], Infinity)
    protocol.requests('subscribe', 'trades', ['btcusd'], 0)
    expect(protocol.read(succeeded('diff_order_book_btcusd'))).toEqual([{ kind: 'acknowledged', symbol: 'btcusd' }])
    expect(protocol.read(error)).toMatchObject([{ kind: 'refused', symbol: 'xrpeur', channel: 'book' }])
    expect(protocol.read(error)).toMatchObject([{ kind: 'refused', symbol: 'btcusd', channel: 'trades' }])
    expect(protocol.read(error)).toEqual([{ kind: 'refused', reason: 'Bad subscription string.' }])
  })

  it('Bitstamp requests of an earlier connection are forgotten', () => {
    const protocol = create()
    protocol.requests('subscribe', 'book', ['btcusd'], Infinity)
    expect(protocol.open?.()).toEqual([])
    expect(protocol.read(error)).toEqual([{ kind: 'refused', reason: 'Bad subscription string.' }])
  })

  it('Bitstamp requests ask whether the venue lives before the connection counts as dead', () => {
    const { keepAlive, silenceMilliseconds } = create()
    expect(keepAlive).toEqual({ text: '{"event":"bts:heartbeat"}', milliseconds: 2_000 })
    expect(silenceMilliseconds).toBeGreaterThan(2_000)
  })
})

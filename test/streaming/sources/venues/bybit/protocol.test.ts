import { describe, expect, it } from 'vitest'
import { BYBIT } from '../../../../../src/streaming/sources/venues/bybit/protocol.ts'

const create = () => BYBIT.createProtocol({ restUrl: '' })

describe('requests of Bybit', () => {
  it('Bybit requests name the topics of a depth, ten at most, with an id of their own', () => {
    const symbols = Array.from({ length: 23 }, (_, index) => `A${index}USDT`)
    const requests = create().requests('subscribe', 'book', symbols, 200) as {
      req_id: string
      op: string
      args: string[]
    }[]
    expect(requests.map(({ args }) => args.length)).toEqual([10, 10, 3])
    expect(requests.map(({ req_id, op }) => [req_id, op])).toEqual(['1', '2', '3'].map((id) => [id, 'subscribe']))
    expect(requests.flatMap(({ args }) => args)).toEqual(symbols.map((symbol) => `orderbook.200.${symbol}`))
    expect(create().requests('unsubscribe', 'trades', ['BTCUSDT'], 0)).toEqual([
      { req_id: '1', op: 'unsubscribe', args: ['publicTrade.BTCUSDT'] },
    ])
  })

  it('Bybit requests are known by their ids when they are refused', () => {
    const protocol = create()
    protocol.requests('subscribe', 'book', ['BTCUSDT', 'XUSDT'], 50)
    const refusal = '{"success":false,"ret_msg":"Invalid symbol","conn_id":"a","req_id":"1","op":"subscribe"}'
    expect(protocol.read(refusal)).toMatchObject([{ symbol: 'BTCUSDT', channel: 'book' }, { symbol: 'XUSDT' }])
    expect(protocol.read(refusal)).toEqual([{ kind: 'refused', reason: 'Invalid symbol' }])
  })

  it('Bybit requests remember a thousand unanswered ones', () => {
    const protocol = create()
    for (let count = 0; count <= 1_000; count++) protocol.requests('subscribe', 'book', ['BTCUSDT'], 50)
    const refusal = (id: number) => `{"success":false,"ret_msg":"no","req_id":"${id}","op":"subscribe"}`
    expect(protocol.read(refusal(1))).toEqual([{ kind: 'refused', reason: 'no' }])
    expect(protocol.read(refusal(2))).toMatchObject([{ symbol: 'BTCUSDT' }])
  })

  it('Bybit requests ask whether the venue lives before the connection counts as dead', () => {
    const { keepAlive, silenceMilliseconds, depths } = create()
    expect(keepAlive).toEqual({ text: '{"op":"ping"}', milliseconds: 2_000 })
    expect(silenceMilliseconds).toBeGreaterThan(2_000)
    expect(depths).toEqual([50, 200, 1000])
  })
})

import { describe, expect, it } from 'vitest'
import { BINANCE } from '../../../../../src/streaming/sources/venues/binance/protocol.ts'

interface Request {
  readonly method: string
  readonly params: readonly string[]
  readonly id: number
}

function createProtocol() {
  const protocol = BINANCE.createProtocol({ restUrl: 'http://127.0.0.1:1' })
  const ask = (action: 'subscribe' | 'unsubscribe', channel: 'book' | 'trades', ...symbols: string[]) =>
    protocol.requests(action, channel, symbols, 10) as Request[]
  return { protocol, ask }
}

describe('requests to Binance', () => {
  it('requests to Binance name streams, in lower case, and have numbers of their own', () => {
    const { ask } = createProtocol()
    expect([...ask('subscribe', 'book', 'BTCUSDT', 'ETHUSDT'), ...ask('unsubscribe', 'trades', 'BTCUSDT')]).toEqual([
      { method: 'SUBSCRIBE', params: ['btcusdt@depth@100ms', 'ethusdt@depth@100ms'], id: 1 },
      { method: 'UNSUBSCRIBE', params: ['btcusdt@aggTrade'], id: 2 },
    ])
  })

  it('requests to Binance are answered by their numbers, each once', () => {
    const { protocol, ask } = createProtocol()
    const [first] = ask('subscribe', 'book', 'BTCUSDT')
    const [second] = ask('subscribe', 'book', 'ETHUSDT')
    const answer = (id: number | undefined) => protocol.read(JSON.stringify({ result: null, id }))
    expect(answer(second?.id)).toEqual([{ kind: 'acknowledged', symbol: 'ETHUSDT' }])
    expect(answer(first?.id)).toEqual([{ kind: 'acknowledged', symbol: 'BTCUSDT' }])
    expect(answer(first?.id)).toEqual([])
  })

  it('requests to Binance are cut where they would grow too long', () => {
    const { protocol, ask } = createProtocol()
    const symbols = Array.from({ length: 450 }, (_, index) => `COIN${index}USDT`)
    const requests = ask('subscribe', 'book', ...symbols)
    expect(requests.map(({ params }) => params.length)).toEqual([200, 200, 50])
    const acknowledged = requests.flatMap(({ id }) => protocol.read(JSON.stringify({ result: null, id })))
    expect(acknowledged).toEqual(symbols.map((symbol) => ({ kind: 'acknowledged', symbol })))
  })

  it('requests to Binance that are never answered are forgotten one day', () => {
    const { protocol, ask } = createProtocol()
    const [first] = ask('subscribe', 'book', 'BTCUSDT')
    for (let count = 0; count < 999; count++) ask('subscribe', 'book', 'ETHUSDT')
    const [last] = ask('subscribe', 'book', 'BNBUSDT')
    const answer = (id: number | undefined) => protocol.read(JSON.stringify({ result: null, id }))
    expect(answer(first?.id)).toEqual([])
    expect(answer(last?.id)).toEqual([{ kind: 'acknowledged', symbol: 'BNBUSDT' }])
  })

  it('requests to Binance ask a silent venue whether it lives, in good time', () => {
    const { protocol } = createProtocol()
    expect(JSON.parse(protocol.keepAlive?.text ?? '')).toEqual({ method: 'LIST_SUBSCRIPTIONS', id: 0 })
    expect(protocol.keepAlive?.milliseconds).toBeLessThan(protocol.silenceMilliseconds / 2)
    expect(protocol.read('{"result":[],"id":0}')).toEqual([])
  })
})

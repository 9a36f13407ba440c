/** The checks of cursors and digests: sessions of the service that lag, lose the market and get it back break none. */
import { expect, it } from 'vitest'
import { StreamChecker } from '../../../../src/conformance/judge/stream/stream-checker.ts'
import { ASK, BID } from '../../../../src/streaming/market/event.ts'
import { deepBook, LiveStream } from '../../../streaming/gateway/live-stream.ts'

const OWN = ['message-missing', 'heartbeat-differs', 'field-missing']
const CHANNELS = ['market_data', 'market_data.top_of_book', 'execution_data']

it.each([{}, { interval_ms: 250 }, { depth: 1 }])(
  'SequenceChecker reports nothing of a session that lags and whose market is lost, withdrawn and restored: %j',
  (params) => {
    const stream = new LiveStream({ settings: { heartbeatSeconds: 0.1, staleSeconds: 1, outboxBytesMax: 600 } })
    stream.snapshot(deepBook(8, 10))
    const client = stream.connect({ subprotocol: 'tidegate.v1', kernelBytes: 300 })
    const checker = new StreamChecker({ isExtended: true, heartbeatMilliseconds: 60_000 })
    const found: string[] = []
    const check = (texts: readonly string[]) => {
      for (const text of texts) {
        for (const { name, detail } of checker.onMessage(text, 0))
          if (OWN.includes(name)) found.push(`${name}: ${detail}`)
      }
    }
    const subscribe = (channels: readonly string[]) => ({
      type: 'subscribe',
      channels: [
        ...channels.map((type) => ({ type, params: { market: 'AAAUSD', ...(type === 'market_data' ? params : {}) } })),
        ...(channels === CHANNELS ? [{ type: 'heartbeat' }] : []),
      ],
    })
    check(client.ask(subscribe(CHANNELS)))
    for (let step = 1; step <= 400; step++) {
      const side = step % 3 === 0 ? ASK : BID
      const price = side === BID ? 9_999_999 - (step % 5) : 10_000_001 + (step % 7)
      const executions = step % 4 === 0 ? [{ price, amount: step }] : []
      stream.update(step % 9 === 0 ? [] : [{ side, price, amount: step % 11 === 0 ? 0 : step }], executions)
      if (step % 100 === 60) stream.lose()
      stream.clock.advance(step % 100 === 61 && step > 200 ? 2_000 : 20)
      if (step % 100 === 62) stream.snapshot(deepBook(8, 10 + step))
      if (step === 150) check(client.unsubscribe('AAAUSD market_data'))
      if (step === 160) check(client.ask(subscribe(['market_data'])))
      // Otherwise it lags.
      if (step % 10 !== 5) check(client.read())
    }
    check(client.read())
    expect(found).toEqual([])
    const { updates, heartbeats, executions } = checker.counts
    expect(Math.min(updates, heartbeats, executions)).toBeGreaterThan(20)
  },
)

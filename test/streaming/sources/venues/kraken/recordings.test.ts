import { afterEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../../src/platform/base/metrics.ts'
import { KRAKEN } from '../../../../../src/streaming/sources/venues/kraken/protocol.ts'
import { createKrakenSource } from '../../../../support/kraken-source.ts'
import { RecordedKrakenBook, type RecordedMessage } from '../../../../support/recorded-kraken-book.ts'
import { type KrakenRecording, krakenBtcUsd, krakenEthUsd, krakenFloats } from '../../../../support/recordings.ts'
import { SourceListener } from '../../../../support/source-listener.ts'
import { type KrakenServer, startKrakenServer } from '../../../../support/venues/kraken.ts'
import { VirtualClock } from '../../../../support/virtual-clock.ts'

const { createBook, read: readMessages } = KRAKEN.createProtocol(KRAKEN.exchanges[0])

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

interface Replayed {
  readonly server: KrakenServer
  readonly listeners: readonly SourceListener[]
  /** The lines of the metric. */
  readonly mismatches: () => Promise<string[]>
}

async function replay(recordings: readonly KrakenRecording[], speed: number): Promise<Replayed> {
  const server = await startKrakenServer({ recordings, speed })
  opened.push(server)
  const listeners = recordings.map(
    ({ symbol, depth, pricePrecision, quantityPrecision }) =>
      new SourceListener(symbol, { depth, priceDecimals: pricePrecision, amountDecimals: quantityPrecision }),
  )
  const metrics = createMetricsRegistry()
  const source = createKrakenSource({
    url: server.url,
    markets: listeners.map((listener) => listener.sourceMarket),
    // The venue speaks all the time, however seldom this process is let to listen.
    clock: new VirtualClock(),
    log: createLog('silent'),
    metrics,
  })
  source.start()
  opened.push({ close: () => source.stop() })
  const mismatches = async () =>
    (await metrics.metrics()).split('\n').filter((line) => line.startsWith('tidegate_feed_checksum_mismatches_total{'))
  return { server, listeners, mismatches }
}

/** Every different book that the recording goes through, one after the other, rebuilt in the plainest way. */
function naiveStates(recording: KrakenRecording): string[] {
  const book = new RecordedKrakenBook(recording)
  const states: string[] = []
  for (const { text } of recording.frames) {
    const checksum = book.apply(JSON.parse(text) as RecordedMessage)
    if (checksum === undefined) continue
    expect(book.checksum()).toBe(checksum)
    const [bids, asks] = [book.bids(), book.asks()].map((side) => side.map((level) => level.join(':')).join(' '))
    states.push(`${bids} | ${asks}`)
  }
  return withoutRepeats(states)
}

function withoutRepeats(states: readonly string[]): string[] {
  return states.filter((state, index) => state !== states[index - 1])
}

async function expectSameBooks({ server, listeners, mismatches }: Replayed, recordings: readonly KrakenRecording[]) {
  await server.finished
  for (const [index, recording] of recordings.entries()) {
    const listener = listeners[index] as SourceListener
    const expected = naiveStates(recording)
    await listener.until('the last book', () => listener.states.at(-1) === expected.at(-1))
    expect(withoutRepeats(listener.states)).toEqual(expected)
    expect(listener.reasons()).toEqual([])
  }
  const lines = await mismatches()
  expect(lines).toHaveLength(recordings.length)
  for (const line of lines) expect(line).toMatch(/ 0$/)
}

describe('recorded books of Kraken', () => {
  it.each([
    ['BTC/USD', krakenBtcUsd, 301, { depth: 10, pricePrecision: 1, quantityPrecision: 8 }],
    ['ETH/USD', krakenEthUsd, 1129, { depth: 25, pricePrecision: 2, quantityPrecision: 8 }],
    ['BTC/USD through doubles', krakenFloats, 510, { depth: 10, pricePrecision: 1, quantityPrecision: 8 }],
  ] as const)(
    "the recorded Kraken book %s has our own book's checksum at every message",
    (_name, read, count, shape) => {
      const recording = read()
      expect(recording).toMatchObject(shape)
      const { depth, pricePrecision: priceDecimals, quantityPrecision: amountDecimals } = shape
      const listing = {
        symbol: recording.symbol,
        priceDecimals,
        amountDecimals,
        status: 'online',
        state: 'open',
      } as const
      const book = createBook({ listing, depth, priceMaximum: Number.MAX_SAFE_INTEGER })
      let matching = 0
      for (const { text } of recording.frames) {
        for (const message of readMessages(text)) {
          if (message.kind !== 'book') continue
          expect(book.apply(message.data).kind).toBe(message.data.isSnapshot ? 'snapshot' : 'update')
          matching += 1
        }
      }
      expect(matching).toBe(count)
    },
  )

  it.each([
    ['as fast as the socket takes it', Infinity],
    ['at a hundred times its pace', 100],
  ])("the connector's books of BTC/USD and ETH/USD together, %s, are those of the recording", async (_, speed) => {
    const recordings = [krakenBtcUsd(), krakenEthUsd()]
    const replayed = await replay(recordings, speed)
    await expectSameBooks(replayed, recordings)
    expect(replayed.server.checksums.get('BTC/USD')).toHaveLength(301)
    expect(replayed.server.checksums.get('ETH/USD')).toHaveLength(1129)
    expect(replayed.listeners.map((listener) => listener.count('snapshot'))).toEqual([5, 1])
  })

  it("the connector's books of BTC/USD through doubles are those of the recording", async () => {
    const recordings = [krakenFloats()]
    await expectSameBooks(await replay(recordings, Infinity), recordings)
  })

  it.skipIf(process.env.TIDEGATE_LONG !== '1')(
    "the connector's books of BTC/USD and ETH/USD are those of the recording at their own pace (TIDEGATE_LONG=1)",
    async () => {
      const recordings = [krakenBtcUsd(), krakenEthUsd()]
      await expectSameBooks(await replay(recordings, 1), recordings)
    },
  )
})

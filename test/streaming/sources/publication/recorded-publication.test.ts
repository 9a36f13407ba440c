/**
 * Recorded books of Kraken, published by an engine that Tidegate pulls from, by a module, and by publishers that push, one
 * and two for a market: customers get the same messages, byte for byte, as from the events of the recording themselves.
 * Times apart; every book message also gets a trade.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { formatDecimal } from '../../../../src/platform/base/decimal.ts'
import {
  ASK,
  BID,
  type LevelChange,
  type MarketDefinition,
  type MarketEvent,
} from '../../../../src/streaming/market/event.ts'
import { createModuleSource } from '../../../../src/streaming/sources/module/module-source.ts'
import { KRAKEN } from '../../../../src/streaming/sources/venues/kraken/protocol.ts'
import { captureLog } from '../../../support/captured-log.ts'
import { MarketPipeline } from '../../../support/market-pipeline.ts'
import type { PublisherClient } from '../../../support/publisher-client.ts'
import type { WireMessage } from '../../../support/publishing-engine.ts'
import { PulledFeed } from '../../../support/pulled-feed.ts'
import { Random } from '../../../support/random.ts'
import { type KrakenRecording, krakenBtcUsd, krakenEthUsd, krakenFloats } from '../../../support/recordings.ts'
import { type PublishedEngine, TestPublisher } from '../../../support/test-publisher.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'
import { Waiters } from '../../../support/waiters.ts'
import { Stage } from '../../ingest/stage.ts'

const { createBook, read } = KRAKEN.createProtocol(KRAKEN.exchanges[0])
const folder = mkdtempSync(join(tmpdir(), 'tidegate-recorded-'))
afterAll(() => rmSync(folder, { recursive: true }))

const EXECUTED_AT = '2026-11-20T12:00:00.123Z'

function marketOf({ pricePrecision, quantityPrecision }: KrakenRecording): MarketDefinition {
  const decimals = { priceDecimals: pricePrecision, amountDecimals: quantityPrecision }
  return { symbol: 'BTCUSD', baseAsset: 'BTC', quoteAsset: 'USD', depth: 0, ...decimals }
}

/** The events of a recording, by the venue's own protocol. */
function eventsOf(recording: KrakenRecording): MarketEvent[] {
  const { symbol, depth, pricePrecision, quantityPrecision } = recording
  const listing = { symbol, priceDecimals: pricePrecision, amountDecimals: quantityPrecision, status: 'online' }
  const book = createBook({ listing: { ...listing, state: 'open' }, depth, priceMaximum: Number.MAX_SAFE_INTEGER })
  const events: MarketEvent[] = []
  for (const { text } of recording.frames) {
    for (const message of read(text)) {
      if (message.kind !== 'book') continue
      const step = book.apply(message.data)
      if (step.kind === 'snapshot') events.push({ type: 'snapshot', levels: step.levels })
      if (step.kind === 'update') events.push({ type: 'update', changes: step.changes, executions: [tradeOf(events)] })
    }
  }
  return events
}

function tradeOf(events: readonly MarketEvent[]) {
  const number = 1 + events.filter(({ type }) => type === 'update').length
  const sides = [{}, { side: 'buy' }, { side: 'sell' }] as const
  const trade = { price: number, amount: 1 + number, id: `T-${number}`, ...sides[number % sides.length] }
  return { ...trade, executedAtMilliseconds: Date.parse(EXECUTED_AT) }
}

/** An engine that publishes these events one by one. */
class RecordedEngine implements PublishedEngine {
  readonly symbol = 'BTCUSD'
  readonly epoch = 'recorded'
  readonly #market: MarketDefinition
  readonly #events: readonly MarketEvent[]
  /** The events that were published. */
  seq = 0

  constructor(market: MarketDefinition, events: readonly MarketEvent[]) {
    this.#market = market
    this.#events = events
  }

  get hasEnded(): boolean {
    return this.seq === this.#events.length - 1
  }

  /** The next event after the first. */
  next(): WireMessage {
    this.seq++
    return this.#message(this.#events[this.seq] as MarketEvent)
  }

  snapshot(): WireMessage {
    return this.#message(this.#events[0] as MarketEvent)
  }

  after(): undefined {
    return undefined
  }

  #message(event: MarketEvent): WireMessage {
    const { symbol, epoch, seq } = this
    const stream = { epoch, seq }
    const common = { market: symbol, time: '2026-11-20T12:00:00Z' }
    if (event.type === 'snapshot') {
      const { priceDecimals, amountDecimals } = this.#market
      const instrument = { price_decimals: priceDecimals, amount_decimals: amountDecimals, state: 'OPEN' }
      const payload = { ...common, type: 'SNAPSHOT', instrument, ...this.#levels(event.levels) }
      return { channel: 'publication', payload, stream: { epoch, seq, prev: Math.max(0, seq - 1) } }
    }
    if (event.type !== 'update') throw new Error(`a recording has no event ${event.type}`)
    const executions = event.executions.map(({ id, side, price, amount }) => {
      return { id, side, ...this.#level({ price, amount }), executed_at: EXECUTED_AT }
    })
    const payload = { ...common, type: 'UPDATE', ...this.#levels(event.changes), executions }
    return { channel: 'publication', payload, stream }
  }

  #levels(levels: readonly LevelChange[]) {
    const of = (side: number) => levels.filter((level) => level.side === side).map((level) => this.#level(level))
    return { bids: of(BID), asks: of(ASK) }
  }

  #level({ price, amount }: Pick<LevelChange, 'price' | 'amount'>) {
    const { priceDecimals, amountDecimals } = this.#market
    return { price: formatDecimal(price, priceDecimals), amount: formatDecimal(amount, amountDecimals) }
  }
}

/** A pipeline in which each event becomes one commit. */
function pipelineOf(market: MarketDefinition) {
  const line = new MarketPipeline([market])
  return {
    line,
    offer: (event: MarketEvent): void => {
      line.offer(0, event)
      line.clock.advance(2)
    },
    wire: () => Buffer.concat(line.wire[0] ?? []).toString(),
  }
}

function messagesOf(market: MarketDefinition, events: readonly MarketEvent[]): string[] {
  const engine = new RecordedEngine(market, events)
  const messages = [engine.snapshot()]
  while (!engine.hasEnded) messages.push(engine.next())
  return messages.map((message) => JSON.stringify(message))
}

/** An ingest listener with the market, whose events become commits. */
async function openIngest(market: MarketDefinition) {
  const stage = await Stage.open({}, market)
  onTestFinished(() => stage.close())
  const pushed = pipelineOf(market)
  stage.market('BTCUSD').onEvent = pushed.offer
  return { stage, pushed }
}

const LOSSES_SEED = 20_261_123
/** Messages that a line sends in 50 ms, and by how many of these groups the late line is behind: 200 ms. */
const GROUP = 5
const GROUP_MILLISECONDS = 50
const GROUPS_BEHIND = 4

/** Sends the messages by two lines, of which one loses a tenth of them once both have begun. */
async function pushTwice(
  stage: Stage,
  lines: { readonly early: PublisherClient; readonly late: PublisherClient },
  messages: readonly string[],
  lossy: 'early' | 'late',
): Promise<void> {
  const random = new Random(LOSSES_SEED)
  const send = (name: 'early' | 'late', group: number): void => {
    const start = Math.max(0, group * GROUP)
    for (const [index, message] of messages.slice(start, Math.max(0, (group + 1) * GROUP)).entries()) {
      const isLost = name === lossy && start + index > GROUP * GROUPS_BEHIND && random.chance(0.1)
      if (!isLost) lines[name].send(message)
    }
  }
  for (let group = 0; group * GROUP < messages.length + GROUPS_BEHIND * GROUP; group++) {
    send('early', group)
    send('late', group - GROUPS_BEHIND)
    // The early line is not read while it waits for the late one.
    await lines.late.untilRead()
    stage.clock.advance(GROUP_MILLISECONDS)
  }
}

/** What a line published, without what only a publication has: the position and the state that its engine reports. */
function served(line: { readonly published: readonly (readonly string[])[] }): string[][] {
  return line.published.map((texts) =>
    texts.map((text) => {
      if (!text.startsWith('{')) return text
      const { origin: _origin, instrument: _instrument, ...rest } = JSON.parse(text) as Record<string, unknown>
      return JSON.stringify(rest)
    }),
  )
}

describe.each([
  ['BTC/USD', krakenBtcUsd],
  ['ETH/USD', krakenEthUsd],
  ['BTC/USD without trailing zeros', krakenFloats],
] as const)('the recorded book of %s', (_, load) => {
  const recording = load()
  const market = marketOf(recording)
  const events = eventsOf(recording)
  const direct = pipelineOf(market)
  for (const event of events) direct.offer(event)

  it('a recorded book is served equally when an engine publishes it over a connection', async () => {
    const engine = new RecordedEngine(market, events)
    const publisher = await TestPublisher.start([engine])
    const pulled = pipelineOf(market)
    const feed = new PulledFeed(['BTCUSD'], { url: publisher.url }, market)
    feed.market.onEvent = pulled.offer
    await feed.until('the first book', () => feed.market.events.length === 1)
    while (!engine.hasEnded) publisher.publish(engine.next())
    await feed.until('all events', () => feed.market.events.length >= events.length)
    await feed.source.stop()
    await publisher.kill()
    expect(pulled.wire()).toBe(direct.wire())
    expect(served(pulled.line)).toEqual(served(direct.line))
    expect(events.length).toBeGreaterThan(50)
  })

  it('a recorded book is served equally when a publisher pushes it', async () => {
    const { stage, pushed } = await openIngest(market)
    const client = await stage.connect('engine')
    for (const message of messagesOf(market, events)) client.send(message)
    await stage.until('all events', () => stage.market('BTCUSD').events.length >= events.length)
    expect(pushed.wire()).toBe(direct.wire())
    expect(served(pushed.line)).toEqual(served(direct.line))
  })

  it.each([
    ['the late one', 'late'],
    ['the early one', 'early'],
  ] as const)(
    'a recorded book is served equally when two lines push it, 200 ms apart, and %s loses messages',
    async (_, lossy) => {
      const { stage, pushed } = await openIngest(market)
      const lines = { early: await stage.connect('engine'), late: await stage.connect('engine') }
      await pushTwice(stage, lines, messagesOf(market, events), lossy)
      await stage.until('all events', () => stage.market('BTCUSD').events.length >= events.length)
      expect(await stage.metric('tidegate_ingest_gaps_total{market="BTCUSD"}')).toBeGreaterThan(10)
      expect(stage.market('BTCUSD').missed).toBe(0)
      expect(pushed.wire()).toBe(direct.wire())
      expect(served(pushed.line)).toEqual(served(direct.line))
    },
  )

  it('a recorded book is served equally when a module publishes it', async () => {
    const path = join(folder, `${recording.symbol.replace('/', '-')}-${recording.pricePrecision}.mjs`)
    writeFileSync(
      path,
      `export const tidegate = 1
      export const hooks = {}
      export function createSource() {
        return { start: (listener) => hooks.start(listener), requestSnapshot() {}, async stop() {} }
      }`,
    )
    type Hooks = { start: (listener: (message: unknown) => void) => void }
    const { hooks } = (await import(pathToFileURL(path).href)) as { hooks: Hooks }
    const engine = new RecordedEngine(market, events)
    hooks.start = (listener) => {
      listener(engine.snapshot())
      while (!engine.hasEnded) listener(engine.next())
    }
    const published = pipelineOf(market)
    const waiters = new Waiters()
    let received = 0
    const listener = (event: MarketEvent): void => {
      published.offer(event)
      received++
      waiters.notify()
    }
    const markets = [{ market, venueSymbol: `${path}:BTCUSD`, listener }]
    const clock = new VirtualClock()
    const source = createModuleSource({
      markets,
      clock,
      random: () => 0.5,
      log: captureLog().log,
    })
    source.start()
    await waiters.until('all events', () => received >= events.length)
    await source.stop()
    expect(published.wire()).toBe(direct.wire())
  })
})

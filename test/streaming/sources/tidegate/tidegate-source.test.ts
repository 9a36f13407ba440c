import { afterEach, describe, expect, it } from 'vitest'
import { readPublication, type SnapshotMessage } from '../../../../src/streaming/sources/publication/message.ts'
import { PublicationReader } from '../../../../src/streaming/sources/publication/publication-reader.ts'
import { PublishingEngine, type WireMessage } from '../../../support/publishing-engine.ts'
import { FollowedMarket, PulledFeed } from '../../../support/pulled-feed.ts'
import { Random } from '../../../support/random.ts'
import { TestPublisher, type TestPublisherOptions } from '../../../support/test-publisher.ts'
import { NodeClock } from '../../../support/virtual-clock.ts'
import { Waiters } from '../../../support/waiters.ts'

const SILENCE_MILLISECONDS = 15_000

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

function engine(symbol: string, more: { publishesOrders?: boolean; simulated?: boolean; keptMax?: number } = {}) {
  return new PublishingEngine({ symbol, random: new Random(7), publishesOrders: false, keptMax: 100, ...more })
}

async function publish(engines: readonly PublishingEngine[], options: TestPublisherOptions = {}) {
  const publisher = await TestPublisher.start(engines, options)
  opened.push(() => publisher.kill())
  return publisher
}

function pull(symbols: readonly string[], options: ConstructorParameters<typeof PulledFeed>[1]) {
  const feed = new PulledFeed(symbols, options)
  opened.push(() => feed.source.stop())
  return feed
}

/** A publisher of BTCUSD with a few messages, pulled and trusted. */
async function pullOne(more: Parameters<typeof engine>[1] = {}, publisherOptions: TestPublisherOptions = {}) {
  const btc = engine('BTCUSD', more)
  for (let count = 0; count < 5; count++) btc.step()
  const publisher = await publish([btc], publisherOptions)
  const feed = pull(['BTCUSD'], { url: publisher.url })
  const { market } = feed
  const send = (): void => publisher.publish(btc.step())
  const isCurrent = (): boolean => market.follower.isLive && same(market.follower.levels(), btc.levels())
  return { btc, publisher, feed, market, send, isCurrent }
}

function same(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): boolean {
  return left.size === right.size && [...left].every(([key, amount]) => right.get(key) === amount)
}

/** Time passes until the source connects again. */
async function reconnected(feed: PulledFeed, publisher: TestPublisher, connections = 1): Promise<void> {
  feed.clock.advance(1_000)
  await publisher.until('a connection', () => publisher.connections >= connections)
}

describe('a source that pulls', () => {
  it('a pulling source subscribes its markets and the heartbeat, and follows books and executions exactly', async () => {
    for (const publishesOrders of [false, true]) {
      const { btc, publisher, feed, market, send, isCurrent } = await pullOne({ publishesOrders })
      await feed.until('the book', isCurrent)
      expect(publisher.said).toEqual(['subscribe heartbeat', 'subscribe BTCUSD'])
      for (let count = 0; count < 50; count++) send()
      await feed.until('the last message', () => market.events.at(-1)?.type === 'update' && isCurrent())
      expect(market.follower.executions).toBeGreaterThan(0)
      expect(market.events.at(-1)).toMatchObject({ origin: `${btc.epoch}.${btc.seq}` })
      expect(feed.source.instrument(market)).toEqual({ state: 'OPEN', reason: '' })
      expect(feed.source.notices(market)).toEqual([])
    }
  })

  it('a pulling source continues after the last message when the connection was cut, and misses nothing', async () => {
    const { btc, publisher, feed, market, send, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    publisher.disconnectAll()
    await feed.until('the loss', () => !market.follower.isLive)
    expect(feed.source.instrument(market)).toBeUndefined()
    for (let count = 0; count < 20; count++) btc.step()
    await reconnected(feed, publisher)
    await feed.until('the book again', isCurrent)
    expect(publisher.said.at(-1)).toBe('subscribe BTCUSD run-1.5')
    expect(market.follower.missed).toBe(0)
    send()
  })

  it('a pulling source continues on a quiet market too', async () => {
    const { publisher, feed, market, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    publisher.disconnectAll()
    await feed.until('the loss', () => !market.follower.isLive)
    await reconnected(feed, publisher)
    await feed.until('the book again', isCurrent)
    expect(market.follower.missed).toBe(0)
  })

  it('a pulling source reports executions as missed when the publisher kept no messages, or was started again', async () => {
    for (const restarts of [false, true]) {
      const { btc, publisher, feed, market, send, isCurrent } = await pullOne()
      await feed.until('the book', isCurrent)
      while (market.follower.executions === 0) {
        send()
        await feed.until('the message', isCurrent)
      }
      await publisher.kill()
      await feed.until('the loss', () => !market.follower.isLive)
      for (let count = 0; count < 10; count++) btc.step()
      if (restarts) btc.restart()
      else publisher.forgets = true
      await publisher.listen()
      await reconnected(feed, publisher)
      await feed.until('the book again', isCurrent)
      expect(market.follower.missed).toBe(1)
    }
  })

  it('a pulling source subscribes again at its position after a gap, and misses nothing', async () => {
    for (const publishesOrders of [false, true]) {
      const { btc, publisher, feed, market, send, isCurrent } = await pullOne({ publishesOrders })
      await feed.until('the book', isCurrent)
      const tradesBefore = btc.trades
      for (let count = 0; count < 20; count++) btc.step()
      for (let count = 0; count < 3; count++) send()
      await feed.until('the loss', () => market.summary.some((event) => event.startsWith('lost')))
      await feed.until('the book again', isCurrent)
      expect(publisher.said.slice(2)).toEqual(['unsubscribe BTCUSD', 'subscribe BTCUSD run-1.5'])
      expect(market.summary).toContain('lost: the messages 6 to 25 are missing in epoch run-1')
      expect([market.follower.missed, market.follower.executions]).toEqual([0, btc.trades - tradesBefore])
      send()
      await feed.until('the next message', isCurrent)
    }
  })

  it('a pulling source asks for a new SNAPSHOT after a gap that the publisher has not kept, and reports one miss', async () => {
    const { btc, publisher, feed, market, send, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    publisher.forgets = true
    btc.step()
    send()
    await feed.until('the loss', () => market.follower.missed > 0)
    await feed.until('the book again', isCurrent)
    expect(publisher.said.slice(2)).toEqual(['unsubscribe BTCUSD', 'subscribe BTCUSD run-1.5'])
    send()
    await feed.until('the next message', isCurrent)
    expect(market.follower.missed).toBe(1)
  })

  it('a pulling source reports a gap that the publisher leaves again as missed, and is not asked for it without end', async () => {
    const { btc, publisher, feed, market, send, isCurrent } = await pullOne({ keptMax: 0 })
    await feed.until('the book', isCurrent)
    // It claims to resume, and has nothing to resume with.
    btc.after = () => []
    btc.step()
    send()
    await feed.until('the first answer', () => publisher.said.at(-1) === 'subscribe BTCUSD run-1.5')
    await feed.until('the book again', () => market.follower.isLive)
    send()
    await feed.until('the miss', () => market.follower.missed > 0)
    feed.clock.advance(2_000)
    await feed.until('the book of the SNAPSHOT', isCurrent)
    expect(publisher.said.slice(-2)).toEqual(['unsubscribe BTCUSD', 'subscribe BTCUSD'])
    expect(market.follower.missed).toBe(1)
  })

  it('a pulling source fetches the executions before a SNAPSHOT that it needed, and misses none', async () => {
    const { btc, publisher, feed, market, send, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    feed.source.rebuild(market, 'the book is crossed')
    const tradesBefore = btc.trades
    for (let count = 0; count < 20; count++) btc.step()
    await feed.until('the book again', isCurrent)
    expect(publisher.said.slice(2)).toEqual([
      'unsubscribe BTCUSD',
      'subscribe BTCUSD',
      'unsubscribe BTCUSD',
      'subscribe BTCUSD run-1.5',
    ])
    expect([market.follower.missed, market.follower.executions]).toEqual([0, btc.trades - tradesBefore])
    send()
    await feed.until('the next message', isCurrent)
  })

  it('a pulling source continues where another process has followed the publication, with levels, orders, or no book', async () => {
    for (const publishesOrders of [false, true]) {
      for (const hasBook of [false, true]) {
        const btc = engine('BTCUSD', { publishesOrders })
        for (let count = 0; count < 5; count++) btc.step()
        const { market: definition } = new FollowedMarket(new Waiters(), 'BTCUSD')
        const reader = new PublicationReader({ market: definition })
        const [book] = reader.take(readPublication(btc.snapshot()) as SnapshotMessage).events
        const levels = book?.type === 'snapshot' ? book.levels : []
        const tradesBefore = btc.trades
        for (let count = 0; count < 20; count++) btc.step()
        const publisher = await publish([btc])
        const feed = pull([], { url: publisher.url })
        const market = new FollowedMarket(feed.waiters, 'BTCUSD')
        feed.source.add(market)
        const instrument = { state: 'OPEN', reason: '' } as const
        expect(
          feed.source.resume(market, [], { epoch: btc.epoch, seq: 5, instrument, ...(hasBook ? { levels } : {}) }),
        ).toBe(true)
        feed.clock.settle()
        await feed.until('the book', () => market.follower.isLive && same(market.follower.levels(), btc.levels()))
        expect([market.follower.missed, market.follower.executions]).toEqual([0, btc.trades - tradesBefore])
      }
    }
  })

  it('a pulling source waits longer before each further SNAPSHOT, so that a broken publisher gets a pause', async () => {
    const { btc, publisher, feed, market, send, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    const requests = () => publisher.said.filter((said) => said === 'unsubscribe BTCUSD').length
    for (let round = 1; round <= 3; round++) {
      btc.step()
      send()
      await feed.until('the loss', () => !market.follower.isLive)
      if (round > 1) {
        // The first request of a minute is made at once, later ones wait.
        publisher.heartbeat()
        expect(requests()).toBe(round - 1)
        feed.clock.advance(2_000 * round)
      }
      await feed.until('the book again', isCurrent)
      expect(requests()).toBe(round)
    }
  })

  it('a pulling source loses only the market whose message breaks a rule, and logs member and rule', async () => {
    const [btc, eth] = [engine('BTCUSD'), engine('ETHUSD')]
    const publisher = await publish([btc, eth])
    const feed = pull(['BTCUSD', 'ETHUSD'], { url: publisher.url })
    const [first, second] = feed.markets as [FollowedMarket, FollowedMarket]
    await feed.until('both books', () => first.follower.isLive && second.follower.isLive)
    publisher.publishText('BTCUSD', JSON.stringify(btc.step()).replace('"UPDATE"', '"CHANGE"'))
    await feed.until('the loss', () => first.events.some(({ type }) => type === 'lost'))
    await feed.until('the book again', () => first.follower.isLive)
    expect(second.summary).toEqual(['snapshot'])
    expect(feed.log.lines.join()).toContain('payload.type is not one of SNAPSHOT, UPDATE, INSTRUMENT, LOST')
    expect(publisher.connections).toBe(1)
  })

  it('a pulling source ends a connection on which a message for an unknown market breaks a rule', async () => {
    const { publisher, feed, market, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    publisher.publishText('BTCUSD', '{"channel":"publication","payload":{')
    await feed.until('the loss', () => !market.follower.isLive)
    await reconnected(feed, publisher)
    await feed.until('the book again', isCurrent)
  })

  it('a pulling source answers the pings of its publisher, and ends no connection on which pings arrive', async () => {
    const { publisher, feed, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    for (let round = 0; round < 3; round++) {
      feed.clock.advance(SILENCE_MILLISECONDS - 1)
      expect(await publisher.ping()).toEqual(['ping 0'])
    }
    expect([feed.market.follower.isLive, publisher.connections]).toEqual([true, 1])
  })

  it("a pulling source counts a publisher as dead when nothing arrives for 15 seconds, whatever its markets' state", async () => {
    const { btc, publisher, feed, market, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    publisher.publish(btc.setState('HALTED'))
    await feed.until('the state', () => feed.source.instrument(market)?.state === 'HALTED')
    expect(feed.source.notices(market)).toEqual(['engine reports BTCUSD as HALTED: the engine is HALTED'])
    expect(market.instrumentChanges).toBe(2)
    feed.clock.advance(SILENCE_MILLISECONDS - 1)
    expect(market.follower.isLive).toBe(true)
    feed.clock.advance(1)
    expect(market.summary.at(-1)).toBe('lost: engine: nothing arrived for 15 s')
  })

  it('a pulling source ends a connection without an answer', async () => {
    const btc = engine('BTCUSD')
    const publisher = await publish([btc])
    publisher.isMute = true
    const feed = pull(['BTCUSD'], { url: publisher.url })
    await publisher.until('the subscription', () => publisher.said.length === 2)
    feed.clock.advance(15_000)
    await feed.until('the loss', () => feed.market.events.length > 0)
    publisher.isMute = false
    await reconnected(feed, publisher)
    await feed.until('the book', () => feed.market.follower.isLive)
  })

  it('a pulling source shows the message of a refused subscription, and tries again', async () => {
    const btc = engine('BTCUSD')
    const publisher = await publish([btc])
    publisher.refused.set('BTCUSD', 'BTCUSD starts tomorrow')
    const feed = pull(['BTCUSD'], { url: publisher.url })
    const reason = 'lost: engine rejects the subscription to BTCUSD: BTCUSD starts tomorrow'
    await feed.until('the refusal', () => feed.market.summary.includes(reason))
    publisher.refused.clear()
    feed.clock.advance(5_000)
    await feed.until('the book', () => feed.market.follower.isLive)
  })

  it('a pulling source subscribes again when the publisher ends a subscription', async () => {
    const { publisher, feed, market, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    publisher.endSubscriptions('BTCUSD', 'the market was changed: subscribe again')
    await feed.until('the loss', () => !market.follower.isLive)
    feed.clock.advance(5_000)
    await feed.until('the book again', isCurrent)
  })

  it('a pulling source applies an earlier SNAPSHOT and the messages after it, without an execution twice', async () => {
    const { publisher, feed, market, send, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    for (let count = 0; count < 20; count++) send()
    await feed.until('the messages', isCurrent)
    publisher.forgets = true
    publisher.snapshotsBehind = 10
    publisher.disconnectAll()
    await feed.until('the loss', () => !market.follower.isLive)
    await reconnected(feed, publisher)
    await feed.until('the book again', isCurrent)
    expect(market.follower.missed).toBe(0)
  })

  it('a pulling source is lost while the publisher has lost its own book, and keeps the executions', async () => {
    const { btc, publisher, feed, market, send, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    publisher.publish(btc.lost('its own source is gone'))
    for (let count = 0; count < 10; count++) send()
    const executions = () => market.follower.executions
    await feed.until('the executions', () => executions() > 0 && !market.follower.isLive)
    expect(market.summary).toContain('lost: the publisher lost its book: its own source is gone')
    publisher.publish(btc.snapshot())
    await feed.until('the book again', isCurrent)
    expect(publisher.said).toHaveLength(2)
    expect(market.follower.missed).toBe(0)
  })

  it('a pulling source requests a SNAPSHOT when the digest in a heartbeat differs', async () => {
    const { btc, publisher, feed, market, isCurrent } = await pullOne()
    await feed.until('the book', isCurrent)
    publisher.heartbeat([{ market: 'BTCUSD', epoch: btc.epoch, seq: btc.seq, digest: '0000000000000001' }])
    await feed.until('the loss', () => market.events.some(({ type }) => type === 'lost'))
    await feed.until('the book again', isCurrent)
    expect(publisher.said.slice(2)).toEqual(['unsubscribe BTCUSD', 'subscribe BTCUSD'])
  })

  it('a pulling source requests a SNAPSHOT when the book breaks an invariant, also from within the listener', async () => {
    const { feed, market, publisher, isCurrent } = await pullOne()
    market.onEvent = (event) => {
      if (event.type === 'snapshot' && market.events.length === 1) feed.source.rebuild(market, 'the book is crossed')
    }
    await feed.until('the book again', () => market.events.filter(({ type }) => type === 'snapshot').length === 2)
    expect(market.summary).toEqual(['snapshot', 'lost: the book is crossed', 'snapshot'])
    expect(isCurrent()).toBe(true)
    expect(publisher.said.slice(2)).toEqual(['unsubscribe BTCUSD', 'subscribe BTCUSD'])
  })

  it('a pulling source adds and removes markets on the same connection', async () => {
    const [btc, eth] = [engine('BTCUSD'), engine('ETHUSD')]
    const publisher = await publish([btc, eth])
    const feed = pull(['BTCUSD'], { url: publisher.url })
    await feed.until('the first book', () => feed.market.follower.isLive)
    const added = new FollowedMarket(feed.waiters, 'ETHUSD')
    const finer = new FollowedMarket(feed.waiters, 'BTCUSD', { priceDecimals: 5 })
    feed.source.add(added)
    feed.source.add(finer)
    feed.clock.settle()
    await feed.until('all books', () => added.follower.isLive && finer.follower.isLive && feed.market.follower.isLive)
    publisher.publish(btc.step())
    publisher.publish(eth.step())
    await feed.until('the messages', () => same(finer.follower.levels(), btc.levels()))
    feed.source.remove(added)
    feed.source.remove(finer)
    const before = added.events.length + finer.events.length
    await publisher.until('the end', () => !publisher.isSubscribed('ETHUSD'))
    publisher.publish(btc.step())
    await feed.until('the message', () => same(feed.market.follower.levels(), btc.levels()))
    expect(added.events.length + finer.events.length).toBe(before)
    expect(publisher.isSubscribed('BTCUSD')).toBe(true)
  })

  it('a pulling source reports a simulated market as one, with the book that it has', async () => {
    const btc = engine('BTCUSD', { simulated: true })
    const publisher = await publish([btc])
    const feed = pull(['BTCUSD'], { url: publisher.url })
    await feed.until('the book', () => feed.market.follower.isLive)
    expect(feed.source.instrument(feed.market)).toEqual({ state: 'OPEN', reason: '', simulated: true })
  })

  it('a pulling source is lost where the engine has more decimals than the market', async () => {
    const btc = engine('BTCUSD')
    const publisher = await publish([btc])
    const feed = new PulledFeed(['BTCUSD'], { url: publisher.url }, { amountDecimals: 4 })
    opened.push(() => feed.source.stop())
    await feed.until('the loss', () => feed.market.events.length > 0)
    expect(feed.market.summary).toEqual([
      'lost: the publisher breaks a rule: payload.instrument.amount_decimals is 8, but the market BTCUSD has 4',
    ])
  })
})

describe('the credentials of a source that pulls', () => {
  it("a pulling source's token is sent in the handshake, and no log line or reason contains it", async () => {
    const btc = engine('BTCUSD')
    const publisher = await publish([btc], { token: 'correct-token' })
    const credentials = (text: string) => ({ kind: 'token', token: { text } }) as const
    const wrong = pull(['BTCUSD'], { url: publisher.url, credentials: credentials('wrong-secret-token') })
    await wrong.until('the refusal', () => wrong.market.events.length > 0)
    expect(wrong.market.summary).toEqual(['lost: engine: Unexpected server response: 401'])
    expect(wrong.log.lines.join()).not.toContain('secret')
    const feed = pull(['BTCUSD'], { url: publisher.url, credentials: credentials('correct-token') })
    await feed.until('the book', () => feed.market.follower.isLive)
    expect(publisher.authorizations).toEqual(['Bearer wrong-secret-token', 'Bearer correct-token'])
  })

  it("a pulling source's client of another Tidegate gets a new token for each connection", async () => {
    const btc = engine('BTCUSD')
    const publisher = await publish([btc], { client: { id: 'relay', secret: 'client-secret' } })
    const client = (text: string) =>
      ({ kind: 'client', clientId: 'relay', clientSecret: { text }, authUrl: publisher.authUrl }) as const
    const feed = pull(['BTCUSD'], { url: publisher.url, credentials: client('client-secret') })
    await feed.until('the book', () => feed.market.follower.isLive)
    publisher.disconnectAll()
    await feed.until('the loss', () => !feed.market.follower.isLive)
    await reconnected(feed, publisher)
    await feed.until('the book again', () => feed.market.follower.isLive)
    expect(publisher.authorizations).toEqual(['Bearer grant-1', 'Bearer grant-2'])
    expect(publisher.said).toContain('token exchange:read_aggregated_marketdata_stream')

    const wrong = pull(['BTCUSD'], { url: publisher.url, credentials: client('another-secret') })
    await wrong.until('the refusal', () => wrong.market.events.length > 0)
    expect(wrong.market.summary).toEqual([
      `lost: engine: no token: ${publisher.authUrl}/oauth2/token answered with 401 invalid_client`,
    ])
    expect(wrong.log.lines.join()).not.toContain('another-secret')
  })

  it("a pulling source's credentials in a file are read for each connection", async () => {
    const btc = engine('BTCUSD')
    const publisher = await publish([btc], { token: 'correct-token' })
    const credentials = { kind: 'token', token: { file: '/nonexistent/token' } } as const
    const feed = pull(['BTCUSD'], { url: publisher.url, credentials })
    await feed.until('the refusal', () => feed.market.events.length > 0)
    expect(feed.market.summary).toEqual([
      'lost: engine: the file of the token, /nonexistent/token, cannot be read: ENOENT',
    ])
  })
})

describe('a message that is read in parts', () => {
  /** Its text is longer than a message that is read at once may be. */
  const withNote = (message: WireMessage): WireMessage => ({
    ...message,
    payload: { ...message.payload, note: 'x'.repeat(200_000) },
  })

  it('a message that is read in parts is applied before later ones, and nothing of it after the connection has ended', async () => {
    const btc = engine('BTCUSD')
    for (let count = 0; count < 5; count++) btc.step()
    const snapshot = btc.snapshot.bind(btc)
    btc.snapshot = (seq?: number) => withNote(snapshot(seq))
    const publisher = await publish([btc])
    const feed = pull(['BTCUSD'], { url: publisher.url, clock: new NodeClock() })
    const { follower, events } = feed.market
    const isCurrent = (): boolean => follower.isLive && same(follower.levels(), btc.levels())
    await feed.until('the book', isCurrent)
    for (let count = 0; count < 30; count++) {
      const message = btc.step()
      publisher.publish(count % 10 === 3 ? withNote(message) : message)
    }
    await feed.until('the last message', () => events.length === 31 && isCurrent())
    expect(follower.missed).toBe(0)
    publisher.publish(withNote(btc.step()))
    publisher.disconnectAll()
    await feed.until('the loss', () => !follower.isLive)
    expect(follower.missed).toBe(0)
  })
})

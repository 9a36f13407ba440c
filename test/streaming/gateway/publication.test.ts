/**
 * The channel `publication`: its exact text, and a relay in its simplest form, which is paused, cut off at any message and
 * resumed, while the market changes, is lost, withdrawn and misses executions. After every message that completes a book
 * it must hold the book of that version, and no execution may be absent without a notice between its neighbours.
 */
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { ASK, BID, type Execution, type LevelChange } from '../../../src/streaming/market/event.ts'
import { propertySettings } from '../../support/property.ts'
import { type LiveClient, LiveStream, levels } from './live-stream.ts'

const MARKET = 'AAAUSD'

const subscribing = (resume?: string) => ({
  type: 'subscribe',
  channels: [{ type: 'publication', params: { market: MARKET, ...(resume === undefined ? {} : { resume }) } }],
})

function open(options: ConstructorParameters<typeof LiveStream>[0] = {}) {
  const stream = new LiveStream(options)
  const connect = (resume?: string, kernelBytes = 1_000_000) => {
    const client = stream.connect({ subprotocol: 'tidegate.v1', kernelBytes })
    return { client, texts: client.ask(subscribing(resume)) }
  }
  const sequencer = stream.sequencers.get(MARKET)!
  return { stream, connect, sequencer }
}

describe('the exact text', () => {
  test('a SNAPSHOT, an UPDATE with executions, an instrument change, a loss and the return have their exact text', () => {
    const { stream, connect, sequencer } = open()
    sequencer.setInstrument({ state: 'OPEN', reason: '', simulated: true })
    stream.snapshot()
    const { client, texts } = connect()
    const [answer, snapshot, ...none] = texts
    expect(none).toEqual([])
    expect(answer).toBe(
      '{"type":"subscribe","channels":[{"type":"publication","params":{"market":"AAAUSD"},"success":true}]}',
    )
    expect(snapshot).toBe(
      '{"channel":"publication","payload":{"instrument":{"price_decimals":2,"amount_decimals":4,"state":"OPEN","reason":"","simulated":true},' +
        '"market":"AAAUSD","type":"SNAPSHOT","time":"2026-01-01T00:00:00.001Z",' +
        '"bids":[{"price":"1.00","amount":"0.0010"}],"asks":[{"price":"2.00","amount":"0.0020"}]},' +
        '"stream":{"epoch":"aOLAjWsn","seq":8}}',
    )
    stream.update(
      [{ side: BID, price: 100, amount: 0 }],
      [
        { price: 100, amount: 5, id: 'T"1', side: 'sell', venue: 'kraken', executedAtMilliseconds: 1_767_225_600_000 },
        { price: 100, amount: 6 },
      ],
    )
    expect(client.read()).toEqual([
      '{"channel":"publication","payload":{"market":"AAAUSD","type":"UPDATE","time":"2026-01-01T00:00:00.003000000Z",' +
        '"bids":[{"price":"1.00","amount":"0"}],' +
        '"executions":[{"price":"1.00","amount":"0.0005","executed_at":"2026-01-01T00:00:00.000Z","id":"T\\"1","side":"sell","venue":"kraken"},' +
        '{"price":"1.00","amount":"0.0006","executed_at":"2026-01-01T00:00:00.003Z","id":"3zWplfC2.2"}]},' +
        '"stream":{"epoch":"aOLAjWsn","seq":12,"prev":8}}',
    ])
    stream.clock.advance(1)
    sequencer.setInstrument({ state: 'HALTED', reason: 'cancel_only' })
    stream.clock.advance(1)
    expect(client.read()).toEqual([
      '{"channel":"publication","payload":{"market":"AAAUSD","type":"UPDATE","time":"2026-01-01T00:00:00.005000000Z",' +
        '"instrument":{"price_decimals":2,"amount_decimals":4,"state":"HALTED","reason":"cancel_only","simulated":false}},' +
        '"stream":{"epoch":"aOLAjWsn","seq":16,"prev":12}}',
    ])
    stream.lose()
    stream.update([], [{ price: 100, amount: 7, id: 'T3' }])
    expect(client.read()).toEqual([
      '{"channel":"publication","payload":{"market":"AAAUSD","type":"LOST","time":"2026-01-01T00:00:00.005000000Z","reason":"the test says so"},' +
        '"stream":{"epoch":"aOLAjWsn","seq":16}}',
      '{"channel":"publication","payload":{"market":"AAAUSD","type":"UPDATE","time":"2026-01-01T00:00:00.007000000Z",' +
        '"executions":[{"price":"1.00","amount":"0.0007","executed_at":"2026-01-01T00:00:00.007Z","id":"T3"}]},' +
        '"stream":{"epoch":"aOLAjWsn","seq":17,"prev":16}}',
    ])
    stream.snapshot()
    const [returned] = client.read()
    expect(returned).toContain('"type":"SNAPSHOT"')
    expect(returned).toContain('"stream":{"epoch":"aOLAjWsn","seq":24,"prev":17}')
  })

  test('numbers ascend where a lagging relay is notified of a miss after a commit that publishes nothing', () => {
    const { stream, connect } = open({ settings: { outboxBytesMax: 2_000 } })
    stream.snapshot()
    const { client } = connect(undefined, 100)
    stream.lose()
    for (let count = 0; count < 20; count++) {
      stream.update([], [{ price: 100, amount: 1, id: `T${count}` }])
      stream.clock.advance(1)
    }
    stream.miss()
    stream.snapshot()
    const numbers = client.read().map((text) => (JSON.parse(text) as { stream: { seq: number } }).stream.seq)
    // The miss is in version 22, and version 23 has the same book.
    expect(numbers.slice(-2)).toEqual([85, 88])
    expect(numbers).toEqual(numbers.toSorted((left, right) => left - right))
  })

  test('a change of nothing that is published sends no message', () => {
    const { stream, connect } = open({ depth: 1 })
    stream.snapshot()
    const { client } = connect()
    stream.update([{ side: BID, price: 90, amount: 3 }])
    expect(client.read()).toEqual([])
  })
})

describe('a relay that was cut off', () => {
  const afterSnapshot = () => {
    const parts = open({ depth: 0 })
    parts.stream.snapshot()
    const { client } = parts.connect()
    client.session.end()
    return parts
  }

  it('a relay that was cut off resumes with one message that has all changes and executions since', () => {
    const { stream, connect } = afterSnapshot()
    for (const price of [90, 91])
      stream.update([{ side: BID, price, amount: 3 }], [{ price: 100, amount: 1, id: `T${price}` }])
    const [answer, update, ...none] = connect('aOLAjWsn.4').texts
    expect(answer).toContain('"success":true,"resumed":true')
    expect(JSON.parse(update!)).toMatchObject({
      payload: { bids: [{ price: '0.91' }, { price: '0.90' }], executions: [{ id: 'T90' }, { id: 'T91' }] },
      stream: { seq: 12, prev: 4 },
    })
    expect(none).toEqual([])
    expect(connect('aOLAjWsn.12').texts).toHaveLength(1)
  })

  it('a relay that was cut off gets its executions and a SNAPSHOT when the changes are not kept any more', () => {
    const { stream, connect } = afterSnapshot()
    for (let round = 0; round < 6_000; round++) {
      stream.update(
        [{ side: BID, price: 90, amount: 1 + (round % 2) }],
        round === 10 ? [{ price: 100, amount: 1, id: 'T' }] : [],
      )
    }
    const [answer, executions, snapshot] = connect('aOLAjWsn.4').texts
    expect(answer).toContain('"resumed":true')
    expect(JSON.parse(executions!)).toMatchObject({
      payload: { type: 'UPDATE', executions: [{ id: 'T' }] },
      stream: { seq: 45, prev: 4 },
    })
    expect(JSON.parse(snapshot!)).toMatchObject({ payload: { type: 'SNAPSHOT' }, stream: { seq: 24_004, prev: 45 } })
    // Cut off between the two, it has the executions but not the book.
    const [again, only, ...none] = connect('aOLAjWsn.45').texts
    expect(again).toContain('"resumed":true')
    expect(JSON.parse(only!)).toMatchObject({ payload: { type: 'SNAPSHOT' }, stream: { prev: 45 } })
    expect(none).toEqual([])
  })

  it('a relay that resumes after its gateway has withdrawn the book without the sequencer misses no execution', () => {
    const { stream, connect } = afterSnapshot()
    for (const id of ['T2', 'T3']) stream.update([], [{ price: 100, amount: 1, id }])
    const replica = stream.replicas.get(MARKET)!
    const state = replica.state('', 0)!
    const next = () => ({ market: MARKET, milliseconds: replica.instant.milliseconds + 1, nanoseconds: 0 })
    stream.lose()
    stream.bus.publish({ type: 'withdrawal', ...next() })
    const parsed = (texts: readonly string[]) => texts.slice(1).map((text) => JSON.parse(text))
    const { client, texts } = connect('aOLAjWsn.4')
    expect(parsed(texts)).toMatchObject([
      { payload: { type: 'LOST' }, stream: { seq: 4 } },
      { payload: { executions: [{ id: 'T2' }, { id: 'T3' }] }, stream: { seq: 9, prev: 4 } },
    ])
    stream.bus.publish({ ...state, ...next(), version: 4, executions: [] })
    const back = { payload: { type: 'SNAPSHOT' }, stream: { seq: 16, prev: 9 } }
    expect(client.readMessages()).toMatchObject([back])
    expect(parsed(connect('aOLAjWsn.8').texts)).toMatchObject([
      { payload: { executions: [{ id: 'T3' }] }, stream: { seq: 9, prev: 8 } },
      back,
    ])
    expect(parsed(connect('aOLAjWsn.16').texts)).toEqual([])
  })

  it('a relay’s first message in another epoch names none of the epoch before', () => {
    const { stream, connect } = open({ depth: 0 })
    stream.snapshot()
    for (const id of ['T2', 'T3']) stream.update([], [{ price: 100, amount: 1, id }])
    const { client } = connect()
    const replica = stream.replicas.get(MARKET)!
    stream.lose()
    const first = { market: MARKET, epoch: 'zz', version: 1 }
    stream.bus.publish({
      type: 'commit',
      ...first,
      milliseconds: replica.instant.milliseconds + 1,
      nanoseconds: 0,
      receivedMilliseconds: 0,
      changes: levels([[101, 10]], [[200, 20]]),
      executions: [{ price: 100, amount: 1, id: 'T4' }],
      executionNumber: 1,
      continues: replica.followed!,
      beginsBook: true,
    })
    stream.bus.publish({ type: 'status', ...first, live: true, reason: '' })
    const sent = client.readMessages() as unknown as { payload: object; stream: { epoch: string; prev?: number } }[]
    expect(sent).toMatchObject([
      { payload: { type: 'LOST' }, stream: { epoch: 'aOLAjWsn', seq: 12 } },
      { payload: { type: 'UPDATE', executions: [{ id: 'T4' }] }, stream: { seq: 1 } },
      { payload: { type: 'SNAPSHOT' }, stream: { epoch: sent[1]?.stream.epoch, seq: 4, prev: 1 } },
    ])
    expect(sent[1]?.stream).not.toHaveProperty('prev')
    expect(sent[1]?.stream.epoch).not.toBe('aOLAjWsn')
  })

  it('a relay does not resume after another epoch, an unknown number, or executions that are not kept', () => {
    const { stream, connect } = afterSnapshot()
    stream.update([], [{ price: 100, amount: 1 }])
    for (const resume of ['another1.4', 'aOLAjWsn.6', 'aOLAjWsn.0', 'aOLAjWsn.12', 'aOLAjWsn.x']) {
      const [answer, snapshot] = connect(resume).texts
      expect(answer, resume).toContain('"resumed":false')
      expect(snapshot, resume).toContain('"stream":{"epoch":"aOLAjWsn","seq":8}')
    }
    stream.miss()
    stream.clock.advance(1)
    expect(connect('aOLAjWsn.8').texts[0]).toContain('"resumed":false')
    expect(connect('aOLAjWsn.12').texts[0]).toContain('"resumed":true')
  })
})

describe('the channel', () => {
  it('the publication channel is unknown in the base protocol', () => {
    const { stream } = open()
    stream.snapshot()
    expect(stream.connect().ask(subscribing())).toEqual([
      '{"type":"subscribe","channels":[{"type":"publication","params":{"market":"AAAUSD"},"success":false,"error":"UNKNOWN_CHANNEL",' +
        '"message":"the channel type must be one of market_data, market_data.top_of_book, execution_data, heartbeat"}]}',
    ])
  })

  it("the publication channel names its book's origin in heartbeats, which a relay passes on", () => {
    const { stream, sequencer } = open({ settings: { heartbeatSeconds: 1 } })
    stream.snapshot()
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    const book = { type: 'market_data', params: { market: MARKET } }
    client.ask({ type: 'subscribe', channels: [book, { type: 'heartbeat' }] })
    const origin = () => {
      client.read()
      stream.clock.advance(1_000)
      const heartbeat = client.readMessages().find(({ channel }) => channel === 'heartbeat') as unknown as {
        payload: { books: { origin?: string; instrument_state?: string }[] }
      }
      const [status] = heartbeat.payload.books
      return [status?.origin, status?.instrument_state]
    }
    expect(origin()).toEqual(['aOLAjWsn.4', undefined])
    sequencer.setInstrument({ state: 'CLOSED', reason: 'night' })
    expect(origin()).toEqual(['aOLAjWsn.8', 'CLOSED'])
    sequencer.offer({ type: 'update', changes: [{ side: BID, price: 90, amount: 1 }], executions: [], origin: 'run.7' })
    expect(origin()).toEqual(['run.7', 'CLOSED'])
    stream.lose()
    expect(origin()).toEqual([undefined, 'CLOSED'])
  })
})

/** A relay in its simplest form. It fails on a message that does not follow the one before. */
class NaiveRelay {
  readonly book = new Map<string, string>()
  /** Identifiers of executions in order; `null` where some were missed. */
  readonly executions: (string | null)[] = []
  seq: number | undefined
  epoch = ''
  isLive = false
  instrument: string | undefined

  take(text: string, bookAt: (seq: number) => string | undefined): void {
    const { channel, payload, stream } = JSON.parse(text) as {
      channel?: string
      // biome-ignore lint/suspicious/noExplicitAny: the members depend on the type.
      payload: any
      stream: { epoch: string; seq: number; prev?: number }
    }
    if (channel !== 'publication') return
    this.epoch = stream.epoch
    if (payload.type === 'LOST') {
      expect(stream.seq).toBe(this.seq ?? 0)
      this.isLive = false
      return
    }
    expect(stream.prev).toBe(this.seq)
    if (this.seq !== undefined) expect(stream.seq).toBeGreaterThanOrEqual(this.seq)
    if (payload.type === 'UPDATE') expect(stream.seq).toBeGreaterThan(this.seq ?? 0)
    this.seq = stream.seq
    if (payload.missed !== undefined) this.executions.push(null)
    for (const { id } of payload.executions ?? []) this.executions.push(id)
    if (payload.instrument !== undefined) this.instrument = payload.instrument.state
    if (payload.type === 'SNAPSHOT') {
      this.book.clear()
      this.isLive = true
    }
    for (const side of ['bids', 'asks']) {
      for (const { price, amount } of payload[side] ?? []) {
        if (amount === '0') expect(this.book.delete(`${side} ${price}`)).toBe(true)
        else this.book.set(`${side} ${price}`, amount)
      }
    }
    if (this.isLive && stream.seq % 4 === 0) expect(this.text).toBe(bookAt(stream.seq))
  }

  get text(): string {
    return [...this.book]
      .map(([level, amount]) => `${level} ${amount}`)
      .sort()
      .join()
  }
}

type Action =
  | { readonly type: 'update'; readonly seed: number; readonly executions: number }
  | { readonly type: 'miss' }
  | { readonly type: 'lose' }
  | { readonly type: 'snapshot' }
  | { readonly type: 'read' }
  | { readonly type: 'wait' }
  | { readonly type: 'instrument'; readonly isOpen: boolean }
  | { readonly type: 'cut'; readonly kept: number; readonly kernelBytes: number }

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ type: fc.constant('update' as const), seed: fc.nat(), executions: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.constantFrom<Action>({ type: 'miss' }, { type: 'lose' }, { type: 'wait' }) },
  { weight: 2, arbitrary: fc.constantFrom<Action>({ type: 'snapshot' }) },
  { weight: 3, arbitrary: fc.constant<Action>({ type: 'read' }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('instrument' as const), isOpen: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('cut' as const),
      kept: fc.nat(4),
      kernelBytes: fc.constantFrom(100, 2_000, 1_000_000),
    }),
  },
)

const bookText = (replicaLevels: readonly LevelChange[]) =>
  replicaLevels
    .map(({ side, price, amount }) => {
      const name = side === BID ? 'bids' : 'asks'
      return `${name} ${(price / 100).toFixed(2)} ${(Number(amount) / 10_000).toFixed(4)}`
    })
    .sort()
    .join()

test('a relay that is paused, cut off and resumed holds the right book and notices every missed execution', () => {
  const property = fc.property(
    fc.array(action, { minLength: 20, maxLength: 120 }),
    fc.constantFrom(3, 50),
    (actions, kept) => {
      const { stream, connect, sequencer } = open({ executionsKept: kept, settings: { outboxBytesMax: 2_000 } })
      const replica = stream.replicas.get(MARKET)!
      const books = new Map<number, string>()
      replica.listen({
        onCommit: () => books.set(replica.publication.seqAt(replica.version), bookText(replica.view.levels())),
        onStatus: () => undefined,
      })
      stream.snapshot(
        levels(
          [
            [100, 10],
            [99, 5],
          ],
          [
            [200, 20],
            [201, 7],
          ],
        ),
      )
      const relay = new NaiveRelay()
      const all: (string | null)[] = []
      let client: LiveClient = connect().client
      let unread: string[] = []
      client.session.end()
      const reconnect = (kernelBytes: number) => {
        // A relay that needs a SNAPSHOT does not resume.
        const resume = relay.seq === undefined || !relay.isLive ? undefined : `${relay.epoch}.${relay.seq}`
        const opened = connect(resume, kernelBytes)
        client = opened.client
        unread = opened.texts
        const [answer] = unread
        if (!answer!.includes('"resumed":true')) {
          relay.executions.push(null)
          relay.seq = undefined
          relay.isLive = false
        }
      }
      const take = (texts: readonly string[]) => {
        for (const text of texts) relay.take(text, (seq) => books.get(seq))
      }
      reconnect(1_000_000)
      take(unread)
      unread = []
      for (const step of actions) {
        if (step.type === 'update') {
          const side = step.seed % 2 === 0 ? BID : ASK
          const price = (side === BID ? 90 : 200) + (step.seed % 11)
          const executions: Execution[] = Array.from({ length: step.executions }, () => {
            const id = `t${all.length + 1}`
            all.push(id)
            return { price: 150, amount: 1, id }
          })
          stream.update([{ side, price, amount: step.seed % 4 }], executions)
        } else if (step.type === 'miss') stream.miss()
        else if (step.type === 'lose') stream.lose()
        else if (step.type === 'wait') stream.clock.advance(20_000)
        else if (step.type === 'snapshot')
          stream.snapshot(
            levels(
              [
                [100, 3],
                [98, 5],
              ],
              [[200, 20]],
            ),
          )
        else if (step.type === 'instrument')
          sequencer.setInstrument({ state: step.isOpen ? 'OPEN' : 'HALTED', reason: '' })
        else if (step.type === 'read') take(client.read())
        else {
          take(client.read().slice(0, step.kept))
          client.session.end()
          reconnect(step.kernelBytes)
          take(unread)
          unread = []
        }
        stream.clock.advance(1)
      }
      stream.snapshot(
        levels(
          [
            [100, 3],
            [97, 5],
          ],
          [[203, 20]],
        ),
      )
      take(client.read())
      expect(relay.isLive).toBe(true)
      expect(relay.text).toBe(bookText(replica.view.levels()))
      expect(relay.instrument).toBe(replica.instrument?.state)
      // Every execution once, in order; where some are absent, a notice is between their neighbours.
      let expected = 0
      let isNoticed = true
      for (const id of relay.executions) {
        if (id === null) {
          isNoticed = true
          continue
        }
        const place = all.indexOf(id, expected)
        expect(place, id).not.toBe(-1)
        if (!isNoticed) expect(place, id).toBe(expected)
        expected = place + 1
        isNoticed = false
      }
      if (!isNoticed) expect(expected).toBe(all.length)
    },
  )
  fc.assert(property, propertySettings(300))
})

/** The channel `events`: its exact text, scopes, sequences to begin after, slow clients and an unavailable store. */
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { EventFeed } from '../../../src/access/events/event-feed.ts'
import type { CustomerEvent } from '../../../src/access/events/read.ts'
import type { Scope } from '../../../src/contract/scopes.ts'
import { changeTransfers, insertTransfers } from '../../../src/money/transfers/store.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { StoreUnavailable } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { type EventSource, EventStreams } from '../../../src/streaming/gateway/event-subscription.ts'
import type { Session } from '../../../src/streaming/gateway/session.ts'
import { SessionServer } from '../../../src/streaming/gateway/session-server.ts'
import { once, until } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { ANY_TOKEN } from '../../support/fake-transport.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { NodeClock, VirtualClock } from '../../support/virtual-clock.ts'
import { type LiveClient, LiveStream } from './live-stream.ts'

const SCOPES: readonly Scope[] = ['events:read_event', 'transfer:read_transfer']

let node: RestNode
let feed: EventFeed
/** The feed's: it polls when the test advances it. */
const clock = new VirtualClock()
beforeAll(async () => {
  node = await RestNode.open()
  feed = new EventFeed({ db: node.db, clock, log: captureLog().log })
})
afterAll(async () => {
  await feed?.stop()
  await node?.close()
})

/** Makes events, one for each new transfer. Returns the transfers' ids. */
async function write({ customerId }: RestCustomer, count = 1): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, newId)
  await node.db.transaction((transaction) =>
    insertTransfers(
      transaction,
      ids.map((id) => ({
        id,
        customerId,
        profileId: newId(),
        accountId: null,
        asset: 'USDC',
        amount: 1n,
        direction: 'CREDIT',
        type: 'CRYPTO_DEPOSIT',
        status: 'PENDING',
        groupId: newId(),
        createdAt: '2026-11-28T10:00:00.000Z',
      })),
    ),
  )
  return ids
}

interface Opened {
  readonly who: RestCustomer
  readonly source?: EventSource
  readonly scopes?: readonly string[]
  readonly kernelBytes?: number
  readonly subprotocol?: string
}

function open({ who, source = feed, scopes = SCOPES, kernelBytes, subprotocol = 'tidegate.v1' }: Opened) {
  const stream = new LiveStream({ events: new EventStreams(source, node.directory) })
  stream.snapshot()
  const { customerId, clientId } = who
  const token = { customerId, clientId, scopes: new Set(scopes) }
  return {
    stream,
    client: stream.connect({ subprotocol, token, ...(kernelBytes === undefined ? {} : { kernelBytes }) }),
  }
}

const connect = (opened: Opened) => open(opened).client

/** Collects what the client reads, at least this number of texts. */
async function texts(client: LiveClient, count: number): Promise<readonly string[]> {
  const all: string[] = []
  await until(`${count} messages`, () => all.push(...client.read()) > 0 && all.length >= count)
  return all
}

const subscribing = (params?: unknown) => ({ type: 'subscribe', channels: [{ type: 'events', params }] })
const answerOf = (text: string | undefined) => JSON.parse(text as string).channels[0]
const sequencesOf = (messages: readonly string[]): readonly number[] =>
  messages
    .map((text) => JSON.parse(text))
    .flatMap(({ channel, payload }) => (channel === 'events' ? payload.sequence : []))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)

async function subscribe(client: LiveClient, params?: unknown) {
  client.receive(subscribing(params))
  const [answer, ...events] = await texts(client, 1)
  return { answer: answerOf(answer), events }
}

describe('the channel events', () => {
  it('an event is sent with the text that the REST API shows, after the acknowledgement', async () => {
    const who = await node.newCustomer()
    const [id] = await write(who)
    const client = connect({ who })
    client.receive(subscribing({ after: 1 }))
    const [answer, event] = await texts(client, 2)
    expect(answer).toBe('{"type":"subscribe","channels":[{"type":"events","params":{"after":1},"success":true}]}')
    expect(event).toMatch(/^\{"channel":"events","payload":\{"id":/)
    const { text } = await who.call('GET', '/v2/events?after=1')
    expect(text).toContain(event!.slice('{"channel":"events","payload":'.length, -1))
    expect(JSON.parse(event!).payload.data.id).toBe(id)
    client.receive({ type: 'subscription_list' })
    expect(await texts(client, 1)).toEqual(['{"type":"subscription_list","channels":[{"type":"events"}]}'])
  })

  it('without after, events follow from the subscription on, and none after the unsubscription', async () => {
    const who = await node.newCustomer()
    await write(who, 3)
    const client = connect({ who })
    const { answer, events } = await subscribe(client)
    expect([answer, events]).toEqual([{ type: 'events', success: true, last_sequence: 4 }, []])
    const [id] = await write(who)
    expect(sequencesOf(await texts(client, 1))).toEqual([5])
    await node.db.transaction((transaction) => changeTransfers(transaction, [{ id: id!, status: 'COMPLETED' }]))
    expect(sequencesOf(await texts(client, 1))).toEqual([6])
    client.receive({ type: 'unsubscribe', channels: [{ type: 'events' }] })
    expect(answerOf((await texts(client, 1))[0])).toEqual({ type: 'events', success: true })
    await write(who)
    await feed.settled()
    expect(client.read()).toEqual([])
    expect((await subscribe(client, { after: 6 })).answer.success).toBe(true)
    expect(sequencesOf(await texts(client, 1))).toEqual([7])
  })

  it('requests behind a subscription to events are answered after it', async () => {
    const who = await node.newCustomer()
    const client = connect({ who })
    client.receive({
      type: 'subscribe',
      channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }, { type: 'events' }],
    })
    client.receive({ type: 'subscription_list' })
    expect(client.taken()).toEqual([])
    const all = (await texts(client, 3)).map((text) => JSON.parse(text))
    expect(all.map(({ type, payload }) => type ?? payload.type)).toEqual(['subscribe', 'subscription_list', 'SNAPSHOT'])
    expect(all[1].channels).toHaveLength(2)
    const twice = await subscribe(client)
    expect(twice.answer).toMatchObject({ success: false, error: 'NO_EFFECT_ACTION' })
  })

  it('a wrong param, the base protocol and a second entry are refused', async () => {
    const who = await node.newCustomer()
    const client = connect({ who })
    for (const params of [{ after: -1 }, { after: 1.5 }, { after: '1' }, { after: null }, { market: 'AAAUSD' }, 1]) {
      const { answer } = await subscribe(client, params)
      expect([params, answer.error]).toEqual([params, 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION'])
    }
    client.receive({ type: 'subscribe', channels: [{ type: 'events' }, { type: 'events', params: { after: 0 } }] })
    const [both] = await texts(client, 1)
    expect(JSON.parse(both!).channels.map(({ error }: { error?: string }) => error)).toEqual([
      undefined,
      'NO_EFFECT_ACTION',
    ])
    const base = connect({ who, subprotocol: '' })
    expect((await subscribe(base)).answer.error).toBe('UNKNOWN_CHANNEL')
  })
})

describe('scopes', () => {
  it('a token or a client without the scope cannot follow events', async () => {
    const who = await node.newCustomer()
    const { answer } = await subscribe(connect({ who, scopes: ['transfer:read_transfer'] }))
    expect(answer).toEqual({
      type: 'events',
      success: false,
      error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
      message: 'the channel events needs the scope events:read_event, in the token and for its client',
    })
    const other = await node.newCustomer(['transfer:read_transfer'])
    expect((await subscribe(connect({ who: other }))).answer.success).toBe(false)
  })

  it('a client sees the events whose objects its scopes read', async () => {
    const who = await node.newCustomer(['events:read_event'])
    await write(who, 2)
    const client = connect({ who })
    client.receive(subscribing({ after: 0 }))
    expect(sequencesOf(await texts(client, 2))).toEqual([1])
    await node.operator('PATCH', `/clients/${who.clientId}`, { scopes: [...SCOPES] })
    await until('the new scopes', () => node.directory.client(who.clientId)?.scopes.size === 2)
    await write(who)
    expect(sequencesOf(await texts(client, 1))).toEqual([4])
  })

  it('a subscription ends when the scope is withdrawn, and the connection stays open', async () => {
    const who = await node.newCustomer()
    const client = connect({ who })
    await subscribe(client)
    await node.operator('PATCH', `/clients/${who.clientId}`, { scopes: ['transfer:read_transfer'] })
    const [notice] = await texts(client, 1)
    expect(JSON.parse(notice!)).toEqual({
      type: 'unsubscribe',
      channels: [
        {
          type: 'events',
          success: true,
          error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
          message: 'the channel events needs the scope events:read_event, in the token and for its client',
        },
      ],
    })
    await write(who)
    await feed.settled()
    client.receive({ type: 'subscription_list' })
    expect(await texts(client, 1)).toEqual(['{"type":"subscription_list","channels":[]}'])
  })

  it('a change that closes the session ends its subscription once', async () => {
    const who = await node.newCustomer()
    const { stream, client } = open({ who })
    const endListening = node.directory.onChange(({ clientIds }) => {
      if (clientIds.has(who.clientId)) client.session.end()
    })
    await subscribe(client)
    expect(await stream.registry.metrics()).toContain('tidegate_subscriptions{channel="events"} 1')
    await node.operator('PATCH', `/clients/${who.clientId}`, { scopes: [] })
    await until('the change', () => node.directory.client(who.clientId)?.scopes.size === 0)
    endListening()
    expect(await stream.registry.metrics()).toContain('tidegate_subscriptions{channel="events"} 0')
  })
})

describe('events that are no longer kept', () => {
  const deleteTo = ({ customerId }: RestCustomer, sequence: number) =>
    sql`delete from events where customer_id = ${customerId} and sequence <= ${sequence}`.execute(node.db.tables())

  it('a subscription after an expired sequence is refused with the oldest kept one', async () => {
    const who = await node.newCustomer()
    await write(who, 5)
    await deleteTo(who, 3)
    const client = connect({ who })
    const { answer } = await subscribe(client, { after: 2 })
    expect(answer).toEqual({
      type: 'events',
      params: { after: 2 },
      success: false,
      error: 'events_expired',
      message: 'the oldest event kept has the sequence 4',
      oldest_sequence: 4,
    })
    // Known from before the store was restored to an earlier time.
    const later = await subscribe(client, { after: 7 })
    expect(later.answer).toMatchObject({ error: 'events_expired', oldest_sequence: 4 })
    await subscribe(client, { after: 3 })
    expect(sequencesOf(await texts(client, 3))).toEqual([4, 5, 6])
  })

  it('a subscription ends when its next events expire before they could be sent', async () => {
    const who = await node.newCustomer()
    // From the first read on, which would send the events if it came after they are written.
    let isDown = true
    const start: EventSource['start'] = (customerId, after) => feed.start(customerId, after)
    const client = connect({ who, source: { ...failing(() => isDown), start } })
    await subscribe(client)
    await write(who, 3)
    await deleteTo(who, 2)
    isDown = false
    await write(who)
    const [notice] = await texts(client, 1)
    expect(answerOf(notice)).toMatchObject({ type: 'events', error: 'events_expired', oldest_sequence: 3 })
  })
})

/** The feed, unavailable at times. */
function failing(isDown: () => boolean): EventSource {
  const checked = <Result>(call: () => Promise<Result>) =>
    isDown() ? Promise.reject(new StoreUnavailable('the test says so')) : call()
  return {
    start: (customerId, after) => checked(() => feed.start(customerId, after)),
    read: (customerId, after) => checked(() => feed.read(customerId, after)),
    follow: (customerId, follower) => feed.follow(customerId, follower),
  }
}

describe('a subscription after another one on the same connection', () => {
  it.each([
    ['an earlier sequence', 4, 0],
    ['a later sequence', 0, 4],
  ])(
    'a subscription from %s gets each event once, although a read of the one before it is still under way',
    async (_sequence, before, after) => {
      const who = await node.newCustomer()
      await write(who, 7)
      let endSlowRead: () => void = () => undefined
      const slowRead = new Promise<void>((resolve) => {
        endSlowRead = resolve
      })
      let reads = 0
      const source: EventSource = {
        ...failing(() => false),
        async read(customerId, from) {
          const isFirst = ++reads === 1
          const batch = await feed.read(customerId, from)
          if (isFirst) await slowRead
          return batch
        },
      }
      const client = connect({ who, source })
      await subscribe(client, { after: before })
      client.ask({ type: 'unsubscribe', channels: [{ type: 'events' }] })
      const { answer, events } = await subscribe(client, { after })
      expect(answer.success).toBe(true)
      endSlowRead()
      const received = [...events, ...(events.length < 8 - after ? await texts(client, 8 - after - events.length) : [])]
      expect(sequencesOf(received)).toEqual(range(after + 1, 8))
      expect(client.read()).toEqual([])
    },
  )
})

describe('an unavailable store', () => {
  it('a subscription waits for the store and misses nothing', async () => {
    const who = await node.newCustomer()
    let isDown = true
    const source = failing(() => isDown)
    const client = connect({ who, source })
    const { answer } = await subscribe(client)
    expect(answer).toMatchObject({ success: false, error: 'unavailable' })
    const { answer: resumed } = await subscribe(client, { after: 0 })
    expect(resumed.success).toBe(true)
    await write(who, 3)
    await feed.settled()
    expect(client.read()).toEqual([])
    isDown = false
    await write(who)
    clock.advance(5_000)
    expect(sequencesOf(await texts(client, 5))).toEqual(range(1, 5))
  })

  it('a lost announcement is found by the next poll', async () => {
    const who = await node.newCustomer()
    await write(who)
    const client = connect({ who })
    client.receive(subscribing({ after: 1 }))
    // With this event, the first read has ended, which would find the next one.
    await texts(client, 2)
    await sql`update event_counters set watched_until = '-infinity' where customer_id = ${who.customerId}`.execute(
      node.db.tables(),
    )
    await write(who)
    await subscribe(connect({ who: await node.newCustomer() }))
    expect(client.read()).toEqual([])
    clock.advance(5_000)
    expect(sequencesOf(await texts(client, 1))).toEqual([3])
  })

  it('an unexpected failure closes the connection alone', async () => {
    const who = await node.newCustomer()
    const client = connect({ who, source: { ...failing(() => false), read: () => Promise.reject(new Error('a bug')) } })
    await subscribe(client, { after: 0 })
    await until('the close', () => client.transport.closed !== undefined)
    expect(client.transport.closed?.code).toBe(1011)
  })
})

describe('a slow client', () => {
  it('a client that does not read costs one batch, and gets every event in order once it reads', async () => {
    const who = await node.newCustomer()
    for (let round = 0; round < 10; round++) await write(who, 200)
    let held = 0
    const source: EventSource = {
      ...failing(() => false),
      async read(customerId, after) {
        const batch = await feed.read(customerId, after)
        held += batch.events.reduce((sum: number, { text }: Pick<CustomerEvent, 'text'>) => sum + text.length, 0)
        return batch
      },
    }
    const { stream, client } = open({ who, source, kernelBytes: 1_000 })
    client.receive(subscribing({ after: 0 }))
    const settle = async () => {
      stream.clock.settle()
      await new Promise(setImmediate)
    }
    await until('a blocked outbox', () => !client.transport.isReading && client.transport.queuedBytes > 16_384, settle)
    const heldAsleep = held
    await write(who, 5)
    await feed.settled()
    expect(held).toBe(heldAsleep)
    // The high-water mark of this stream, and one batch.
    expect(client.transport.queuedBytesMost).toBeLessThan(16_384 + 60_000)
    expect(client.transport.closed).toBeUndefined()
    expect(sequencesOf(await texts(client, 2_007))).toEqual(range(1, 2_006))
  })

  it('a real socket that is not read holds bounded memory, and gets 15,000 events in order once it is', async () => {
    const who = await node.newCustomer()
    const count = 15_000
    await sql`insert into events
      select ${who.customerId}, at, 'transfer.deposit.pending', 'transfer', gen_random_uuid(), null, 'PENDING', now(), now()
      from generate_series(2, ${count}::int) as at`.execute(node.db.tables())
    await sql`update event_counters set last_sequence = ${count} where customer_id = ${who.customerId}`.execute(
      node.db.tables(),
    )
    const stream = new LiveStream({ clock: new NodeClock(), events: new EventStreams(feed, node.directory) })
    const { hub, clock: now } = stream
    const sessions = new SessionServer({ hub, clock: now, log: captureLog().log, inboundBytesMax: 65_536 })
    const token = { ...ANY_TOKEN, customerId: who.customerId, clientId: who.clientId, scopes: new Set(SCOPES) }
    let session: Session | undefined
    const server = createServer().on('upgrade', (request, socket, head) => {
      const accepted = { token, clientAddress: '127.0.0.1', request, socket: socket as Socket, head }
      session = sessions.open(accepted, () => undefined)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, ['tidegate.v1'])
    const received: string[] = []
    client.on('message', (data) => received.push(String(data)))
    await once(client, 'open')
    client.pause()
    client.send(JSON.stringify(subscribing({ after: 0 })))
    await until('a blocked outbox', () => session?.outbox.isBlocked === true)
    const sent = stream.metrics.totals.messages
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
    expect(session?.queuedBytes).toBeLessThan(16_384 + 60_000)
    expect(stream.metrics.totals.messages).toBe(sent)
    expect(sent).toBeLessThan(count)
    client.resume()
    await until('all events', () => received.length > count)
    expect(sequencesOf(received)).toEqual(range(1, count))
    client.terminate()
    hub.stop()
    server.close()
  })
})

describe('subscribers of one customer', () => {
  it('subscribers of one customer at the same sequence share each read', async () => {
    const who = await node.newCustomer()
    let statements = 0
    const db = new Proxy(node.db, {
      get(target, name) {
        if (name === 'tables') statements += 1
        return Reflect.get(target, name)
      },
    })
    const shared = new EventFeed({ db, clock, log: captureLog().log })
    const reads: Promise<unknown>[] = []
    const source: EventSource = {
      start: (customerId, after) => shared.start(customerId, after),
      read(customerId, after) {
        const read = shared.read(customerId, after)
        reads.push(read)
        return read
      },
      follow: (customerId, follower) => shared.follow(customerId, follower),
    }
    const clients = Array.from({ length: 5 }, () => connect({ who, source }))
    for (const client of clients) await subscribe(client)
    expect(reads).toHaveLength(5)
    await Promise.all(reads)
    statements = 0
    await write(who, 3)
    for (const client of clients) expect(sequencesOf(await texts(client, 3))).toEqual([2, 3, 4])
    expect(statements).toBe(1)
    await shared.stop()
  })

  it('readers that come and go under concurrent writers miss nothing and repeat nothing', async () => {
    const who = await node.newCustomer()
    const total = 300
    let isWriting = true
    const writing = Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let round = 0; round < total / 6; round++) await write(who)
      }),
    ).finally(() => {
      isWriting = false
    })
    const seen: number[] = []
    while (isWriting || seen.length <= total) {
      const client = connect({ who })
      client.receive(subscribing({ after: seen.length }))
      const got = sequencesOf(await texts(client, 2))
      seen.push(...got)
      client.session.end()
    }
    await writing
    expect(seen).toEqual(range(1, total + 1))
  })
})

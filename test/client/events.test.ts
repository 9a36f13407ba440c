/** The client's three ways to follow events: each event once, in order, and again after the last one. */
import { describe, expect, it } from 'vitest'
import {
  type CustomerEvent,
  type EventOptions,
  EventsExpired,
  PushedEvents,
  RestClient,
  StreamClient,
} from '../../packages/client/src/index.ts'
import { CREDENTIALS, FakePlatform, type FakeSocket, settled } from '../support/client-platform.ts'

function event(sequence: number): CustomerEvent {
  return {
    id: `00000000-0000-8000-a000-${String(sequence).padStart(12, '0')}`,
    sequence,
    type: 'auth.secret.created',
    source: 'tidegate',
    time: '2026-11-28T20:00:00.000Z',
    specversion: '1.0',
    subject: 'secret/1',
    object: 'event',
    is_test: false,
    data: { object_type: 'secret', id: '1', changed_at: '2026-11-28T20:00:00.000Z' },
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)

/** Takes this number of events from the loop. */
async function take(loop: AsyncIterator<CustomerEvent>, count: number): Promise<readonly number[]> {
  const taken: number[] = []
  while (taken.length < count) taken.push(((await loop.next()).value as CustomerEvent).sequence)
  return taken
}

describe('events over the stream', () => {
  const send = (socket: FakeSocket, ...sequences: readonly number[]) => {
    for (const sequence of sequences) socket.receive({ channel: 'events', payload: event(sequence) })
  }
  const requested = (socket: FakeSocket) => socket.requests[0]?.channels.find(({ type }) => type === 'events')?.params

  async function open(options: EventOptions = {}) {
    const platform = new FakePlatform()
    const client = new StreamClient({ credentials: CREDENTIALS }, platform)
    const events = client.events(options)
    const connect = async () => {
      await settled()
      platform.socketNow.open()
      await settled()
      return platform.socketNow
    }
    return { platform, client, events, loop: events[Symbol.asyncIterator](), connect, socket: await connect() }
  }

  it('events are requested with their scope, and given in order, each once', async () => {
    const { platform, socket, loop } = await open({ after: 4 })
    expect(String(platform.fetched[0]?.init.body)).toContain('events%3Aread_event')
    expect(requested(socket)).toEqual({ after: 4 })
    socket.acknowledge()
    send(socket, 4, 5, 7, 7, 6, 8)
    expect(await take(loop, 3)).toEqual([5, 7, 8])
  })

  it('a lost connection is resumed after the last event, or after the sequence in the acknowledgement', async () => {
    const { platform, socket, loop, connect, client } = await open()
    expect(requested(socket)).toEqual({})
    socket.acknowledge({ last_sequence: 9 })
    socket.end(1012, 'restarting')
    await platform.pass(1_000)
    const second = await connect()
    expect(requested(second)).toEqual({ after: 9 })
    second.acknowledge()
    send(second, 10, 11)
    second.end(1006)
    await platform.pass(1_000)
    const third = await connect()
    expect(requested(third)).toEqual({ after: 11 })
    send(third, 11, 12)
    expect(await take(loop, 3)).toEqual([10, 11, 12])
    client.close()
    expect((await loop.next()).done).toBe(true)
  })

  it.each([
    ['at the subscription', 'subscribe', false],
    ['later', 'unsubscribe', true],
  ])('expired events end the loop with a typed error %s', async (_when, type, success) => {
    const { socket, loop } = await open({ after: 1 })
    const entry = { type: 'events', success, error: 'events_expired', message: 'the reason', oldest_sequence: 7 }
    socket.receive({ type, channels: [entry] })
    const error = await loop.next().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(EventsExpired)
    expect(error).toMatchObject({ code: 'EVENTS_EXPIRED', oldestSequence: 7 })
    expect(socket.isClosed).toBe(true)
  })

  it('an unavailable store is tried again, and a missing scope ends the loop', async () => {
    const { platform, socket, loop, connect } = await open()
    const refuse = (each: FakeSocket, error: string) =>
      each.receive({ type: 'subscribe', channels: [{ type: 'events', success: false, error, message: 'the reason' }] })
    refuse(socket, 'unavailable')
    await platform.pass(1_000)
    const second = await connect()
    expect(second).not.toBe(socket)
    refuse(second, 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION')
    await expect(loop.next()).rejects.toMatchObject({ code: 'SUBSCRIPTION_REFUSED' })
  })

  it('while the loop is slow the connection is closed, and no event is lost', async () => {
    const { socket, loop, connect } = await open({ after: 0 })
    socket.acknowledge()
    send(socket, ...range(1, 10_000))
    expect(socket.isClosed).toBe(true)
    expect(await take(loop, 5_002)).toEqual(range(1, 5_002))
    const second = await connect()
    expect(requested(second)).toEqual({ after: 10_000 })
    send(second, 10_001)
    expect(await take(loop, 4_999)).toEqual(range(5_003, 10_001))
  })

  it('an aborted loop ends with the reason, and a wrong after is refused', async () => {
    const abort = new AbortController()
    const { loop, socket, client } = await open({ after: 0, signal: abort.signal })
    abort.abort(new Error('enough'))
    await expect(loop.next()).rejects.toThrow('enough')
    expect(socket.isClosed).toBe(true)
    expect(() => client.events({ after: -1 })).toThrow('after is -1')
  })
})

describe('events by polling', () => {
  it('polling reads every page, waits for the service, and reports expired events', async () => {
    const platform = new FakePlatform()
    const token = platform.answer
    const problem = (status: number, code: string, meta = {}) => ({ status, body: { status, code, detail: '', meta } })
    const answers = [
      { status: 200, body: { items: [event(3)] } },
      { status: 200, body: { items: [] } },
      { status: 200, body: { items: [event(4), event(6)], next_page_cursor: 'x' } },
      { status: 200, body: { items: [event(7)] } },
      ...Array.from({ length: 4 }, () => problem(503, 'unavailable')),
      { status: 200, body: { items: [event(8)] } },
      problem(410, 'events_expired', { oldest_sequence: 20 }),
    ]
    platform.answer = (url) =>
      url.endsWith('/oauth2/token') ? token(url) : (answers.shift() ?? new Error('none left'))
    const rest = new RestClient({ credentials: CREDENTIALS, scopes: ['events:read_event'] }, platform)
    const loop = rest.events()
    let isDone = false
    const taking = take(loop, 4).finally(() => {
      isDone = true
    })
    while (!isDone) await platform.pass(60_000)
    expect(await taking).toEqual([4, 6, 7, 8])
    const last = loop.next().catch((error: unknown) => error)
    await platform.pass(5_000)
    expect(await last).toMatchObject({ code: 'EVENTS_EXPIRED', oldestSequence: 20 })
    const urls = platform.fetched.map(({ url }) => url).filter((url) => url.includes('/v2/events'))
    expect(urls.map((url) => new URL(url).search).slice(0, 4)).toEqual([
      '?order=DESC&limit=1',
      '?after=3&limit=1000',
      '?after=3&limit=1000',
      '?after=3&limit=1000&page_cursor=x',
    ])
  })

  it.each([
    [
      'follow the last visible event, however old it is',
      [{ items: [], next_page_cursor: 'x' }, { items: [event(3)] }, { items: [event(6_000)] }],
      6_000,
      ['?order=DESC&limit=1', '?order=DESC&limit=1&page_cursor=x', '?after=3&limit=1000'],
    ],
    [
      'follow although none that is visible is kept',
      [{ items: [] }, { oldest_sequence: 8 }, { items: [event(8)] }],
      8,
      ['?order=DESC&limit=1', '?after=0&limit=1000', '?after=7&limit=1000'],
    ],
  ])('polled events from now on %s', async (_what, pages, sequence, asked) => {
    const platform = new FakePlatform()
    const token = platform.answer
    const left = [...pages]
    platform.answer = (url) => {
      if (url.endsWith('/oauth2/token')) return token(url)
      const page = left.shift() ?? {}
      if ('items' in page) return { status: 200, body: page }
      return { status: 410, body: { status: 410, code: 'events_expired', detail: '', meta: page } }
    }
    const rest = new RestClient({ credentials: CREDENTIALS, scopes: ['events:read_event'] }, platform)
    const taking = take(rest.events(), 1)
    for (const _ of asked) await platform.pass(5_000)
    expect(await taking).toEqual([sequence])
    const urls = platform.fetched.map(({ url }) => url).filter((url) => url.includes('/v2/events'))
    expect(urls.map((url) => new URL(url).search)).toEqual(asked)
  })
})

describe('pushed events', () => {
  it('pushed events are given once, in the order of their sequences, and acknowledged when they are processed', async () => {
    const pushed = new PushedEvents({ after: 2 })
    const loop = pushed[Symbol.asyncIterator]()
    const acknowledged: number[] = []
    const push = (sequence: number) =>
      pushed.push(event(sequence)).then(() => {
        acknowledged.push(sequence)
      })
    const pushes = [5, 4, 5, 2].map(push)
    expect(await take(loop, 1)).toEqual([4])
    await settled()
    expect(acknowledged).toEqual([2])
    expect(await take(loop, 1)).toEqual([5])
    await settled()
    expect(acknowledged).toEqual([2, 4])
    const next = loop.next()
    await Promise.all(pushes)
    await push(4)
    push(3).catch(() => undefined)
    expect((await next).value.sequence).toBe(3)
    const failed = pushed.push(event(9))
    await loop.return?.(undefined)
    await expect(failed).rejects.toMatchObject({ code: 'CLOSED' })
    await expect(pushed.push(event(10))).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

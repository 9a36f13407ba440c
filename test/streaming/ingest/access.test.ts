/** Who may publish what: handshakes, POSTs, and what ends when access is taken away; hostile publishers. */
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { WebSocket } from 'ws'
import type { AccessToken } from '../../../src/access/clients/access-token.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { TickBudget } from '../../../src/platform/base/tick-budget.ts'
import { IngestMarkets } from '../../../src/streaming/ingest/ingest-markets.ts'
import { type ConnectionHost, PublisherConnection } from '../../../src/streaming/ingest/publisher-connection.ts'
import { captureLog } from '../../support/captured-log.ts'
import { PublishingEngine } from '../../support/publishing-engine.ts'
import { Random } from '../../support/random.ts'
import { Stage } from './stage.ts'

let stage: Stage
let engine: PublishingEngine
beforeEach(async () => {
  stage = await Stage.open()
  engine = new PublishingEngine({ symbol: 'BTCUSD', random: new Random(1), publishesOrders: false, keptMax: 10 })
})
afterEach(() => stage.close())

async function live() {
  const client = await stage.connect('engine')
  client.send(engine.snapshot())
  await stage.until('the book', () => stage.market('BTCUSD').state === 'live')
  return client
}

function post(body: string, token = 'engine', headers: Record<string, string> = {}) {
  const all = { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson', ...headers }
  return fetch(`${stage.url}/publish`, { method: 'POST', headers: all, body })
}

interface Answer {
  readonly accepted: readonly object[]
  readonly problems: readonly object[]
  readonly omitted_problems?: number
  readonly code?: string
}

async function answerOf(response: Response | Promise<Response>): Promise<Answer> {
  return (await (await response).json()) as Answer
}

const HEARTBEAT = JSON.stringify({ channel: 'heartbeat', payload: { timestamp: '2026-11-20T12:00:00Z' } })

describe('a handshake', () => {
  it.each([
    ['without a token', undefined, {}, 401, 'unauthorized'],
    ['with a forged token', 'bad', {}, 401, 'invalid_token'],
    ['with a token of another scope', 'reader', {}, 403, 'insufficient_scope'],
    ['of an unknown client', 'stranger', {}, 403, 'disabled'],
    ['without the subprotocol', 'engine', { protocols: [] }, 400, 'bad_handshake'],
    ['with the subprotocol of the stream', 'engine', { protocols: ['tidegate.v1'] }, 400, 'bad_handshake'],
    ['at another path', 'engine', { path: '/stream' }, 404, 'not_found'],
  ] as const)('a handshake %s is refused', async (_what, token, options, status, code) => {
    const refused = stage.connect(token, options)
    await expect(refused).rejects.toMatchObject({ status, body: expect.stringContaining(`"${code}"`) })
  })

  it('a handshake is refused with the scope taken from the client, a disabled client, and a revoked token', async () => {
    stage.change('engine', { scopes: [STREAM_SCOPE] })
    await expect(stage.connect('engine')).rejects.toMatchObject({ status: 403 })
    stage.change('engine', { scopes: ['exchange:publish_marketdata'], enabled: false })
    await expect(stage.connect('engine')).rejects.toMatchObject({ status: 403 })
    stage.revoke('other')
    await expect(stage.connect('other')).rejects.toMatchObject({ status: 401 })
  })

  it('a handshake is answered 503 over a quarter of ingest.connections_max, and another client is not', async () => {
    for (let count = 0; count < 16; count++) await stage.connect('engine')
    const refusal = { status: 503, body: expect.stringContaining('the client has 16 publishers') }
    await expect(stage.connect('engine')).rejects.toMatchObject(refusal)
    expect((await post(HEARTBEAT)).status).toBe(503)
    await stage.connect('other')
    expect((await post(HEARTBEAT, 'other')).status).toBe(200)
  })

  it('a handshake is answered 503 when all clients together have ingest.connections_max publishers', async () => {
    const full = await Stage.open({ connectionsMax: () => 4 })
    full.permit(Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, { markets: ['BTCUSD'] }])))
    for (const name of ['a', 'b', 'c', 'd']) await full.connect(name)
    const refusal = { status: 503, body: expect.stringContaining('publisher limit') }
    await expect(full.connect('e')).rejects.toMatchObject(refusal)
    await full.close()
  })
})

describe('a request without upgrade', () => {
  it('a request without upgrade is refused like a handshake', async () => {
    expect((await fetch(stage.url)).status).toBe(401)
    const response = await fetch(stage.url, { headers: { authorization: 'Bearer engine' } })
    expect([response.status, (await answerOf(response)).code]).toEqual([426, 'upgrade_required'])
    expect((await fetch(`${stage.url}/publish`, { method: 'POST', body: HEARTBEAT })).status).toBe(401)
    expect((await post(HEARTBEAT, 'bad')).status).toBe(401)
    expect((await post(HEARTBEAT, 'reader')).status).toBe(403)
    expect((await post(HEARTBEAT, 'engine', { 'content-type': 'application/json' })).status).toBe(415)
    expect((await fetch(`${stage.url}/publish`)).status).toBe(405)
  })
})

describe('a publisher', () => {
  it('a publisher cannot touch a market that is not its own', async () => {
    const client = await live()
    stage.permit({ engine: { markets: ['BTCUSD'] }, other: { markets: ['ETHUSD'] } })
    const other = await stage.connect('other')
    expect((await other.until(({ type }) => type === 'accepted')).markets).toEqual([{ market: 'ETHUSD' }])
    const before = stage.market('BTCUSD').events.length
    const digest = '000000000000000f'
    const books = [{ market: 'BTCUSD', epoch: 'run-1', seq: 0, digest }]
    const attempts = [
      engine.snapshot(),
      { ...engine.snapshot(), payload: { market: 'BTCUSD', type: 'NONSENSE' } },
      engine.lost('of the attacker'),
      { channel: 'heartbeat', payload: { timestamp: '2026-11-20T12:00:00Z', books } },
      { ...engine.snapshot(), payload: { market: '__proto__', type: 'SNAPSHOT' } },
    ]
    for (const attempt of attempts) other.send(attempt)
    other.send({ ...engine.snapshot(), payload: { market: 'NONE', type: 'SNAPSHOT' } })
    await other.until(({ market }) => market === 'NONE')
    const message = 'the client may not publish this market'
    expect(other.received.filter(({ type }) => type === 'rejected')).toEqual(
      ['BTCUSD', 'BTCUSD', 'BTCUSD', '__proto__', 'NONE'].map((market) => ({ type: 'rejected', market, message })),
    )
    expect(stage.market('BTCUSD').events).toHaveLength(before)
    expect(client.closed).toBeUndefined()
  })

  it.each([
    ['its client is disabled', () => stage.change('engine', { enabled: false }), 4003],
    ['its client loses the scope', () => stage.change('engine', { scopes: [] }), 4003],
    ['its client is deleted', () => stage.permit({}), 4003],
    ['its token is revoked', () => stage.revoke('engine'), 4001],
  ])('a publisher is closed at once when %s', async (_what, take, code) => {
    const client = await live()
    take()
    expect(stage.market('BTCUSD').state).toBe('lost')
    const before = stage.market('BTCUSD').events.length
    client.send(engine.step())
    expect((await client.untilClosed()).code).toBe(code)
    expect(stage.market('BTCUSD').events).toHaveLength(before)
  })

  it('a publisher is cut within a second after a revocation, although it does not answer the close', async () => {
    const client = await live()
    client.pause()
    stage.revoke('engine')
    stage.clock.advance(1_000)
    await stage.untilSeen('the end', async () => (await stage.metric('tidegate_ingest_publishers')) === 0)
  })

  it('a publisher loses one market that is taken from its client, and keeps the others', async () => {
    const client = await live()
    stage.change('engine', { markets: ['ETHUSD'] })
    expect(stage.market('BTCUSD').state).toBe('lost')
    expect(await client.until(({ type }) => type === 'rejected')).toEqual({
      type: 'rejected',
      market: 'BTCUSD',
      message: 'the client may not publish this market any more',
    })
    client.send(engine.snapshot())
    const eth = new PublishingEngine({ symbol: 'ETHUSD', random: new Random(1), publishesOrders: false, keptMax: 10 })
    client.send(eth.snapshot())
    await stage.until('the other market', () => stage.market('ETHUSD').state === 'live')
    expect(stage.market('BTCUSD').state).toBe('lost')
    stage.change('engine', { markets: ['BTCUSD', 'ETHUSD'] })
    client.send(engine.snapshot())
    await stage.until('the market', () => stage.market('BTCUSD').state === 'live')
  })

  it('a publisher leaves no secret in the log', async () => {
    await live()
    await expect(stage.connect('bad-and-secret')).rejects.toThrow()
    await post(HEARTBEAT, 'bad-and-secret')
    expect(stage.lines.join('\n')).not.toContain('secret')
  })
})

describe('a hostile publisher', () => {
  it.each<[string, string | Buffer, number]>([
    ['binary', Buffer.from('{}'), 1003],
    ['no JSON', '{"channel":', 1008],
    ['deep JSON', '['.repeat(30_000), 1008],
    ['a message without a market', '{"channel":"publication","payload":{}}', 1008],
    ['another channel', '{"channel":"market_data","payload":{"market":"BTCUSD"}}', 1008],
    ['more than ingest.message_bytes_max', `"${'x'.repeat(70_000)}"`, 1009],
  ])('a hostile publisher that sends %s is closed, and the others continue', async (_what, message, code) => {
    const honest = await live()
    const hostile = await stage.connect('other')
    hostile.send(message)
    expect((await hostile.untilClosed()).code).toBe(code)
    honest.send(engine.step())
    await stage.until('the next message', () => stage.market('BTCUSD').origin === 'run-1.1')
  })

  it('a hostile publisher that floods is read no faster than its messages are taken, and memory stays bounded', async () => {
    const honest = await live()
    const hostile = await stage.connect('other')
    // A market that the client may publish, and that has a line left: each message is parsed and refused.
    const message = JSON.stringify({ ...engine.snapshot(), payload: { market: 'ETHUSD', type: 'NONSENSE' } })
    for (let count = 0; count < 3_000; count++) hostile.send(message)
    honest.send(engine.step())
    await stage.until('the honest message', () => stage.market('BTCUSD').origin === 'run-1.1')
    const rejections = () => hostile.received.filter(({ type }) => type === 'rejected').length
    await stage.untilSeen('all answers', () => rejections() === 3_000)
    expect(await stage.metric('tidegate_ingest_messages_total{market="ETHUSD",outcome="refused"}')).toBe(3_000)
    expect(stage.lines.length).toBeLessThan(500)
  })

  it('a hostile publisher that floods with control frames is closed', async () => {
    const hostile = await stage.connect('other')
    for (let count = 0; count < 200; count++) hostile.ping()
    expect(await hostile.untilClosed()).toMatchObject({ code: 1008, reason: 'too many control frames' })
  })

  it('a hostile publisher that reads nothing is cut when a megabyte waits for it', () => {
    const calls: string[] = []
    const webSocket = {
      send: () => void calls.push('send'),
      terminate: () => void calls.push('terminate'),
    } as unknown as WebSocket
    const socket = { writableLength: 0 }
    const host: ConnectionHost = {
      clock: stage.clock,
      log: captureLog().log,
      markets: new IngestMarkets({} as ConstructorParameters<typeof IngestMarkets>[0]),
      budget: new TickBudget(stage.clock, 4),
      closesExpired: false,
      countBytes: () => undefined,
      countClose: (cause) => void calls.push(cause),
    }
    const peer = { webSocket, socket: socket as unknown as Socket, clientAddress: '' }
    const token = { clientId: 'engine' } as unknown as AccessToken
    const connection = new PublisherConnection(host, peer, token, new Set())
    socket.writableLength = 1_048_576
    connection.reject('BTCUSD', 'no')
    expect(calls).toEqual(['send', 'send'])
    socket.writableLength = 1_048_577
    connection.reject('BTCUSD', 'no')
    connection.reject('BTCUSD', 'no')
    expect(calls).toEqual(['send', 'send', 'send', 'unread', 'terminate'])
  })

  it('a hostile publisher that connects and sends no handshake holds nothing', async () => {
    const socket = connect(Number(new URL(stage.url).port), '127.0.0.1')
    await new Promise((resolve) => socket.once('connect', resolve))
    expect(await stage.metric('tidegate_ingest_publishers')).toBe(0)
    socket.destroy()
  })
})

describe('POST /publish', () => {
  const lines = (...messages: unknown[]) => messages.map((message) => JSON.stringify(message)).join('\n')

  it('the route POST /publish accepts messages as lines, and returns the accepted ones', async () => {
    const body = lines(engine.snapshot(), ...Array.from({ length: 50 }, () => engine.step()))
    const response = await post(`${body}\r\n\n`)
    expect([response.status, await answerOf(response)]).toEqual([
      200,
      { accepted: [{ market: 'BTCUSD', epoch: 'run-1', seq: 50 }], problems: [] },
    ])
    expect(stage.market('BTCUSD')).toMatchObject({ state: 'live', origin: 'run-1.50' })
    expect(stage.source.notices(stage.sourceMarkets[0]!)).toEqual(['published by engine (POST /publish)'])

    // The next request continues, and counts as the same line.
    for (let count = 0; count < 3; count++) {
      stage.clock.advance(10_000)
      expect((await answerOf(post(lines(engine.step())))).problems).toEqual([])
    }
    expect(stage.market('BTCUSD').events.filter(({ type }) => type === 'lost')).toEqual([])
    stage.clock.advance(15_000)
    expect(stage.market('BTCUSD').state).toBe('lost')
    expect((await answerOf(post(lines(engine.step())))).accepted).toEqual([
      { market: 'BTCUSD', epoch: 'run-1', seq: 54 },
    ])
    expect(stage.market('BTCUSD').state).toBe('live')
  })

  it('the route POST /publish lists the problem of each market once, with its line, and ignores its further lines', async () => {
    stage.permit({ engine: { markets: ['BTCUSD'] } })
    const eth = new PublishingEngine({ symbol: 'ETHUSD', random: new Random(1), publishesOrders: false, keptMax: 10 })
    const first = engine.step()
    const body = lines(eth.snapshot(), first, engine.snapshot())
    const answer = await answerOf(post(`${body}\nnonsense\n${JSON.stringify(engine.step())}`))
    expect(answer).toEqual({
      accepted: [],
      problems: [
        { line: 1, market: 'ETHUSD', message: 'the client may not publish this market' },
        { line: 2, market: 'BTCUSD', message: expect.stringMatching(/^a SNAPSHOT is needed: /) },
        { line: 4, message: 'the message is not JSON' },
      ],
    })
    const many = await answerOf(post('nonsense\n'.repeat(150)))
    expect([many.problems.length, many.omitted_problems]).toEqual([100, 50])
  })

  it('the route POST /publish is read while another client drips as many bodies as it may', async () => {
    const { port } = new URL(stage.url)
    const head =
      'POST /publish HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer other\r\nContent-Type: application/x-ndjson\r\n'
    const dripping = Array.from({ length: 6 }, () => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.on('error', () => undefined)
      socket.write(`${head}Content-Length: 10000\r\n\r\n{`)
      return socket
    })
    const answers = dripping.map((socket) => new Promise((resolve) => socket.once('data', resolve)))
    const refused = String(await Promise.race(answers))
    expect(refused).toContain('503 Service Unavailable')
    expect(refused).toContain('too many bodies are being read for this client')
    const { accepted } = await answerOf(post(lines(engine.snapshot())))
    expect(accepted).toEqual([{ market: 'BTCUSD', epoch: 'run-1', seq: 0 }])
    for (const socket of dripping) socket.destroy()
  })

  it('the route POST /publish refuses a line over the limit and bytes that are not UTF-8', async () => {
    const long = await post(`${JSON.stringify(engine.snapshot())}\n${'x'.repeat(70_000)}`)
    const longText = await long.clone().text()
    expect(longText).toContain('a line must not be over 65536 bytes')
    expect([long.status, (await answerOf(long)).code]).toEqual([413, 'body_too_large'])
    expect(stage.market('BTCUSD').state).toBe('live')
    const headers = { authorization: 'Bearer engine', 'content-type': 'application/x-ndjson' }
    const body = Buffer.from([0xff, 0xfe, 0x0a])
    const answer = await answerOf(fetch(`${stage.url}/publish`, { method: 'POST', headers, body }))
    expect(answer.problems).toEqual([{ line: 1, message: 'the message is not UTF-8' }])
  })

  it('the route POST /publish ends its lines when access is taken away', async () => {
    await post(lines(engine.snapshot()))
    expect(stage.market('BTCUSD').state).toBe('live')
    stage.change('engine', { enabled: false })
    expect(stage.market('BTCUSD').state).toBe('lost')
  })

  /** A POST during whose body `change` is called, when the first line has made the book live. */
  function postAround(change: () => void) {
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from(`${lines(engine.snapshot())}\n`))
        await stage.until('the book', () => stage.market('BTCUSD').state === 'live')
        change()
        controller.enqueue(Buffer.from(`${lines(engine.step())}\n`))
        controller.close()
      },
    })
    const headers = { authorization: 'Bearer engine', 'content-type': 'application/x-ndjson' }
    return fetch(`${stage.url}/publish`, { method: 'POST', headers, body, duplex: 'half' })
  }

  it('a POST in progress publishes no market that is taken from its client meanwhile', async () => {
    const response = await postAround(() => stage.change('engine', { markets: ['ETHUSD'] }))
    const problem = { line: 2, market: 'BTCUSD', message: 'the client may not publish this market' }
    expect((await answerOf(response)).problems).toEqual([problem])
    expect(stage.market('BTCUSD').state).toBe('lost')
  })

  it.each([
    ['503 when another process leads', () => stage.ingest.close('another process leads'), 503, 'unavailable'],
    ['503 after 15 seconds without a message', () => stage.clock.advance(15_000), 503, 'unavailable'],
    ['403 when access is taken away', () => stage.change('engine', { enabled: false }), 403, 'disabled'],
  ] as const)('a POST in progress is answered %s', async (_what, end, status, code) => {
    const response = await postAround(end)
    expect([response.status, (await answerOf(response)).code]).toEqual([status, code])
    expect(stage.market('BTCUSD').state).toBe('lost')
  })

  it('the route POST /publish waits for the other line like a WebSocket', async () => {
    const client = await live()
    await post(lines(engine.snapshot()), 'other')
    const [first, second] = [engine.step(), engine.step()]
    const answer = post(lines(second), 'other')
    await stage.untilSeen('the gap', async () => stage.clock.isDueIn(1_000))
    let isAnswered = false
    void answer.then(() => {
      isAnswered = true
    })
    await post(HEARTBEAT)
    expect(isAnswered).toBe(false)
    client.send(first)
    expect(await answerOf(answer)).toEqual({
      accepted: [{ market: 'BTCUSD', epoch: 'run-1', seq: 2 }],
      problems: [],
    })
    expect(stage.market('BTCUSD').missed).toBe(0)
  })

  it('the route POST /publish does not count as silent while its line waits for the other line', async () => {
    await stage.close()
    stage = await Stage.open({ lineWaitMilliseconds: () => 50_000 })
    const client = await live()
    const eth = new PublishingEngine({ symbol: 'ETHUSD', random: new Random(1), publishesOrders: false, keptMax: 10 })
    client.send(eth.snapshot())
    await post(lines(engine.snapshot()), 'other')
    const [first, ...others] = [engine.step(), engine.step(), engine.step()]
    const answer = post(lines(...others), 'other')
    await stage.untilSeen('the gap', async () => stage.clock.isDueIn(50_000))
    for (const seq of [1, 2]) {
      stage.clock.advance(8_000)
      client.send(eth.step())
      await stage.until('a message of the other line', () => stage.market('ETHUSD').origin === `run-1.${seq}`)
    }
    client.send(first)
    expect(await answerOf(answer)).toEqual({
      accepted: [{ market: 'BTCUSD', epoch: 'run-1', seq: 3 }],
      problems: [],
    })
  })
})

describe('a listener that is closed, because another process leads', () => {
  it('an ingest listener without leadership closes its publishers with 1012, refuses others, and admits them again', async () => {
    const client = await live()
    stage.ingest.close('another process leads')
    await client.untilClosed()
    expect(client.closed?.code).toBe(1012)
    expect(stage.market('BTCUSD').state).toBe('lost')
    const refusal = { status: 503, body: expect.stringContaining('another process leads') }
    await expect(stage.connect('engine')).rejects.toMatchObject(refusal)
    expect((await post('')).status).toBe(503)
    stage.ingest.open()
    await live()
  })
})

describe('a listener of a process that leads one of several feed groups', () => {
  it('a publisher is refused, and closed, where none of its markets is written, so it tries its other addresses', async () => {
    const shared = await Stage.open({ isShared: true })
    shared.permit({ engine: { markets: ['BTCUSD'] }, other: { markets: ['ETHUSD'] } })
    const [engine, other] = [await shared.connect('engine'), await shared.connect('other')]
    // Another process leads its group now, or its market has moved into another one.
    shared.source.remove(shared.sourceMarkets[0]!)
    shared.ingest.open()
    await engine.untilClosed()
    expect([engine.closed?.code, other.closed]).toEqual([1012, undefined])
    const refusal = { status: 503, body: expect.stringContaining('other processes') }
    await expect(shared.connect('engine')).rejects.toMatchObject(refusal)
    shared.source.add(shared.sourceMarkets[0]!)
    shared.ingest.open()
    await shared.connect('engine')
    await shared.close()
  })
})

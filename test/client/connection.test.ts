/** How the client connects: tokens, the protocol, delays, close codes, refused handshakes, silence, signals. */
import { describe, expect, it } from 'vitest'
import { StreamClient, type StreamEvent, type StreamOptions } from '../../packages/client/src/index.ts'
import { CREDENTIALS, FakePlatform, FakeSocket, settled } from '../support/client-platform.ts'
import { heartbeat, snapshot } from '../support/wire.ts'

const M = 'BTCUSD'
const NO_TIME = '{"channel":"heartbeat","payload":{"timestamp":"2026-13-45T99:00:00.000000000Z"}}'
const NO_DECIMAL = JSON.stringify(snapshot(M, 2, [['01.00', '1.0']], []))

interface Started {
  readonly platform: FakePlatform
  readonly client: StreamClient
  readonly events: StreamEvent[]
  readonly failure: Promise<unknown>
}

async function start(prepare?: (platform: FakePlatform) => void, options?: StreamOptions): Promise<Started> {
  const platform = new FakePlatform()
  prepare?.(platform)
  const events: StreamEvent[] = []
  const onEvent = (event: StreamEvent) => events.push(event)
  const client = new StreamClient({ ...(options ?? { credentials: CREDENTIALS }), onEvent }, platform)
  const failure = client.book(M).then(
    () => undefined,
    (error) => error,
  )
  await settled()
  return { platform, client, events, failure }
}

/** The service accepts the connection and sends a book. */
async function serve({ platform }: Started): Promise<void> {
  platform.socketNow.open()
  await settled()
  platform.socketNow.acknowledge()
  platform.socketNow.receive({ ...snapshot(M, 1, [['1.00', '1.0']], []), stream: { cursor: 'c1', covers: 0 } })
  await settled()
}

async function served(prepare?: (platform: FakePlatform) => void): Promise<Started> {
  const started = await start(prepare)
  await serve(started)
  return started
}

/** Milliseconds until the next handshake, in steps of 50. */
async function untilNextSocket(platform: FakePlatform, limit: number): Promise<number | undefined> {
  const count = platform.sockets.length
  for (let waited = 0; waited <= limit; waited += 50) {
    if (platform.sockets.length > count) return waited
    await platform.pass(50)
  }
  return undefined
}

describe('the client', () => {
  it('the client connects with a token among the subprotocols, and subscribes heartbeats too', async () => {
    const { platform } = await served()
    expect(platform.fetched[0]?.init.body?.toString()).toBe(
      'grant_type=client_credentials&client_id=a-client&client_secret=a-secret-that-no-error-may-contain' +
        '&scope=exchange%3Aread_aggregated_marketdata_stream',
    )
    expect(platform.socketNow.url).toBe('wss://api.example.com/')
    expect(platform.socketNow.offered).toEqual(['tidegate.v1', 'tidegate.default', 'bearer.token-1'])
    expect(platform.socketNow.requests).toEqual([
      { type: 'subscribe', channels: [{ type: 'heartbeat' }, { type: 'market_data', params: { market: M } }] },
    ])
  })

  it('the client connects without a token where cookies authenticate it', async () => {
    const options = { url: 'wss://ops.example.com/admin/v1/stream', authenticate: 'none' } as const
    const started = await start(undefined, options)
    await serve(started)
    expect(started.platform.fetched).toEqual([])
    expect(started.platform.socketNow).toMatchObject({ url: options.url, offered: ['tidegate.v1', 'tidegate.default'] })
  })

  it('the client subscribes channels in one request that a program subscribes together', async () => {
    const { platform, client } = await served()
    const others = ['ETHUSD', 'SOLUSD'].map((market) => client.executions(market))
    await settled()
    expect(platform.socketNow.requests.slice(1)).toEqual([
      {
        type: 'subscribe',
        channels: ['ETHUSD', 'SOLUSD'].map((market) => ({ type: 'execution_data', params: { market } })),
      },
    ])
    platform.socketNow.acknowledge()
    await Promise.all(others)
  })

  it('the client closes the connection when nothing is subscribed any more, and opens it again', async () => {
    const { platform, client } = await served()
    client.close()
    await settled()
    expect(platform.socketNow.isClosed).toBe(true)
    const opening = client.book('ETHUSD').catch(() => undefined)
    await settled()
    expect(platform.sockets).toHaveLength(2)
    client.close()
    await opening
  })

  it('the client leaves no connection behind when it is closed while a socket is created', async () => {
    const created: ((socket: FakeSocket) => void)[] = []
    const { platform, client, events } = await start((platform) => {
      platform.socket = () => new Promise((resolve) => created.push(resolve))
    })
    client.close()
    const socket = new FakeSocket('', [])
    created[0]?.(socket)
    await settled()
    expect(socket.isClosed).toBe(true)
    socket.open()
    await platform.pass(60_000)
    expect(events).toEqual([])
    expect(created).toHaveLength(1)
  })

  it.each([
    [{ credentials: { ...CREDENTIALS, ws_url: 'api.example.com' } }, /must begin with wss/],
    [{ credentials: { ...CREDENTIALS, client_secret: '' } }, /no client_secret/],
  ])('the client refuses options that cannot work: %#', (options, message) => {
    expect(() => new StreamClient(options, new FakePlatform())).toThrow(message)
  })

  it('the client refuses arguments that cannot work, before it sends anything', async () => {
    const platform = new FakePlatform()
    const client = new StreamClient({ credentials: CREDENTIALS }, platform)
    const attempts = [
      client.book(''),
      client.executions('BTC USD'),
      client.topOfBook('x'.repeat(65)),
      client.book(M, { depth: 0 }),
      client.topOfBook(M, { interval: 0.5 }),
    ]
    for (const attempt of attempts) await expect(attempt).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(platform.fetched).toEqual([])
  })

  it('the client rejects pending promises when the program closes it', async () => {
    const { client, failure } = await start()
    client.close()
    expect(await failure).toMatchObject({
      code: 'CLOSED',
      message: 'the book of BTCUSD was closed before it was complete',
    })
  })
})

describe('after a close with', () => {
  it.each([1001, 1006, 1011, 1012, 4000, 4002])(
    'after a close with %i the client connects again with the same token',
    async (code) => {
      const started = await served()
      const { platform, events } = started
      platform.socketNow.end(code, 'a reason')
      const waited = await untilNextSocket(platform, 2_000)
      expect(waited).toBeGreaterThan(0)
      expect(platform.tokenRequests).toBe(1)
      const reason = code === 1006 ? 'the connection was lost' : `closed with ${code} a reason`
      expect(events.at(-1)).toEqual({ type: 'DISCONNECTED', code, reason, retryInMilliseconds: 500 })
    },
  )

  it('after a socket error, which some runtimes report alone, the client connects again', async () => {
    const { platform, events } = await served()
    platform.socketNow.onerror?.({})
    expect(await untilNextSocket(platform, 2_000)).toBeDefined()
    expect(events.at(-1)).toMatchObject({ type: 'DISCONNECTED', code: 1006 })
  })

  it('after a close with 1008 the client pauses first', async () => {
    const { platform } = await served()
    platform.socketNow.end(1008)
    expect(await untilNextSocket(platform, 10_000)).toBeGreaterThanOrEqual(5_000)
  })

  it('after a close with 4001 the client connects again with a new token', async () => {
    const { platform } = await served()
    platform.socketNow.end(4001, 'token revoked')
    await untilNextSocket(platform, 2_000)
    expect(platform.socketNow.token).toBe('token-2')
  })

  it.each([
    [1002, 'PROTOCOL_ERROR'],
    [1007, 'PROTOCOL_ERROR'],
    [1009, 'PROTOCOL_ERROR'],
    [4003, 'ACCESS_REVOKED'],
  ])('after a close with %i the client stops', async (code, name) => {
    const { platform, client } = await served()
    const executions = client.executions(M).catch((error) => error)
    platform.socketNow.end(code, 'a reason')
    expect(await untilNextSocket(platform, 60_000)).toBeUndefined()
    expect(await executions).toMatchObject({ code: name })
  })

  it('after a close with 4003 the client stops, also when the close arrives together with the handshake', async () => {
    const { platform, failure } = await start()
    platform.socketNow.open()
    platform.socketNow.end(4003, 'access revoked')
    expect(await failure).toMatchObject({ code: 'ACCESS_REVOKED' })
  })

  it('after a close with any code, delays grow while no data comes, are random, and are short again afterwards', async () => {
    const started = await served()
    const { platform } = started
    const waits: number[] = []
    for (let attempt = 0; attempt < 8; attempt++) {
      platform.socketNow.end(1011)
      waits.push((await untilNextSocket(platform, 60_000)) ?? 0)
      platform.socketNow.open()
      await settled()
    }
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000])
    platform.chance = 0.25
    platform.socketNow.end(1011)
    expect(await untilNextSocket(platform, 60_000)).toBe(7_500)
    await serve(started)
    platform.socketNow.end(1011)
    expect(await untilNextSocket(platform, 60_000)).toBe(250)
  })
})

describe('after a refused handshake', () => {
  async function refused(answer: { status: number; body?: unknown; headers?: Record<string, string> } | Error) {
    const started = await served()
    const { platform } = started
    const executions = started.client.executions(M).catch((error) => error)
    platform.socketNow.end(1012)
    await untilNextSocket(platform, 2_000)
    const normal = platform.answer
    platform.answer = (url) => (url.endsWith('/oauth2/token') ? normal(url) : answer)
    platform.socketNow.refuse()
    await settled()
    return { ...started, executions }
  }

  it('after a refused handshake the client asks why, and stops for 403 with the reason', async () => {
    const body = { detail: 'the customer is not on the streaming allow list' }
    const { platform, executions } = await refused({ status: 403, body })
    expect(platform.fetched.at(-1)?.url).toBe('https://api.example.com/')
    expect(platform.fetched.at(-1)?.init.headers).toEqual({ authorization: 'Bearer token-1' })
    expect(await untilNextSocket(platform, 60_000)).toBeUndefined()
    const error = await executions
    expect(error).toMatchObject({ code: 'STREAM_REFUSED' })
    expect(error.message).toContain(body.detail)
    expect(error.message).not.toContain('token-1')
  })

  it.each([[{ status: 401 }], [{ status: 426 }], [new Error('no answer')]])(
    'after a refused handshake the client gets a new token and connects again: %#',
    async (answer) => {
      const { platform } = await refused(answer)
      await untilNextSocket(platform, 10_000)
      expect(platform.socketNow.token).toBe('token-2')
    },
  )

  it('after a refused handshake the client comes back no earlier than Retry-After', async () => {
    const { platform } = await refused({ status: 503, headers: { 'retry-after': '20' } })
    expect(await untilNextSocket(platform, 60_000)).toBeGreaterThanOrEqual(20_000)
  })

  it('after a refused handshake the client stops when two tokens are rejected, or the address is wrong', async () => {
    const token = await start((platform) => {
      const normal = platform.answer
      platform.answer = (url) => (url.endsWith('/oauth2/token') ? normal(url) : { status: 401 })
    })
    token.platform.socketNow.refuse()
    await untilNextSocket(token.platform, 10_000)
    token.platform.socketNow.refuse()
    expect(await token.failure).toMatchObject({ code: 'STREAM_REFUSED' })
    const address = await start((platform) => {
      const normal = platform.answer
      platform.answer = (url) => (url.endsWith('/oauth2/token') ? normal(url) : { status: 404 })
    })
    address.platform.socketNow.refuse()
    expect(await address.failure).toMatchObject({ code: 'STREAM_REFUSED' })
  })

  it('the client gives up a handshake that is not answered', async () => {
    const started = await served()
    started.platform.socketNow.end(1012)
    await untilNextSocket(started.platform, 2_000)
    const unanswered = started.platform.socketNow
    await untilNextSocket(started.platform, 20_000)
    expect(unanswered.isClosed).toBe(true)
    expect(started.platform.socketNow).not.toBe(unanswered)
  })
})

describe('tokens', () => {
  it('tokens are renewed while the old one still works, one request at a time', async () => {
    const { platform } = await served((platform) => {
      const access_token = () => `token-${platform.tokenRequests}`
      platform.answer = () => ({ status: 200, body: { access_token: access_token(), expires_in: 40 } })
    })
    await platform.pass(35_000)
    platform.socketNow.end(1012)
    await untilNextSocket(platform, 2_000)
    // The connection did not wait for the renewal.
    expect(platform.socketNow.token).toBe('token-1')
    expect(platform.tokenRequests).toBe(2)
    platform.socketNow.open()
    await settled()
    platform.socketNow.end(1012)
    await untilNextSocket(platform, 5_000)
    expect(platform.socketNow.token).toBe('token-2')
    expect(platform.tokenRequests).toBe(2)
  })

  it.each([400, 401, 403])('a token refusal with %i ends everything', async (status) => {
    const body = { error: 'invalid_client', error_description: 'client authentication failed' }
    const { failure, platform } = await start((platform) => {
      platform.answer = () => ({ status, body })
    })
    const error = (await failure) as Error
    expect(error).toMatchObject({ code: 'TOKEN_REFUSED' })
    expect(error.message).toContain('client authentication failed')
    expect(error.message).not.toContain(CREDENTIALS.client_secret)
    expect(platform.sockets).toEqual([])
  })

  it('tokens that are not available now are requested again, not before Retry-After', async () => {
    const { platform } = await start((platform) => {
      const normal = platform.answer
      platform.answer = (url) =>
        platform.tokenRequests === 1 ? { status: 503, headers: { 'retry-after': '10' } } : normal(url)
    })
    expect(await untilNextSocket(platform, 60_000)).toBeGreaterThanOrEqual(10_000)
  })

  it('an address that gives no token ends the first attempt, and is asked again later', async () => {
    const { failure } = await start((platform) => {
      platform.answer = () => new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })
    })
    expect(await failure).toMatchObject({ code: 'UNREACHABLE', message: expect.stringContaining('ECONNREFUSED') })
    const { platform } = await served()
    const normal = platform.answer
    platform.socketNow.end(4001)
    platform.answer = () => new TypeError('fetch failed')
    expect(await untilNextSocket(platform, 60_000)).toBeUndefined()
    platform.answer = normal
    expect(await untilNextSocket(platform, 60_000)).toBeDefined()
  })
})

describe('what a display shows of the connection', () => {
  it.each(['tidegate.v1', 'tidegate.default'] as const)(
    "a display shows the connection's protocol: %s",
    async (protocol) => {
      const { platform, events } = await start()
      platform.socketNow.open(protocol === 'tidegate.v1' ? protocol : '')
      expect(events).toEqual([{ type: 'CONNECTED', url: 'wss://api.example.com/', protocol }])
    },
  )

  it('a display shows the time of every heartbeat', async () => {
    const times: string[] = []
    const onHeartbeat = (time: string) => times.push(time)
    const started = await start(undefined, { credentials: CREDENTIALS, onHeartbeat })
    await serve(started)
    for (const second of [1, 2]) started.platform.socketNow.receive(heartbeat(second * 1_000))
    expect(times).toEqual(['2026-01-01T00:00:01.000000000Z', '2026-01-01T00:00:02.000000000Z'])
  })
})

describe('a silent connection', () => {
  it('a silent connection is taken for lost after five heartbeats', async () => {
    const { platform, events } = await served()
    for (const second of [1, 2, 3]) platform.socketNow.receive(heartbeat(second * 1_000))
    await platform.pass(9_000)
    expect(events.at(-1)?.type).toBe('CONNECTED')
    await platform.pass(6_000)
    expect(events.at(-1)).toMatchObject({ type: 'DISCONNECTED', reason: 'nothing was received for too long' })
  })

  it('a silent connection is kept while heartbeats are rare', async () => {
    const { platform, events } = await served()
    for (const minute of [1, 2]) platform.socketNow.receive(heartbeat(minute * 60_000))
    await platform.pass(240_000)
    expect(events.at(-1)?.type).toBe('CONNECTED')
    await platform.pass(120_000)
    expect(events.at(-1)?.type).toBe('DISCONNECTED')
  })
})

describe('a message that is no message', () => {
  it.each(['{', '[]', '{"channel":"market_data","payload":null}', '{"type":"subscribe"}', NO_TIME, NO_DECIMAL])(
    'an invalid message ends the connection: %s',
    async (text) => {
      const { platform } = await served()
      platform.socketNow.receive(text)
      expect(platform.socketNow.isClosed).toBe(true)
      expect(await untilNextSocket(platform, 2_000)).toBeDefined()
    },
  )

  it('a message with an unknown channel or type, which a later service may add, is ignored', async () => {
    const { platform } = await served()
    platform.socketNow.receive({ channel: 'news', payload: 1 })
    platform.socketNow.receive({ type: 'greeting' })
    expect(platform.socketNow.isClosed).toBe(false)
  })

  it("an unreadable request ends the client's connection for good", async () => {
    const { platform, client } = await served()
    const executions = client.executions(M).catch((error) => error)
    await settled()
    platform.socketNow.receive({ type: 'error', error: 'MALFORMED_REQUEST', message: 'too many channels' })
    expect(await executions).toMatchObject({ code: 'PROTOCOL_ERROR', message: expect.stringContaining('too many') })
  })

  it('the client connects again after an internal error of the service', async () => {
    const { platform } = await served()
    platform.socketNow.receive({ type: 'error', error: 'INTERNAL_SERVER_ERROR', message: 'an error' })
    expect(await untilNextSocket(platform, 2_000)).toBeDefined()
  })
})

describe('a signal', () => {
  it('a signal ends the wait for a book, and names what it waited for', async () => {
    const stop = new AbortController()
    const platform = new FakePlatform()
    const client = new StreamClient({ credentials: CREDENTIALS }, platform)
    const opening = client.book(M, { signal: stop.signal }).catch((error) => error)
    await settled()
    platform.answer = (url) =>
      url.endsWith('token') ? { status: 200, body: { access_token: 't', expires_in: 60 } } : { status: 503 }
    platform.socketNow.refuse()
    await settled()
    stop.abort(new Error('enough'))
    expect(await opening).toMatchObject({
      code: 'UNREACHABLE',
      message: 'gave up on BTCUSD: wss://api.example.com/ answered 503',
      cause: { message: 'enough' },
    })
    expect(await untilNextSocket(platform, 60_000)).toBeUndefined()
  })

  it('a signal that was aborted before opens nothing', async () => {
    const platform = new FakePlatform()
    const client = new StreamClient({ credentials: CREDENTIALS }, platform)
    await expect(client.book(M, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
    expect(platform.fetched).toEqual([])
  })
})

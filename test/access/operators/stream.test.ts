/** The stream of the operator listener: who may open it, what it shows, and when it is closed. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { LiveStream } from '../../streaming/gateway/live-stream.ts'
import { once } from '../../support/awaited.ts'
import { OPERATOR_TOKEN, type OperatorNode, openOperatorNode, Person } from './operator-node.ts'

const live = new LiveStream({ markets: ['AAAUSD'], depth: 5 })
const sockets: WebSocket[] = []
let node: OperatorNode

beforeAll(async () => {
  live.snapshot()
  node = await openOperatorNode({ hub: live.hub })
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate()
})
afterAll(() => node?.close())

const bearer = { authorization: `Bearer ${OPERATOR_TOKEN}` }

interface Opening {
  readonly socket?: WebSocket
  readonly status?: number
  readonly code?: string
}

/** The open socket, or the refusal. */
async function connect(
  headers: Readonly<Record<string, string>>,
  path = '/admin/v1/stream',
  protocols: string[] = ['tidegate.v1'],
  { url }: Pick<OperatorNode, 'url'> = node,
): Promise<Opening> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, protocols, { headers })
  sockets.push(socket)
  return await new Promise((resolve, reject) => {
    socket.once('open', () => resolve({ socket }))
    socket.once('error', reject)
    socket.once('unexpected-response', (_request, answer) => {
      let text = ''
      answer.on('data', (data) => {
        text += data
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, code: JSON.parse(text).code }))
    })
  })
}

describe('the stream of the operator listener', () => {
  it('the operator stream shows the book of every market, and is in no count of the customers’ connections', async () => {
    const { socket } = await connect(bearer)
    expect(socket?.protocol).toBe('tidegate.v1')
    const message = once(socket as WebSocket, 'message')
    socket?.send(
      JSON.stringify({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] }),
    )
    // The hub has a clock of its own, whose ticks end when the test says so.
    const ticks = setInterval(() => live.clock.settle(), 5)
    expect(String((await message.finally(() => clearInterval(ticks)))[0])).toContain('AAAUSD')
    expect([live.hub.sessions.size, [...live.hub.markets][0]?.clientCount]).toEqual([0, 0])
  })

  it('the operator stream is refused without credentials, without the extended protocol, and on every other listener', async () => {
    expect(await connect({})).toEqual({ status: 401, code: 'unauthorized' })
    expect(await connect({ authorization: 'Bearer wrong' })).toEqual({ status: 401, code: 'invalid_token' })
    expect(await connect(bearer, undefined, ['tidegate.default'])).toEqual({ status: 400, code: 'bad_handshake' })
    for (const path of ['/', '/livez', '/admin/v1/markets', '/admin/v1/stream/x', '/console/']) {
      expect([path, await connect(bearer, path)]).toEqual([path, { status: 404, code: 'not_found' }])
    }
    expect(await connect({ ...bearer, host: 'attacker.example' })).toMatchObject({ status: 421 })
  })

  it('the operator stream is opened by a session only from a page of the listener', async () => {
    const person = await Person.create(node, 'vera', 'viewer')
    const { cookie, csrf } = await person.logIn()
    const ofPage = (secret: string) => ['tidegate.v1', `bearer.${secret}`]
    const origin = node.url
    expect(await connect({ cookie }, undefined, ofPage(csrf))).toEqual({ status: 403, code: 'csrf_failed' })
    for (const protocols of [['tidegate.v1'], ofPage('tgp_wrong'), ofPage(cookie.split('=')[1] as string)]) {
      expect(await connect({ cookie, origin }, undefined, protocols)).toEqual({ status: 403, code: 'csrf_failed' })
    }
    expect(await connect({ cookie, origin: 'https://attacker.example' })).toEqual({
      status: 403,
      code: 'foreign_origin',
    })
    const { socket } = await connect({ cookie, origin }, undefined, ofPage(csrf))
    expect([socket?.readyState, socket?.protocol]).toEqual([WebSocket.OPEN, 'tidegate.v1'])
    expect(await connect({ cookie: 'tidegate-operator=tgs_wrong', origin: node.url })).toEqual({
      status: 401,
      code: 'session_ended',
    })
  })

  it('the operator stream is closed at once when its session or token ends, and other streams are not', async () => {
    const person = await Person.create(node, 'otto', 'viewer')
    const { body: token } = await node.ask('POST', '/operators/otto/tokens', { name: 'display' })
    const other = await connect(bearer)
    const endings: (readonly [string, (headers: Readonly<Record<string, string>>) => Promise<unknown>])[] = [
      ['session', (headers) => node.ask('DELETE', '/session', undefined, headers)],
      ['session', () => node.ask('PATCH', '/operators/otto', { role: 'reviewer' })],
      ['token', () => node.ask('DELETE', `/operators/otto/tokens/${token.id}`)],
      ['session', () => node.ask('PATCH', '/operators/otto', { enabled: false })],
    ]
    for (const [way, end] of endings) {
      const { headers } = await person.logIn()
      const opening = way === 'session' ? headers : { authorization: `Bearer ${token.token}` }
      const { socket } = await connect(opening)
      const closed = once(socket as WebSocket, 'close')
      await end(headers)
      const [code, reason] = await closed
      expect([code, String(reason)]).toEqual([4003, 'access revoked'])
    }
    expect(other.socket?.readyState).toBe(WebSocket.OPEN)
  })

  it('the operator stream is closed at once when its session ends on another node', async () => {
    const person = await Person.create(node, 'nora', 'viewer')
    const { headers } = await person.logIn()
    const { socket } = await connect(headers)
    const second = await openOperatorNode({ db: node.db })
    try {
      const closed = once(socket as WebSocket, 'close')
      await second.ask('DELETE', '/session', undefined, { ...headers, origin: second.url })
      expect((await closed)[0]).toBe(4003)
    } finally {
      await second.close()
    }
  })

  it('the operator stream is closed at once when its session was idle for too long, and use on any node moves that end', async () => {
    const person = await Person.create(node, 'ines', 'viewer')
    const { headers } = await person.logIn()
    const second = await openOperatorNode({ db: node.db, hub: live.hub })
    const minutes = (count: number) => {
      for (const { clock } of [node, second]) clock.advance(count * 60_000)
    }
    second.clock.advance(node.clock.wallInstant().milliseconds - second.clock.wallInstant().milliseconds)
    try {
      const { socket } = await connect({ ...headers, origin: second.url }, undefined, undefined, second)
      minutes(20)
      await node.ask('GET', '/session', undefined, headers)
      minutes(10)
      await looks(second)
      minutes(19)
      await looks(second)
      expect(socket?.readyState).toBe(WebSocket.OPEN)
      const closed = once(socket as WebSocket, 'close')
      second.clock.advance(60_000)
      expect(await withoutTime(second, closed)).toEqual([4003, Buffer.from('access revoked')])
    } finally {
      await second.close()
    }
  })

  it('the operator stream is closed at once twelve hours after the login, however much it is used', async () => {
    const person = await Person.create(node, 'hugo', 'viewer')
    const { headers } = await person.logIn()
    const { socket } = await connect(headers)
    for (let count = 0; count < 28; count++) {
      node.clock.advance(25 * 60_000)
      expect((await node.ask('GET', '/session', undefined, headers)).status).toBe(200)
    }
    node.clock.advance(20 * 60_000 - 1)
    await looks(node)
    expect(socket?.readyState).toBe(WebSocket.OPEN)
    const closed = once(socket as WebSocket, 'close')
    node.clock.advance(1)
    expect(await withoutTime(node, closed)).toEqual([4003, Buffer.from('access revoked')])
  })

  it('the operator stream is closed at once when a further login ends its session', async () => {
    const person = await Person.create(node, 'paul', 'viewer')
    const { headers } = await person.logIn()
    const { socket } = await connect(headers)
    const closed = once(socket as WebSocket, 'close')
    for (let count = 0; count < 10; count++) await person.logIn()
    expect(await withoutTime(node, closed)).toEqual([4003, Buffer.from('access revoked')])
  })
})

/** Waits while the timers that are due run and time does not advance, so that none of the regular looks happens. */
async function withoutTime<Result>({ clock }: OperatorNode, result: Promise<Result>): Promise<Result> {
  const timer = setInterval(() => clock.advance(0), 5)
  return await result.finally(() => clearInterval(timer))
}

/** Gives looks at the store that are due time to end: as many requests, which also read it. */
async function looks(node: OperatorNode): Promise<void> {
  for (let count = 0; count < 5; count++) {
    node.clock.advance(0)
    await node.ask('GET', '/operators')
  }
}

import { describe, expect, test } from 'vitest'
import type { AffectedTokens } from '../../../src/access/clients/affected-tokens.ts'
import { BID } from '../../../src/streaming/market/event.ts'
import { awaited } from '../../support/awaited.ts'
import { LiveStream } from './live-stream.ts'

describe('draining', () => {
  test('a draining hub closes with 1012, spread over the seconds given, and resolves with the last connection', async () => {
    const stream = new LiveStream()
    const clients = Array.from({ length: 10 }, () => stream.connect())
    let next = 0
    stream.random = () => next++ / 10
    let drained = false
    const done = stream.hub.drain(5).then(() => {
      drained = true
    })
    const closed = () => clients.filter(({ transport }) => transport.closed !== undefined).length
    for (let half = 0; half < 10; half++) {
      stream.clock.advance(half === 0 ? 0 : 500)
      expect(closed()).toBe(half + 1)
    }
    expect(clients[3]?.transport.closed).toEqual({ code: 1012, reason: 'restarting' })
    for (const [index, client] of clients.entries()) {
      await Promise.resolve()
      expect(drained, `client ${index}`).toBe(false)
      client.session.end()
    }
    await done
    expect(drained).toBe(true)
  })

  test('a hub without connections drains at once', async () => {
    const stream = new LiveStream()
    await awaited('the end of the drain', stream.hub.drain(5))
    const client = stream.connect()
    client.session.end()
    await awaited('the end of the drain', stream.hub.drain(5))
  })

  test('a draining hub sends data until a session is closed', () => {
    const stream = new LiveStream()
    stream.snapshot()
    const client = stream.connect()
    client.subscribe('AAAUSD market_data')
    void stream.hub.drain(5)
    stream.clock.advance(2_000)
    stream.update([{ side: BID, price: 100, amount: 7 }])
    expect(client.read()).toHaveLength(1)
    stream.clock.advance(500)
    expect(client.transport.closed?.code).toBe(1012)
  })
})

test('connections are counted for each client until they have ended', () => {
  const stream = new LiveStream()
  const [first, second, other] = [stream.connect(), stream.connect(), stream.connect({ clientId: 'other' })]
  expect([stream.hub.useOf('client').connections, stream.hub.useOf('other').connections]).toEqual([2, 1])
  first.session.close('operator')
  expect(stream.hub.useOf('client').connections).toBe(2)
  first.session.end()
  first.session.end()
  expect(stream.hub.useOf('client').connections).toBe(1)
  second.session.end()
  other.session.end()
  expect([stream.hub.useOf('client').connections, stream.hub.useOf('other').connections]).toEqual([0, 0])
  expect(stream.hub.useOf('nobody').connections).toBe(0)
  expect(stream.hub.sessions.size).toBe(0)
})

test('closeWhere closes sessions with a cause, each with its own', () => {
  const stream = new LiveStream()
  const [kept, revoked, closed] = [
    stream.connect({ clientId: 'kept' }),
    stream.connect({ clientId: 'revoked' }),
    stream.connect({ clientId: 'closed' }),
  ]
  const causes = { kept: undefined, revoked: 'revoked', closed: 'operator' } as const
  stream.hub.closeWhere(({ token }) => causes[token.clientId as keyof typeof causes])
  expect(kept.transport.closed).toBeUndefined()
  expect(revoked.transport.closed).toEqual({ code: 4003, reason: 'access revoked' })
  expect(closed.transport.closed?.code).toBe(1001)
})

test('a change of access asks only about the sessions that a change affects', () => {
  const stream = new LiveStream()
  const clientIds = ['a', 'b', 'b', 'c']
  for (const clientId of clientIds) stream.connect({ clientId })
  const askedFor = (affected: Partial<AffectedTokens>) => {
    const asked: string[] = []
    const ask = ({ token }: { readonly token: { readonly clientId: string } }) => {
      asked.push(token.clientId)
      return undefined
    }
    stream.hub.applyAccess(ask, { all: false, customerIds: new Set(), clientIds: new Set(), ...affected })
    return asked
  }
  expect(askedFor({})).toEqual([])
  expect(askedFor({ clientIds: new Set(['b', 'unknown']) })).toEqual(['b', 'b'])
  expect(askedFor({ all: true })).toEqual(clientIds)
})

test('a stopping hub cuts all sessions, and nothing is written after it', () => {
  const stream = new LiveStream({ settings: { staleSeconds: 5 } })
  stream.snapshot()
  const client = stream.connect()
  client.subscribe('AAAUSD market_data', 'heartbeat')
  stream.lose()
  const { length } = client.transport.writes
  stream.hub.stop()
  stream.snapshot()
  stream.clock.advance(60_000)
  expect(client.transport.isOpen).toBe(false)
  expect(client.transport.closed).toBeUndefined()
  expect(client.transport.writes.length).toBe(length)
})

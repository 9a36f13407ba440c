/** The sample client verifies the service in other tests, so these tests check that it detects every error it must. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeService, type FakeServiceOptions } from './fake-service.ts'
import { fetchToken, HandshakeRefused, SampleClient, sortedLevels } from './sample-client.ts'
import { execution, heartbeat, snapshot, top, update } from './wire.ts'

const M = 'BTCUSD'
const BOOK = snapshot(
  M,
  10,
  [
    ['100.00', '1.5'],
    ['99.00', '2.0'],
  ],
  [['101.00', '1.0']],
)

let service: FakeService

async function connect(options?: FakeServiceOptions): Promise<SampleClient> {
  await service.close()
  service = await FakeService.start(options)
  const { url, clientId, clientSecret } = service
  const token = await fetchToken({ authUrl: url, clientId, clientSecret })
  return SampleClient.connect({ wsUrl: `ws://127.0.0.1:${service.port}`, token })
}

beforeEach(async () => {
  service = await FakeService.start()
})

afterEach(() => service.close())

describe('SampleClient', () => {
  it('SampleClient rebuilds the book, and keeps what it received', async () => {
    const client = await connect()
    const reply = await client.subscribeAll(M)
    expect(reply.channels).toHaveLength(4)
    const connection = await service.connection(0)
    for (const message of [
      BOOK,
      top(M, 10, ['100.00', '1.5'], ['101.00', '1.0']),
      execution(M, 11, '101.00', '1.0'),
      update(
        M,
        11,
        [
          ['99.00', '0'],
          ['9.00', '3.0'],
        ],
        [
          ['101.00', '0'],
          ['102.00', '1.0'],
        ],
      ),
      top(M, 11, ['100.00', '1.5'], ['102.00', '1.0']),
      heartbeat(12),
    ]) {
      connection.send(message)
    }
    await client.until('a heartbeat', () => client.counts.heartbeats === 1)
    expect(sortedLevels(client.book(M), 'bids')).toEqual([
      { price: '100.00', amount: '1.5' },
      { price: '9.00', amount: '3.0' },
    ])
    expect(sortedLevels(client.book(M), 'asks')).toEqual([{ price: '102.00', amount: '1.0' }])
    expect(client.executions).toEqual([
      { market: M, price: '101.00', amount: '1.0', executed_at: '2026-01-01T00:00:00.011Z' },
    ])
    expect(client.counts).toMatchObject({
      messages: 7,
      snapshots: 1,
      updates: 1,
      tops: 2,
      executions: 1,
      heartbeats: 1,
    })
    expect(client.problems).toEqual([])
    connection.close(1012, 'restarting')
    await client.untilClosed()
    expect(client.closed).toEqual({ code: 1012, reason: 'restarting' })
  })

  it.each([
    {
      title: 'an UPDATE before the SNAPSHOT',
      messages: [update(M, 1, [['1.00', '1.0']], [])],
      problem: 'before its SNAPSHOT',
    },
    { title: 'a time again', messages: [BOOK, update(M, 10, [['1.00', '1.0']], [])], problem: 'is not later than' },
    { title: 'a crossed book', messages: [BOOK, update(M, 11, [['101.00', '1.0']], [])], problem: 'crossed' },
    { title: 'another best', messages: [BOOK, top(M, 10, ['100.00', '1.4'], ['101.00', '1.0'])], problem: 'top bids' },
    {
      title: 'a missing best',
      messages: [BOOK, top(M, 10, ['100.00', '1.5'], undefined)],
      problem: 'top asks nothing',
    },
    { title: 'an unknown channel', messages: [{ channel: 'trades', payload: {} }], problem: 'unknown channel' },
  ])('SampleClient detects $title', async ({ messages, problem }) => {
    const client = await connect()
    await client.subscribeAll(M)
    const connection = await service.connection(0)
    for (const message of messages) connection.send(message)
    await client.until('all of it', () => client.counts.messages === messages.length + 1)
    expect(client.problems).toHaveLength(1)
    expect(client.problems[0]).toContain(problem)
    client.terminate()
  })

  it('SampleClient applies buffered updates that are later than the SNAPSHOT', async () => {
    const client = await connect()
    await client.subscribeAll(M)
    const connection = await service.connection(0)
    connection.send(update(M, 9, [['1.00', '1.0']], []))
    connection.send(update(M, 11, [['2.00', '1.0']], []))
    connection.send(BOOK)
    await client.until('the SNAPSHOT', () => client.book(M).isComplete)
    expect([...client.book(M).bids.keys()].sort()).toEqual(['100.00', '2.00', '99.00'])
    client.terminate()
  })

  it('SampleClient stops reading its socket', async () => {
    const client = await connect()
    await client.subscribeAll(M)
    client.pause()
    const connection = await service.connection(0)
    connection.send({ channel: 'filler', payload: {} })
    const begun = connection.flushed()
    // Many times what one socket read returns. How much the kernel buffers depends on the machine.
    const filler = 'x'.repeat(1024 * 1024)
    for (let index = 0; index < 30; index++) connection.send({ channel: 'filler', payload: { filler } })
    await begun
    for (let tick = 0; tick < 500; tick++) await new Promise((resolve) => setImmediate(resolve))
    expect(client.counts.messages).toBe(1)
    client.resume()
    await client.until('all of it', () => client.counts.messages === 32)
    client.terminate()
  })

  it('SampleClient reports how a handshake was refused', async () => {
    const refused = connect({ handshakes: [{ status: 403, headers: { 'x-reason': 'not on the list' } }] })
    await expect(refused).rejects.toThrow(HandshakeRefused)
    await expect(refused).rejects.toMatchObject({ status: 403, headers: { 'x-reason': 'not on the list' } })
  })

  it('SampleClient rejects pending waits when the connection is closed', async () => {
    const client = await connect()
    await client.subscribeAll(M)
    const waiting = client.until('a heartbeat', () => client.counts.heartbeats > 0)
    ;(await service.connection(0)).close(4003, 'access revoked')
    await expect(waiting).rejects.toThrow('4003')
  })
})

/** The adapters' library: its token requests, and what its calls publish. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Publisher } from '../../packages/publisher/publisher.mjs'
import { systemClock } from '../../packages/publisher/runtime.mjs'
import { TokenSource } from '../../packages/publisher/token.mjs'
import { once } from '../support/awaited.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { CLIENT, FakeIngest } from './fake-ingest.ts'

const INSTRUMENT = { price_decimals: 2, amount_decimals: 8, state: 'OPEN', reason: '' } as const
const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** A token endpoint with this answer, and its address. */
async function endpoint(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    listener(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function errorOf(authUrl: string): Promise<string> {
  return await new TokenSource({ authUrl, ...CLIENT }, systemClock).get().catch((error: Error) => error.message)
}

describe('the token of a publisher', () => {
  it('a redirect takes the secret of a publisher to no other address', async () => {
    let redirected = 0
    const elsewhere = await endpoint((_request, response) => {
      redirected++
      response.end('{}')
    })
    const authUrl = await endpoint((_request, response) => {
      response.writeHead(307, { location: `${elsewhere}/oauth2/token` }).end()
    })
    expect(await errorOf(authUrl)).toContain('no token: status 307')
    expect(redirected).toBe(0)
  })

  it('the error of a refused token names the status where a proxy answers with a page', async () => {
    const authUrl = await endpoint((_request, response) => {
      response.writeHead(502).end('<html>Bad Gateway</html>')
    })
    expect(await errorOf(authUrl)).toContain('no token: status 502')
  })

  it('the error of a token endpoint that does not answer has the reason', async () => {
    const authUrl = await endpoint((request) => request.socket.destroy())
    const text = await errorOf(authUrl)
    expect(text).toContain('the token endpoint does not answer: ')
    expect(text).not.toContain('fetch failed')
    expect(text).not.toContain(CLIENT.clientSecret)
  })
})

describe('a publisher', () => {
  async function publishing(options: Partial<ConstructorParameters<typeof Publisher>[0]> = {}) {
    const ingest = await FakeIngest.start(['BTCUSD'])
    ends.push(() => ingest.stop())
    const publisher = new Publisher({
      ...ingest.options,
      markets: ['BTCUSD'],
      snapshotOf: () => ({ time: new Date().toISOString(), instrument: INSTRUMENT, bids: [], asks: [] }),
      backoffMillisecondsMax: 1,
      log: () => undefined,
      ...options,
    })
    ends.push(() => publisher.stop())
    publisher.begin('BTCUSD', 'first')
    publisher.snapshot('BTCUSD')
    publisher.start()
    const book = ingest.book('BTCUSD')
    await ingest.until('the book', () => book.snapshots === 1)
    return { ingest, publisher, book }
  }

  it('a publisher that begins an epoch loses the book of the epoch before', async () => {
    const { ingest, publisher, book } = await publishing()
    publisher.begin('BTCUSD', 'second')
    await ingest.until('the loss', () => book.state === 'lost')
    publisher.snapshot('BTCUSD')
    await ingest.until('the book of the second epoch', () => book.snapshots === 2)
    expect([book.epoch, ingest.violations]).toEqual(['second', []])
  })

  it('a publisher whose token was revoked reconnects with a new one', async () => {
    const { ingest } = await publishing()
    ingest.close(4001)
    await ingest.until('another connection', () => ingest.connections === 2)
    expect([ingest.tokenRequests, ingest.violations]).toEqual([2, []])
  })

  it('a publisher whose access was revoked reports it, and does not connect again', async () => {
    let revocations = 0
    const { ingest } = await publishing({ onRevoked: () => revocations++ })
    ingest.close(4003)
    await vi.waitFor(() => expect(revocations).toBe(1))
    // Otherwise it connects again within milliseconds.
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect([revocations, ingest.connections, ingest.violations]).toEqual([1, 1, []])
  })

  it('a publisher of a quiet market sends its book to the next connection, where nothing else would begin a line', async () => {
    const { ingest, publisher, book } = await publishing()
    publisher.update('BTCUSD', { time: new Date().toISOString(), bids: [{ price: '1', amount: '1' }] })
    await ingest.until('the update', () => book.updates === 1)
    ingest.drop()
    await ingest.until('the book again', () => book.snapshots === 2)
    expect([ingest.connections, book.seq, book.missed, ingest.violations]).toEqual([2, 1, 0, []])
    // The first message after it is lost with its connection.
    ingest.drop()
    const executions = [{ id: 'T1', price: '1', amount: '1' }]
    publisher.update('BTCUSD', { time: new Date().toISOString(), executions })
    await ingest.until('the trade', () => book.seq === 2)
    expect([book.executions.map(({ id }) => id), book.missed, ingest.violations]).toEqual([['T1'], 0, []])
  })

  it('a publisher reconnects when the server dies without closing the connection, and the clock is set back', async () => {
    const clock = new VirtualClock()
    let isGivenUp = false
    const { ingest } = await publishing({
      clock: {
        now: () => clock.wallInstant().milliseconds,
        monotonic: () => clock.monotonicMilliseconds(),
        schedule: (milliseconds, callback) => clock.schedule(milliseconds, callback),
      },
      log: (_level, message) => (isGivenUp ||= message.startsWith('the server neither answers')),
    })
    const pass = async (isDone: () => boolean) => {
      for (let seconds = 0; !isDone() && seconds < 120; seconds++) {
        clock.advance(1_000)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    ingest.pause()
    clock.stepWall(-3_600_000)
    await pass(() => isGivenUp)
    ingest.resume()
    await pass(() => ingest.connections === 2)
    expect([isGivenUp, ingest.connections, ingest.violations]).toEqual([true, 2, []])
  })
})

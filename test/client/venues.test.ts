/** A book with the option `attribution`: what its levels say of venues, what it checks, and what loops over it get. */
import { expect, it } from 'vitest'
import { type Book, type BookChange, StreamClient, type StreamEvent } from '../../packages/client/src/index.ts'
import { CREDENTIALS, FakePlatform, type FakeSocket, settled } from '../support/client-platform.ts'
import { bookTime } from '../support/wire.ts'

const M = 'BTCUSD'
type Shares = readonly (readonly [venue: string, amount: string])[]
const BOTH: Shares = [
  ['kraken', '1.0000'],
  ['coinbase', '0.5000'],
]
const ONE: Shares = [['kraken', '1.5000']]

/** A message of `tidegate.v1` about bids: the SNAPSHOT `c1`, or the UPDATE that follows it, `c2` and so on. */
function message(number: number, bids: readonly object[]): object {
  const type = number === 1 ? 'SNAPSHOT' : 'UPDATE'
  const stream = { cursor: `c${number}`, ...(number === 1 ? {} : { prev: `c${number - 1}` }), covers: 1 }
  return { channel: 'market_data', payload: { market: M, type, time: bookTime(number), bids, asks: [] }, stream }
}

/** An UPDATE of the best bid. */
function update(number: number, amount: string, venues: unknown): object {
  return message(number, [{ price: '100.00', amount, venues }])
}

interface Opened {
  readonly platform: FakePlatform
  readonly socket: FakeSocket
  readonly book: Book
  readonly events: StreamEvent[]
}

/** A client whose book has received the SNAPSHOT. */
async function open(protocol = 'tidegate.v1'): Promise<Opened> {
  const platform = new FakePlatform()
  const events: StreamEvent[] = []
  const client = new StreamClient({ credentials: CREDENTIALS, onEvent: (event) => events.push(event) }, platform)
  const opening = client.book(M, { attribution: true })
  await settled()
  const socket = platform.socketNow
  socket.open(protocol)
  await settled()
  socket.acknowledge()
  const isExtended = protocol === 'tidegate.v1'
  const levels = [
    { price: '100.00', amount: '1.5000', ...(isExtended ? { venues: ONE } : {}) },
    { price: '99.00', amount: '1.0000', ...(isExtended ? { venues: [['kraken', '1.0000']] } : {}) },
  ]
  socket.receive(isExtended ? message(1, levels) : { ...message(1, levels), stream: undefined })
  return { platform, socket, book: await opening, events }
}

it('the client requests venues where the service has them', async () => {
  const { socket, book } = await open()
  const params = { market: M, attribution: true }
  expect(socket.requests[0]?.channels).toContainEqual({ type: 'market_data', params })
  expect(book.bestBid?.venues).toEqual([{ venue: 'kraken', amount: '1.5000' }])
  const base = await open('tidegate.default')
  expect(base.socket.requests[0]?.channels).toContainEqual({ type: 'market_data', params: { market: M } })
  expect(base.book.bestBid?.venues).toBeUndefined()
})

it('the client reports a level whose division alone changed, unless it changed back', async () => {
  const { socket, book } = await open()
  const changes = book[Symbol.asyncIterator]()
  await changes.next()
  socket.receive(update(2, '1.5000', BOTH))
  const [level] = ((await changes.next()).value as BookChange).bids
  expect(level?.venues).toEqual(BOTH.map(([venue, amount]) => ({ venue, amount })))
  socket.receive(update(3, '1.5000', ONE))
  socket.receive(update(4, '1.5000', BOTH))
  socket.receive(message(5, [{ price: '99.00', amount: '0' }]))
  const { bids } = (await changes.next()).value as BookChange
  expect(bids.map(({ price, amount }) => [price, amount])).toEqual([['99.00', '0']])
  // The service does not know.
  socket.receive(update(6, '1.5000', []))
  expect((await changes.next()).value.bids[0]?.venues).toEqual([])
  expect(book.status).toBe('LIVE')
})

it.each([
  ['are missing', undefined],
  ['have less', [['kraken', '1.0000']]],
  ['have other decimals', [['kraken', '1.5']]],
  ['have nothing', [...ONE, ['coinbase', '0.0000']]],
  ['are named twice', BOTH.map(([, amount]) => ['kraken', amount])],
])('a book begins again from a SNAPSHOT when the venues of a level %s', async (_name, venues) => {
  const { platform, socket, events } = await open()
  socket.receive(update(2, '1.5000', venues))
  await platform.pass(1_000)
  const reason = expect.stringContaining('venues')
  expect(events).toContainEqual({ type: 'RESYNC', market: M, channel: 'market_data', reason })
})

it.each([['kraken'], [['kraken']], [[['kraken', 1.5]]], [[[1, '1.5000']]]])(
  'the client rejects level venues of the form %j',
  async (venues) => {
    const { socket } = await open()
    socket.receive(update(2, '1.5000', venues))
    expect(socket.isClosed).toBe(true)
  },
)

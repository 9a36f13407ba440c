/** The form of a publisher's messages: what is accepted, and which member and rule a problem names. */
import { expect, it } from 'vitest'
import {
  parsePublication,
  problemText,
  readPublication,
} from '../../../../src/streaming/sources/publication/message.ts'

const TIME = '2026-11-20T12:00:00.123456789Z'
const STREAM = { epoch: 'run-1', seq: 18 }
const UPDATE = { market: 'BTCUSD', type: 'UPDATE', time: TIME }
const INSTRUMENT = { price_decimals: 2, amount_decimals: 8, state: 'OPEN' }
const SNAPSHOT = { market: 'BTCUSD', type: 'SNAPSHOT', time: TIME, instrument: INSTRUMENT, bids: [], asks: [] }
const TRADE = { id: '881', side: 'buy', venue: 'XETR', price: '60001.00', amount: '0.1' }

function parse(payload: object, stream: object = STREAM, more: object = {}) {
  return parsePublication(JSON.stringify({ channel: 'publication', payload, stream, ...more }))
}

function problem(payload: object, stream: object = STREAM): string {
  const parsed = parse(payload, stream)
  return parsed.type === 'problem' ? problemText(parsed) : `accepted: ${parsed.type}`
}

it('an UPDATE is read with levels and executions, and its prices and amounts remain text', () => {
  const bids = [{ price: '60000.10', amount: '0.25' }]
  const asks = [{ price: '60001.00', amount: '0', unknown: true }]
  const later = { ...TRADE, id: '882', side: undefined, executed_at: '2026-11-20T11:59:59.9999Z' }
  expect(parse({ ...UPDATE, bids, asks, executions: [TRADE, later], missed: 'a gap' })).toEqual({
    type: 'UPDATE',
    market: 'BTCUSD',
    timeMilliseconds: Date.UTC(2026, 10, 20, 12, 0, 0, 123),
    epoch: 'run-1',
    seq: 18,
    prev: 17,
    bids,
    asks,
    executions: [
      { ...TRADE, executedAtMilliseconds: Date.UTC(2026, 10, 20, 12, 0, 0, 123) },
      { ...TRADE, id: '882', side: undefined, executedAtMilliseconds: Date.UTC(2026, 10, 20, 11, 59, 59, 999) },
    ],
    missed: 'a gap',
    instrument: undefined,
    orders: undefined,
  })
  expect(parse(UPDATE, { epoch: 'a', seq: 9, prev: 4 })).toMatchObject({ prev: 4, bids: [], asks: [], executions: [] })
})

it('snapshots of levels and of orders, changes of orders, INSTRUMENT and LOST are read', () => {
  expect(parse(SNAPSHOT, { epoch: 'a', seq: 0 })).toMatchObject({ type: 'SNAPSHOT', seq: 0, prev: undefined })
  const order = { order_id: '1', side: 'buy', price: '1', amount: '2' }
  const { bids, asks, ...withoutLevels } = SNAPSHOT
  expect(parse({ ...withoutLevels, orders: [order] })).toMatchObject({
    orders: [{ orderId: '1', side: 'buy', price: '1', amount: '2' }],
    bids,
    asks,
  })
  const orders = [
    { type: 'order_add', ...order },
    { type: 'order_modify', order_id: '1', amount: '3' },
    { type: 'order_delete', order_id: '1' },
    { type: 'trade', ...TRADE },
  ]
  expect(parse({ ...UPDATE, orders })).toMatchObject({
    orders: [{ type: 'order_add' }, { type: 'order_modify', price: undefined }, {}, { orderId: undefined, id: '881' }],
  })
  const halted = { ...INSTRUMENT, state: 'HALTED', reason: 'volatility', simulated: true }
  expect(parse({ ...UPDATE, type: 'INSTRUMENT', ...halted })).toMatchObject({
    instrument: { priceDecimals: 2, amountDecimals: 8, state: 'HALTED', reason: 'volatility', simulated: true },
  })
  expect(parse({ ...UPDATE, type: 'INSTRUMENT', ...INSTRUMENT, state: undefined })).toMatchObject({
    instrument: { state: undefined, reason: '', simulated: false },
  })
  expect(parse({ ...UPDATE, type: 'LOST', reason: 'x'.repeat(300) }, { epoch: 'a', seq: 0 })).toMatchObject({
    type: 'LOST',
    reason: 'x'.repeat(200),
  })
})

it('heartbeats are read with the books that have a digest', () => {
  const book = { market: 'BTCUSD', epoch: 'a', seq: 3, digest: '0123456789abcdef' }
  const heartbeat = (books?: unknown) =>
    parsePublication(JSON.stringify({ channel: 'heartbeat', payload: { timestamp: TIME, books } }))
  expect(heartbeat()).toEqual({ type: 'heartbeat', books: [] })
  expect(heartbeat([book, { market: 'ETHUSD', cursor: 'a.1', digest: '0' }])).toEqual({
    type: 'heartbeat',
    books: [book],
  })
  expect(heartbeat([{ ...book, digest: 'ABC' }])).toMatchObject({
    market: 'BTCUSD',
    member: 'payload.books[0].digest',
  })
})

const bid = (price: unknown, amount: unknown = '1') => ({
  ...UPDATE,
  bids: [
    { price: '9', amount: '1' },
    { price, amount },
  ],
})

it.each([
  [problem({ ...UPDATE, type: 'UPSERT' }), 'payload.type is not one of SNAPSHOT, UPDATE, INSTRUMENT, LOST'],
  [problem({ ...UPDATE, market: '' }), 'payload.market is not 1 to 64 characters'],
  [problem({ ...UPDATE, market: undefined }), 'payload.market is missing'],
  [
    problem({ ...UPDATE, time: '2026-11-20T12:00:00+01:00' }),
    `payload.time is not an RFC 3339 time in UTC, like ${TIME}`,
  ],
  [problem({ ...UPDATE, time: '2026-02-30T12:00:00Z' }), `payload.time is not an RFC 3339 time in UTC, like ${TIME}`],
  [problem(UPDATE, { ...STREAM, epoch: 'a.b' }), 'stream.epoch is not 1 to 64 characters of A-Z a-z 0-9 _ -'],
  [problem(UPDATE, { ...STREAM, epoch: 'a'.repeat(65) }), 'stream.epoch is not 1 to 64 characters of A-Z a-z 0-9 _ -'],
  [problem(UPDATE, { ...STREAM, seq: 0 }), 'stream.seq is not a whole number from 1 to 2^53 - 1'],
  [problem(UPDATE, { ...STREAM, seq: 2 ** 53 }), 'stream.seq is not a whole number from 1 to 2^53 - 1'],
  [problem(UPDATE, { ...STREAM, seq: '18' }), 'stream.seq is not a whole number from 1 to 2^53 - 1'],
  [problem(UPDATE, { ...STREAM, prev: 18 }), 'stream.prev is not below stream.seq'],
  [problem(bid(60_000.1)), 'payload.bids[1].price is a JSON number, but prices and amounts are text'],
  [problem(bid('-1')), 'payload.bids[1].price is not digits with an optional fraction, as text'],
  [problem(bid('1e3')), 'payload.bids[1].price is not digits with an optional fraction, as text'],
  [problem(bid('1.')), 'payload.bids[1].price is not digits with an optional fraction, as text'],
  [problem(bid('1'.repeat(41))), 'payload.bids[1].price is not digits with an optional fraction, as text'],
  [problem(bid('0.00')), 'payload.bids[1].price is not above 0'],
  [problem(bid('1', undefined)), 'accepted: UPDATE'],
  [problem({ ...UPDATE, asks: [{ price: '1' }] }), 'payload.asks[0].amount is missing'],
  [problem({ ...UPDATE, asks: {} }), 'payload.asks is not a list'],
  [problem({ ...UPDATE, asks: [7] }), 'payload.asks[0] is not an object'],
  [problem({ ...SNAPSHOT, bids: [{ price: '1', amount: '0' }] }), 'payload.bids[0].amount is not above 0'],
  [problem({ ...SNAPSHOT, bids: undefined }), 'payload.bids is missing'],
  [problem({ ...SNAPSHOT, instrument: undefined }), 'payload.instrument is missing'],
  [
    problem({ ...SNAPSHOT, orders: [] }),
    'payload.orders stands beside bids or asks, but a message has either orders or levels',
  ],
  [
    problem({ ...UPDATE, executions: [{ ...TRADE, id: 881 }] }),
    'payload.executions[0].id is not 1 to 64 printable ASCII characters',
  ],
  [
    problem({ ...UPDATE, executions: [{ ...TRADE, side: 'bid' }] }),
    'payload.executions[0].side is neither buy nor sell',
  ],
  [
    problem({ ...UPDATE, executions: [{ ...TRADE, venue: '' }] }),
    'payload.executions[0].venue is not 1 to 64 printable ASCII characters',
  ],
  [problem({ ...UPDATE, executions: [{ ...TRADE, amount: '0' }] }), 'payload.executions[0].amount is not above 0'],
  [problem({ ...UPDATE, executions: Array(100_001).fill(0) }), 'payload.executions has more than 100000 entries'],
  [problem({ ...UPDATE, bids: Array(250_001).fill(0) }), 'payload.bids has more than 250000 entries'],
  [
    problem({ ...UPDATE, orders: [{ type: 'cancel' }] }),
    'payload.orders[0].type is not one of order_add, order_modify, order_delete, trade',
  ],
  [
    problem({ ...UPDATE, type: 'INSTRUMENT', ...INSTRUMENT, state: 'open' }),
    'payload.state is not one of OPEN, HALTED, AUCTION, CLOSED',
  ],
  [
    problem({ ...UPDATE, type: 'INSTRUMENT', ...INSTRUMENT, price_decimals: 19 }),
    'payload.price_decimals is not a whole number from 0 to 18',
  ],
])('the problem of a publication message is reported: %s', (found, expected) => {
  expect(found).toBe(expected)
})

it("a message's market is named where it can be read, and whether it is a SNAPSHOT", () => {
  expect(parse({ ...SNAPSHOT, bids: 7 })).toMatchObject({ type: 'problem', market: 'BTCUSD', isSnapshot: true })
  expect(parse({ ...UPDATE, bids: 7 })).toMatchObject({ market: 'BTCUSD', isSnapshot: false })
  expect(parsePublication('{"channel":"publication"')).toMatchObject({
    market: undefined,
    member: '',
    rule: 'is not JSON',
  })
  expect(parsePublication('{"channel":"trades","payload":{}}')).toMatchObject({ member: 'channel' })
  expect(parsePublication('7')).toMatchObject({ type: 'problem', rule: 'is not an object' })
})

it('the publication reader never throws, whatever an object of a module does', () => {
  const hostile = { channel: 'publication', payload: UPDATE, stream: STREAM }
  Object.defineProperty(hostile, 'stream', {
    get: () => {
      throw new Error('a member that throws')
    },
  })
  expect(readPublication(hostile)).toMatchObject({
    type: 'problem',
    market: 'BTCUSD',
    rule: 'cannot be read: Error: a member that throws',
  })
  expect(readPublication(undefined)).toMatchObject({ type: 'problem', rule: 'is missing' })
})

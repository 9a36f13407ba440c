/** Messages of publishers as `check-publisher` reads them, compared with the reader of the service. */
import { expect, it } from 'vitest'
import { readMessage } from '../../../../src/conformance/judge/publisher/message.ts'
import { readPublication } from '../../../../src/streaming/sources/publication/message.ts'

const TIME = '2026-11-20T12:00:00.123456Z'
const INSTRUMENT = { price_decimals: 2, amount_decimals: 8, state: 'OPEN' }
const message = (payload: object, stream: object = { epoch: 'a', seq: 2 }) => ({
  channel: 'publication',
  payload: { market: 'BTCUSD', time: TIME, ...payload },
  stream,
})
const update = (payload: object, stream?: object) => message({ type: 'UPDATE', ...payload }, stream)
const snapshot = (payload: object) =>
  message({ type: 'SNAPSHOT', instrument: INSTRUMENT, bids: [], asks: [], ...payload })
const order = { type: 'order_add', order_id: 'x', side: 'buy', price: '1', amount: '2' }
const digest = '0123456789abcdef'

it.each<[string, Record<string, unknown>, string | undefined, string | undefined]>([
  ['is right', update({ bids: [{ price: '1.5', amount: '0' }] }), undefined, undefined],
  ['has an unknown member', update({ later: 1, bids: [{ price: '1', amount: '1', later: 1 }] }), undefined, undefined],
  [
    'is a SNAPSHOT of orders',
    message({ type: 'SNAPSHOT', instrument: INSTRUMENT, orders: [order] }),
    undefined,
    undefined,
  ],
  ['has an unknown channel', { channel: 'x' }, 'channel is neither publication nor heartbeat', undefined],
  [
    'has an unknown type',
    message({ type: 'X' }),
    'payload.type is not one of SNAPSHOT, UPDATE, INSTRUMENT, LOST',
    undefined,
  ],
  ['has no stream', { ...update({}), stream: undefined }, 'stream is missing', undefined],
  ['has no time', update({ time: undefined }), 'payload.time is missing', undefined],
  ['has no price', update({ bids: [{ amount: '1' }] }), 'payload.bids[0].price is missing', undefined],
  [
    'has a price as a number',
    update({
      asks: [
        { price: '1', amount: '1' },
        { price: 7, amount: '1' },
      ],
    }),
    'payload.asks[1].price is a JSON number, but prices and amounts are text',
    'number-not-text',
  ],
  [
    'has an order amount as a number',
    update({ orders: [{ ...order, amount: 7 }] }),
    'payload.orders[0].amount is a JSON number, but prices and amounts are text',
    'number-not-text',
  ],
  [
    'has an order of an unknown type',
    update({ orders: [order, { type: 'x' }] }),
    'payload.orders[1].type is not an order change type',
    undefined,
  ],
  [
    'has an order without an id',
    update({ orders: [{ type: 'order_delete' }] }),
    'payload.orders[0].order_id is missing',
    undefined,
  ],
  [
    'has orders beside levels',
    update({ orders: [], bids: [] }),
    'payload.orders stands beside bids or asks, but a message has either orders or levels',
    'orders-and-levels-mixed',
  ],
  [
    'is a SNAPSHOT without asks',
    message({ type: 'SNAPSHOT', instrument: INSTRUMENT, bids: [] }),
    'payload.asks is missing',
    undefined,
  ],
  [
    'is a SNAPSHOT without an instrument',
    message({ type: 'SNAPSHOT', bids: [], asks: [] }),
    'payload.instrument is missing',
    'snapshot-without-instrument',
  ],
  [
    'is a SNAPSHOT with a text as instrument',
    snapshot({ instrument: 'x' }),
    'payload.instrument must be object',
    'snapshot-without-instrument',
  ],
  [
    'has a prev that is not below seq',
    update({}, { epoch: 'a', seq: 2, prev: 2 }),
    'stream.prev is not below stream.seq',
    undefined,
  ],
  [
    'has a day that its month lacks',
    update({ time: '2026-02-30T00:00:00Z' }),
    'payload.time is on a day that does not exist',
    undefined,
  ],
  [
    'has an execution on a day that its month lacks',
    update({ executions: [{ id: 'x', price: '1', amount: '1', executed_at: '2026-02-30T00:00:00Z' }] }),
    'payload.executions[0].executed_at is on a day that does not exist',
    undefined,
  ],
  [
    'has a trade on a day that its month lacks, after an order with such an unknown member',
    update({
      orders: [
        { ...order, executed_at: '2026-02-30T00:00:00Z' },
        { type: 'trade', id: 'x', price: '1', amount: '1', executed_at: '2026-02-30T00:00:00Z' },
      ],
    }),
    'payload.orders[1].executed_at is on a day that does not exist',
    undefined,
  ],
  [
    'is a heartbeat with a wrong digest',
    { channel: 'heartbeat', payload: { books: [{ market: 'B', epoch: 'a', seq: 1, digest: 'x' }] } },
    'payload.books[0] lacks a valid market, epoch, seq or digest',
    undefined,
  ],
  [
    'is a heartbeat with another kind of book',
    { channel: 'heartbeat', payload: { books: [{ market: 7 }, { market: 'B', epoch: 'a', seq: 1, digest }] } },
    undefined,
    undefined,
  ],
])('a message that %s is read as the service reads it', (_, value, text, special) => {
  const parsed = JSON.parse(JSON.stringify(value))
  const read = readMessage(parsed)
  const ofService = readPublication(parsed)
  expect(read.type === 'problem').toBe(ofService.type === 'problem')
  if (read.type !== 'problem' || ofService.type !== 'problem') return
  expect(read).toMatchObject({ market: ofService.market, isSnapshot: ofService.isSnapshot })
  expect({ text: read.text, special: read.special }).toEqual({ text, special })
})

it('the members that both readers keep are the same', () => {
  const execution = { id: 'e', price: '1', amount: '1', executed_at: TIME }
  const value = update(
    { bids: [{ price: '1', amount: '1' }], executions: [execution] },
    { epoch: 'a', seq: 3, prev: 1 },
  )
  const { instrument: _, ...ofService } = readPublication(value) as unknown as Record<string, unknown>
  expect(readMessage(value)).toMatchObject(ofService)
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BusFormatError } from '../../../src/streaming/links/bus-bytes.ts'
import {
  decodeHeartbeats,
  decodeMessages,
  decodeState,
  encodeHeartbeats,
  encodeMessages,
  encodeState,
} from '../../../src/streaming/links/bus-codec.ts'
import { decodeStateRequest, encodeStateRequest } from '../../../src/streaming/links/bus-requests.ts'
import {
  ASK,
  BID,
  type Execution,
  INSTRUMENT_STATES,
  type Instrument,
  type LevelChange,
} from '../../../src/streaming/market/event.ts'
import type { Commit, MarketState } from '../../../src/streaming/sequencing/bus.ts'

const SEED = 20_261_123
const SCALE = { market: 'BTCUSD', priceDecimals: 2, amountDecimals: 8 }

const integer = fc.maxSafeNat()
const large = fc.bigInt({ min: 2n ** 53n, max: 2n ** 200n })
const scaled = fc.oneof(
  integer,
  large,
  fc.constantFrom(0, Number.MAX_SAFE_INTEGER, 2n ** 53n, 127, 128, 2 ** 28, 2 ** 32),
)
const text = fc.string({ maxLength: 40, unit: 'grapheme' })
const optional = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined })

/** Removes members that are undefined, which a message does not have. */
function present<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Value
}

const level = fc.record({
  side: fc.constantFrom(BID, ASK),
  price: integer,
  amount: scaled,
}) as fc.Arbitrary<LevelChange>
const execution = fc
  .record({
    price: integer,
    amount: scaled,
    id: optional(text),
    side: fc.constantFrom(undefined, 'buy', 'sell'),
    executedAtMilliseconds: optional(integer),
    venue: optional(text),
  })
  .map((made) => present(made) as Execution)
const instrument = fc
  .record({ state: fc.constantFrom(...INSTRUMENT_STATES), reason: text, simulated: fc.constantFrom(undefined, true) })
  .map((made) => present(made) as Instrument)
const attribution = fc.oneof(
  fc.record({ type: fc.constant('only' as const), venue: text }),
  fc.record({
    type: fc.constantFrom('all' as const, 'some' as const),
    levels: fc.array(
      fc.record({
        side: fc.constantFrom(BID, ASK),
        price: integer,
        venues: fc.array(fc.tuple(fc.oneof(text, fc.constantFrom('kraken', 'coinbase')), scaled), { maxLength: 3 }),
      }),
    ),
  }),
)
const head = {
  market: text,
  epoch: text,
  version: integer,
  milliseconds: integer,
  nanoseconds: fc.nat(999_999),
  receivedMilliseconds: fc.double({ noNaN: true }),
}
const continues = optional(fc.record({ epoch: text, executionNumber: integer }))
const commit = fc
  .record({
    type: fc.constant('commit' as const),
    ...head,
    changes: fc.array(level),
    attribution: optional(attribution),
    executions: fc.array(execution, { maxLength: 5 }),
    missedAt: fc.constantFrom(undefined, 0),
    executionNumber: integer,
    book: optional(fc.array(level)),
    beginsBook: fc.constantFrom(undefined, true),
    withdraws: fc.constantFrom(undefined, true),
    origin: optional(text),
    instrument: fc.oneof(fc.constant(undefined), fc.constant(null), instrument),
    continues,
  })
  .map((made) => present(made) as Commit)
const status = fc.record({
  type: fc.constant('status' as const),
  market: text,
  epoch: text,
  version: integer,
  live: fc.boolean(),
  reason: text,
})
const state = fc
  .record({
    type: fc.constant('state' as const),
    ...head,
    levels: fc.array(level),
    attribution: optional(attribution),
    hasBook: fc.boolean(),
    isWithdrawn: fc.boolean(),
    live: fc.boolean(),
    reason: text,
    executionNumber: fc.integer({ min: 5, max: 1e9 }),
    executions: fc.array(fc.record({ execution, version: integer, commitMilliseconds: integer }), { maxLength: 5 }),
    origin: optional(text),
    instrument: optional(instrument),
    continues,
  })
  .map((made) => present(made) as MarketState)

describe('the codec of the bus', () => {
  test('the bus codec returns every message as it was, amounts beyond safe integers included', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(commit, status), { maxLength: 4 }), (messages) => {
        const sent = messages.map((message) => ({ ...message, market: SCALE.market }))
        expect(decodeMessages(encodeMessages(SCALE, sent))).toEqual({ scale: SCALE, messages: sent })
      }),
      { seed: SEED, numRuns: 300 },
    )
  })

  test('the bus codec returns every state, heartbeat and request', () => {
    fc.assert(
      fc.property(state, status, integer, (made, { market, epoch, version, live, reason }, number) => {
        const sent = { ...made, market: SCALE.market }
        expect(decodeState(encodeState(SCALE, sent))).toEqual({ scale: SCALE, state: sent })
        const heartbeat = { ...SCALE, market, epoch, version, live, reason }
        expect(decodeHeartbeats(encodeHeartbeats([heartbeat, heartbeat]))).toEqual([heartbeat, heartbeat])
        const request = { ...SCALE, market, epoch, version, executionNumber: number, milliseconds: version }
        expect(decodeStateRequest(encodeStateRequest(request))).toEqual(request)
      }),
      { seed: SEED, numRuns: 200 },
    )
  })

  test('the bus codec refuses bytes that end early or are too many, and never reads beyond them', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(commit, status), { maxLength: 2 }), fc.nat(1e6), (messages, place) => {
        const bytes = encodeMessages(SCALE, messages)
        const cut = bytes.subarray(0, place % bytes.length)
        expect(() => decodeMessages(cut)).toThrow(BusFormatError)
        expect(() => decodeMessages(Buffer.concat([bytes, Buffer.of(0)]))).toThrow(BusFormatError)
      }),
      { seed: SEED, numRuns: 200 },
    )
  })

  test('the bus codec answers any bytes with a message or a BusFormatError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        for (const decode of [decodeMessages, decodeState, decodeHeartbeats, decodeStateRequest]) {
          try {
            decode(Buffer.from([1, ...bytes]))
          } catch (error) {
            expect(error).toBeInstanceOf(BusFormatError)
          }
        }
      }),
      { seed: SEED, numRuns: 1_000 },
    )
  })

  test('the bus codec names another format', () => {
    expect(() => decodeMessages(Buffer.of(9, 0))).toThrow('a message has the format 9, but this release reads format 1')
  })
})

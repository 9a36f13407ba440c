/** Golden pairs: for every rule a stream that breaks only that rule, and a correct stream that breaks none. */
import { describe, expect, it } from 'vitest'
import { type RequestedChannel, StreamChecker } from '../../../../src/conformance/judge/stream/stream-checker.ts'
import { VIOLATIONS, type ViolationName } from '../../../../src/conformance/judge/stream/violations.ts'
import { digestOf } from '../../../support/extended-verifier.ts'
import {
  acknowledged,
  bookTime,
  execution,
  heartbeat,
  nanosecondTime,
  snapshot,
  top,
  update,
} from '../../../support/wire.ts'

const M = 'BTCUSD'

/** A connection with all subscriptions and its book: 100.00 / 101.00, three levels per side. */
const OPENING: object[] = [
  acknowledged(M),
  snapshot(
    M,
    1,
    [
      ['100.00', '1.5000'],
      ['99.00', '2.0000'],
      ['9.00', '0.5000'],
    ],
    [
      ['101.00', '1.0000'],
      ['102.00', '3.0000'],
      ['1000.00', '0.0001'],
    ],
  ),
  top(M, 1, ['100.00', '1.5000'], ['101.00', '1.0000']),
  heartbeat(1),
]

const CLEAN: object[] = [
  ...OPENING,
  execution(M, 2, '101.00', '1.0000'),
  update(M, 2, [], [['101.00', '0']]),
  top(M, 2, ['100.00', '1.5000'], ['102.00', '3.0000']),
  update(
    M,
    3,
    [
      ['100.00', '0'],
      ['99.00', '0'],
      ['9.00', '0'],
    ],
    [],
  ),
  top(M, 3, undefined, ['102.00', '3.0000']),
  update(M, 4, [['101.50', '1.0000']], [['1000.00', '0.0002']]),
  top(M, 4, ['101.50', '1.0000'], ['102.00', '3.0000']),
  snapshot(M, 5, [['101.50', '1.0000']], [['102.00', '3.0000']]),
  update(M, 6, [], [['102.00', '4.0000']]),
  top(M, 6, ['101.50', '1.0000'], ['102.00', '4.0000']),
  { type: 'subscription_list', channels: [] },
  { type: 'unsubscribe', channels: [{ type: 'market_data', params: { market: M }, success: true }] },
  { type: 'subscribe', channels: [{ type: 'market_data', params: { market: M }, success: true }] },
  snapshot(M, 7, [['101.50', '1.0000']], [['102.00', '4.0000']]),
  update(M, 8, [['101.50', '2.0000']], []),
  top(M, 8, ['101.50', '2.0000'], ['102.00', '4.0000']),
  heartbeat(1000),
]

interface Case {
  readonly name: ViolationName
  readonly title: string
  /** Sent after the opening; a string is sent unchanged, a number advances the clock by that many milliseconds. */
  readonly messages: readonly (object | string | number)[]
  readonly opening?: readonly object[]
  /** The messages are of `tidegate.v1`. */
  readonly isExtended?: true
}

/** A message with one payload member replaced. */
function withField(message: object, field: string, value: unknown): object {
  const { channel, payload } = message as { channel: string; payload: object }
  return { channel, payload: { ...payload, [field]: value } }
}

function without(message: object, field: string): object {
  return JSON.parse(JSON.stringify(withField(message, field, undefined)))
}

/** With the member of `tidegate.v1`. */
function sequenced(message: object, cursor: string, prev?: string): object {
  return { ...message, stream: { cursor, prev, covers: 1 } }
}

function stating(milliseconds: number, book: object): object {
  return withField(heartbeat(milliseconds), 'books', [{ market: M, live: true, ...book }])
}

const OPENING_DIGEST = digestOf({
  bids: new Map([
    ['100.00', '1.5000'],
    ['99.00', '2.0000'],
    ['9.00', '0.5000'],
  ]),
  asks: new Map([
    ['101.00', '1.0000'],
    ['102.00', '3.0000'],
    ['1000.00', '0.0001'],
  ]),
})

/** The opening in `tidegate.v1`. */
const SEQUENCED_OPENING: readonly object[] = [
  acknowledged(M),
  sequenced(OPENING[1] as object, 'b.1'),
  sequenced(OPENING[2] as object, 't.1'),
  sequenced(execution(M, 1, '101.00', '1.0000', { id: '1', venue: 'kraken' }), 'e.1'),
  stating(1, { cursor: 'b.1', digest: OPENING_DIGEST }),
]

const FINE = update(M, 2, [['99.00', '2.5000']], [])

const CASES: readonly Case[] = [
  { name: 'message-malformed', title: 'not JSON', messages: ['{"channel":'] },
  { name: 'message-malformed', title: 'not an object', messages: ['[]'] },
  { name: 'message-unknown', title: 'neither reply nor data', messages: [{ type: 'welcome', channels: [] }] },
  { name: 'channel-unknown', title: 'a fifth channel', messages: [{ channel: 'trades', payload: { market: M } }] },
  { name: 'request-refused', title: 'an error', messages: [{ type: 'error', error: 'MALFORMED_REQUEST' }] },
  {
    name: 'request-refused',
    title: 'a failed entry',
    messages: [{ type: 'subscribe', channels: [{ type: 'heartbeat', success: false, error: 'NO_EFFECT_ACTION' }] }],
  },
  { name: 'field-missing', title: 'a reply without channels', messages: [{ type: 'subscribe' }] },
  {
    name: 'field-missing',
    title: 'an entry without success',
    messages: [{ type: 'subscribe', channels: [{ type: 'x' }] }],
  },
  { name: 'field-missing', title: 'data without payload', messages: [{ channel: 'market_data' }] },
  { name: 'field-missing', title: 'no market', messages: [without(FINE, 'market')] },
  { name: 'field-missing', title: 'an UPDATE without asks', messages: [without(FINE, 'asks')] },
  { name: 'field-missing', title: 'a book message of another type', messages: [withField(FINE, 'type', 'DIFF')] },
  {
    name: 'field-missing',
    title: 'a top of another type',
    messages: [
      update(M, 2, [['100.00', '1.0000']], []),
      withField(top(M, 2, ['100.00', '1.0000'], ['101.00', '1.0000']), 'type', 'TOP'),
    ],
  },
  { name: 'not-subscribed', title: 'another market', messages: [update('ETHUSD', 2, [['1.00', '1.0000']], [])] },
  { name: 'not-subscribed', title: 'before the acknowledgement', opening: [], messages: [heartbeat(2)] },
  {
    name: 'after-unsubscribe',
    title: 'an execution',
    messages: [
      { type: 'unsubscribe', channels: [{ type: 'execution_data', params: { market: M }, success: true }] },
      execution(M, 2, '101.00', '1.0000'),
    ],
  },
  {
    name: 'update-before-snapshot',
    title: 'right after the acknowledgement',
    opening: [acknowledged(M)],
    messages: [FINE],
  },
  {
    name: 'update-before-snapshot',
    title: 'after a new subscription',
    messages: [{ type: 'subscribe', channels: [{ type: 'market_data', params: { market: M }, success: true }] }, FINE],
  },
  { name: 'time-form', title: 'book time with nine digits', messages: [withField(FINE, 'time', nanosecondTime(2))] },
  {
    name: 'time-form',
    title: 'book time with an offset',
    messages: [withField(FINE, 'time', '2026-01-01T00:00:00.002+00:00')],
  },
  { name: 'time-form', title: 'an invalid month', messages: [withField(FINE, 'time', '2026-13-01T00:00:00.002Z')] },
  {
    name: 'time-form',
    title: 'heartbeat with three digits',
    messages: [withField(heartbeat(2), 'timestamp', bookTime(2))],
  },
  {
    name: 'time-form',
    title: 'top of book with three digits',
    messages: [
      update(M, 2, [['100.00', '1.0000']], []),
      withField(top(M, 2, ['100.00', '1.0000'], ['101.00', '1.0000']), 'timestamp', bookTime(2)),
    ],
  },
  { name: 'time-order', title: 'an UPDATE of the same time', messages: [update(M, 1, [['99.00', '2.5000']], [])] },
  {
    name: 'time-order',
    title: 'a SNAPSHOT of the same time',
    messages: [snapshot(M, 1, [['100.00', '1.5000']], [['101.00', '1.0000']])],
  },
  {
    name: 'time-order',
    title: 'a SNAPSHOT of a new subscription that is older than what was sent',
    messages: [
      { type: 'subscribe', channels: [{ type: 'market_data', params: { market: M }, success: true }] },
      snapshot(M, 0, [['100.00', '1.5000']], [['101.00', '1.0000']]),
    ],
  },
  {
    name: 'time-order',
    title: 'a top of the same time',
    messages: [update(M, 2, [['100.00', '1.0000']], []), top(M, 1, ['100.00', '1.0000'], ['101.00', '1.0000'])],
  },
  { name: 'number-form', title: 'a sign', messages: [update(M, 2, [['99.00', '-2.5000']], [])] },
  { name: 'number-form', title: 'an exponent', messages: [update(M, 2, [['99.00', '2.5e1']], [])] },
  { name: 'number-form', title: 'a leading zero', messages: [update(M, 2, [['099.00', '2.5000']], [])] },
  {
    name: 'number-form',
    title: 'a JSON number',
    messages: [withField(FINE, 'bids', [{ price: 99, amount: '1.0000' }])],
  },
  { name: 'decimals-changed', title: 'a price', messages: [update(M, 2, [['98.5', '2.5000']], [])] },
  { name: 'decimals-changed', title: 'an amount', messages: [update(M, 2, [['99.00', '2.5']], [])] },
  { name: 'decimals-changed', title: 'an execution', messages: [execution(M, 2, '100.000', '1.0000')] },
  {
    name: 'zero-amount',
    title: 'in a SNAPSHOT',
    messages: [
      snapshot(
        M,
        2,
        [
          ['100.00', '1.5000'],
          ['98.00', '0.0000'],
        ],
        [['101.00', '1.0000']],
      ),
    ],
  },
  {
    name: 'zero-amount',
    title: 'a removal that is not exactly 0',
    messages: [update(M, 2, [['99.00', '0.0000']], [])],
  },
  {
    name: 'crossed-book',
    title: 'a bid at the ask',
    messages: [update(M, 2, [['101.00', '1.0000']], []), top(M, 2, ['101.00', '1.0000'], ['101.00', '1.0000'])],
  },
  { name: 'update-empty', title: 'no level', messages: [update(M, 2, [], [])] },
  {
    name: 'price-repeated',
    title: 'twice in a message',
    messages: [
      update(
        M,
        2,
        [
          ['99.00', '2.5000'],
          ['99.00', '2.6000'],
        ],
        [],
      ),
    ],
  },
  {
    name: 'side-unsorted',
    title: 'bids ascend',
    messages: [
      update(
        M,
        2,
        [
          ['9.00', '0.6000'],
          ['99.00', '2.5000'],
        ],
        [],
      ),
    ],
  },
  {
    name: 'side-unsorted',
    title: 'asks descend',
    messages: [
      update(
        M,
        2,
        [],
        [
          ['1000.00', '0.6000'],
          ['102.00', '2.5000'],
        ],
      ),
    ],
  },
  { name: 'unknown-level-removed', title: 'a price that is not held', messages: [update(M, 2, [['98.00', '0']], [])] },
  { name: 'unknown-level-removed', title: 'of the other side', messages: [update(M, 2, [], [['99.00', '0']])] },
  { name: 'amount-unchanged', title: 'the same again', messages: [update(M, 2, [['99.00', '2.0000']], [])] },
  {
    name: 'top-levels',
    title: 'two bids',
    messages: [
      update(M, 2, [['100.00', '1.0000']], []),
      withField(top(M, 2, undefined, ['101.00', '1.0000']), 'bids', [
        { price: '100.00', amount: '1.0000' },
        { price: '99.00', amount: '2.0000' },
      ]),
    ],
  },
  {
    name: 'top-not-best',
    title: 'another amount',
    messages: [update(M, 2, [['100.00', '1.0000']], []), top(M, 2, ['100.00', '1.1000'], ['101.00', '1.0000'])],
  },
  {
    name: 'top-not-best',
    title: 'before its UPDATE',
    messages: [top(M, 2, ['100.00', '1.0000'], ['101.00', '1.0000'])],
  },
  { name: 'top-unchanged', title: 'the same again', messages: [top(M, 2, ['100.00', '1.5000'], ['101.00', '1.0000'])] },
  {
    name: 'top-overdue',
    title: 'a changed best without a top',
    messages: [
      update(M, 2, [['100.00', '1.0000']], []),
      4_999,
      update(M, 3, [['99.00', '2.5000']], []),
      1,
      update(M, 4, [['99.00', '2.6000']], []),
    ],
  },
  {
    name: 'top-overdue',
    title: 'none at all',
    opening: OPENING.slice(0, 2),
    messages: [heartbeat(1), 5_000, update(M, 2, [['99.00', '2.5000']], []), heartbeat(2)],
  },
  { name: 'execution-malformed', title: 'no price', messages: [without(execution(M, 2, '101.00', '1.0000'), 'price')] },
  { name: 'execution-malformed', title: 'no amount', messages: [execution(M, 2, '101.00', '0.0000')] },
  {
    name: 'execution-malformed',
    title: 'nine digits of time',
    messages: [withField(execution(M, 2, '101.00', '1.0000'), 'executed_at', nanosecondTime(2))],
  },
  {
    name: 'execution-malformed',
    title: 'a day that does not exist',
    messages: [withField(execution(M, 2, '101.00', '1.0000'), 'executed_at', '2026-02-30T12:00:00.000Z')],
  },
  {
    name: 'heartbeat-late',
    title: 'more than three of the learned intervals',
    messages: [
      1000,
      heartbeat(1),
      1000,
      heartbeat(2),
      1000,
      heartbeat(3),
      1000,
      heartbeat(4),
      3_000,
      FINE,
      1,
      execution(M, 2, '101.00', '1.0000'),
      500,
      heartbeat(5),
    ],
  },
  {
    name: 'heartbeat-late',
    title: 'none any more, before the interval is learned',
    messages: [100, heartbeat(1), 1_000, heartbeat(2), 5_000, FINE, 1, execution(M, 2, '101.00', '1.0000')],
  },
  {
    name: 'heartbeat-late',
    title: 'none after the acknowledgement',
    opening: OPENING.slice(0, 3),
    messages: [5_001, FINE],
  },
  {
    name: 'message-missing',
    title: 'an UPDATE that no later one contradicts',
    isExtended: true,
    messages: [sequenced(FINE, 'b.3', 'b.2')],
  },
  {
    name: 'message-missing',
    title: 'an UPDATE whose successor names none',
    isExtended: true,
    messages: [sequenced(FINE, 'b.3')],
  },
  {
    name: 'message-missing',
    title: 'an execution',
    isExtended: true,
    messages: [sequenced(execution(M, 3, '101.00', '1.0000', { id: '3', venue: 'kraken' }), 'e.3', 'e.2')],
  },
  {
    name: 'message-missing',
    title: 'a top of book',
    isExtended: true,
    messages: [
      sequenced(update(M, 2, [['100.00', '1.0000']], []), 'b.2', 'b.1'),
      sequenced(top(M, 2, ['100.00', '1.0000'], ['101.00', '1.0000']), 't.3', 't.2'),
    ],
  },
  {
    name: 'field-missing',
    title: 'a message of tidegate.v1 without a cursor',
    isExtended: true,
    messages: [FINE],
  },
  {
    name: 'field-missing',
    title: 'a heartbeat of tidegate.v1 without books',
    isExtended: true,
    messages: [heartbeat(2)],
  },
  {
    name: 'heartbeat-differs',
    title: 'another digest',
    isExtended: true,
    messages: [stating(2, { cursor: 'b.1', digest: '0123456789abcdef' })],
  },
  { name: 'heartbeat-differs', title: 'no digest', isExtended: true, messages: [stating(2, { cursor: 'b.1' })] },
  {
    name: 'heartbeat-differs',
    title: 'a message that was not sent',
    isExtended: true,
    messages: [stating(2, { cursor: 'b.2', digest: OPENING_DIGEST })],
  },
]

function play(
  messages: readonly (object | string | number)[],
  isExtended = false,
): {
  names: ViolationName[]
  checker: StreamChecker
  now: number
} {
  const checker = new StreamChecker({ isExtended })
  const names: ViolationName[] = []
  let now = 0
  for (const message of messages) {
    if (typeof message === 'number') {
      now += message
      continue
    }
    const text = typeof message === 'string' ? message : JSON.stringify(message)
    names.push(...checker.onMessage(text, now).map(({ name }) => name))
  }
  return { names, checker, now }
}

describe('StreamChecker', () => {
  it('StreamChecker reports nothing for a correct stream', () => {
    const { names, checker, now } = play(CLEAN)
    expect(names).toEqual([])
    expect(checker.onEnd(now, [M])).toEqual([])
    expect(checker.counts).toEqual({ messages: 21, snapshots: 3, updates: 5, tops: 6, executions: 1, heartbeats: 2 })
    expect(checker.levels(M)).toEqual({ bids: 1, asks: 1 })
  })

  it.each(CASES)(
    'StreamChecker reports $name once, and nothing else: $title',
    ({ name, messages, isExtended, opening = isExtended ? SEQUENCED_OPENING : OPENING }) => {
      expect(play(opening, isExtended).names).toEqual([])
      expect(play([...opening, ...messages], isExtended).names).toEqual([name])
    },
  )

  it('StreamChecker accepts a withdrawn book, another epoch and a new subscription without predecessors', () => {
    const removed = (pairs: readonly string[]) => pairs.map((price): [string, string] => [price, '0'])
    const withdrawal = update(M, 2, removed(['100.00', '99.00', '9.00']), removed(['101.00', '102.00', '1000.00']))
    const entry = { type: 'market_data', params: { market: M }, success: true }
    const { names } = play(
      [
        ...SEQUENCED_OPENING,
        sequenced(withdrawal, 'b.2', 'b.1'),
        sequenced(top(M, 2, undefined, undefined), 't.2', 't.1'),
        stating(2, { cursor: 'b.2', live: false }),
        sequenced(update(M, 3, [['100.00', '1.5000']], []), 'b.3'),
        sequenced(top(M, 3, ['100.00', '1.5000'], undefined), 't.3'),
        sequenced(execution(M, 3, '100.00', '1.0000', { id: '2', venue: 'kraken' }), 'e.2', 'e.1'),
        sequenced(snapshot(M, 4, [['100.00', '1.5000']], []), 'other.1'),
        { type: 'unsubscribe', channels: [entry] },
        { type: 'subscribe', channels: [entry] },
        sequenced(snapshot(M, 5, [['100.00', '1.5000']], []), 'other.1'),
      ],
      true,
    )
    expect(names).toEqual([])
  })

  it('StreamChecker reports a market without a SNAPSHOT at the end', () => {
    const { checker, now } = play([acknowledged(M), heartbeat(1)])
    expect(checker.onEnd(now, [M])).toEqual([
      { name: 'snapshot-missing', market: M, detail: 'no SNAPSHOT on this connection', receivedAtMilliseconds: 0 },
    ])
  })

  it('StreamChecker reports a requested channel that the answer leaves out, and no refused one again', () => {
    const params = { market: M }
    const book = { type: 'market_data', params }
    const best = { type: 'market_data.top_of_book', params }
    const requested: readonly RequestedChannel[] = [
      book,
      best,
      { type: 'execution_data', params },
      { type: 'heartbeat' },
    ]
    const checker = new StreamChecker({ requested })
    const channels = [
      { ...book, success: true },
      { ...best, success: false, error: 'INTERNAL_SERVER_ERROR' },
    ]
    const messages = [{ type: 'subscribe', channels }, snapshot(M, 1, [['100.00', '1.5000']], [])]
    const found = messages.flatMap((message) => checker.onMessage(JSON.stringify(message), 0))
    expect([...found, ...checker.onEnd(0, [M])].map(({ name, detail }) => `${name}: ${detail}`)).toEqual([
      'request-refused: market_data.top_of_book: INTERNAL_SERVER_ERROR',
      'request-refused: execution_data: its request was not answered',
      'request-refused: heartbeat: its request was not answered',
    ])
  })

  it('StreamChecker expects a SNAPSHOT on a later connection only after the time that a new service needs', () => {
    const { checker } = play(OPENING)
    checker.onConnect()
    const names = (now: number) => checker.onEnd(now, [M]).map(({ name }) => name)
    expect(names(0)).toEqual([])
    checker.onMessage(JSON.stringify(acknowledged(M)), 1_000)
    checker.onMessage(JSON.stringify(heartbeat(1)), 1_000)
    expect(names(31_000)).toEqual([])
    expect(names(31_001)).toEqual(['snapshot-missing'])
  })

  it('StreamChecker reports a connection that is lost at the end only after the time that a new service needs', () => {
    const { checker } = play(OPENING)
    const details = (now: number) => checker.onEnd(now, [M]).map(({ name, detail }) => `${name}: ${detail}`)
    for (const second of [2, 3, 4, 5, 6]) checker.onMessage(JSON.stringify(heartbeat(second)), second * 100)
    checker.onDisconnect(700)
    checker.onDisconnect(20_000)
    expect(details(30_700)).toEqual([])
    expect(details(31_700)).toEqual(['snapshot-missing: no connection for 31 s'])
    checker.onConnect()
    expect(details(31_700)).toEqual([])
  })

  it('StreamChecker counts a connection whose heartbeats were late as lost since its last message', () => {
    const { checker } = play(OPENING)
    for (const second of [2, 3, 4, 5, 6]) checker.onMessage(JSON.stringify(heartbeat(second)), second * 100)
    checker.onDisconnect(60_600)
    const [found] = checker.onEnd(60_700, [M])
    expect([found?.name, found?.detail]).toEqual(['snapshot-missing', 'no connection for 60 s'])
  })

  it('StreamChecker reports a book that no connection brings again, answered or not', () => {
    const { checker } = play(OPENING)
    const details = (now: number) => checker.onEnd(now, [M]).map(({ name, detail }) => `${name}: ${detail}`)
    for (const second of [2, 3, 4, 5, 6]) checker.onMessage(JSON.stringify(heartbeat(second)), second * 100)
    for (const lost of [1_000, 20_000, 40_000]) {
      checker.onDisconnect(lost)
      checker.onConnect()
    }
    expect(details(61_000)).toEqual([])
    expect(details(61_001)).toEqual(['snapshot-missing: no SNAPSHOT for 60 s'])
    checker.onMessage(JSON.stringify(acknowledged(M)), 61_500)
    checker.onMessage(JSON.stringify(snapshot(M, 7, [['100.00', '1.5000']], [])), 61_500)
    expect(details(62_000)).toEqual([])
  })

  it('StreamChecker expects nothing of a removed market, unless it never had a book or is there again', () => {
    const entry = { type: 'market_data', params: { market: M } }
    const end = { type: 'unsubscribe', channels: [{ ...entry, success: true }] }
    const error = 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION'
    const refusal = { type: 'subscribe', channels: [{ ...entry, success: false, error }] }
    const details = (messages: readonly object[]) =>
      play(messages)
        .checker.onEnd(40_000, [M])
        .map(({ name, detail }) => `${name}: ${detail}`)
        .filter((text) => !text.startsWith('heartbeat-late'))
    expect(details([...OPENING, end, refusal])).toEqual([])
    const missing = ['snapshot-missing: no SNAPSHOT on this connection']
    expect(details([acknowledged(M), end, refusal])).toEqual(missing)
    expect(details([...OPENING, end, refusal, { type: 'subscribe', channels: [{ ...entry, success: true }] }])).toEqual(
      missing,
    )
  })

  it('StreamChecker has a case in this file for every rule about the stream', () => {
    const isOfStream = (name: string) => !name.startsWith('rest-')
    const covered = new Set([...CASES.map(({ name }) => name), 'snapshot-missing'])
    expect([...covered].sort()).toEqual(Object.keys(VIOLATIONS).filter(isOfStream).sort())
  })

  it('StreamChecker starts again with each connection, but keeps the decimals of the markets', () => {
    const { checker } = play(OPENING)
    checker.onConnect()
    expect(checker.onMessage(JSON.stringify(FINE), 0).map(({ name }) => name)).toEqual(['not-subscribed'])
    expect(checker.onMessage(JSON.stringify(acknowledged(M)), 0)).toEqual([])
    const older = snapshot(M, 0, [['100.0', '1.5000']], [['101.00', '1.0000']])
    expect(checker.onMessage(JSON.stringify(older), 0).map(({ name }) => name)).toEqual(['decimals-changed'])
  })

  it('StreamChecker uses the interval of heartbeats that it is given', () => {
    const checker = new StreamChecker({ heartbeatMilliseconds: 100 })
    checker.onMessage(JSON.stringify(acknowledged(M)), 0)
    checker.onMessage(JSON.stringify(heartbeat(1)), 0)
    expect(checker.onEnd(300, [])).toEqual([])
    expect(checker.onEnd(301, []).map(({ name }) => name)).toEqual(['heartbeat-late'])
  })

  it.each([
    [{ id: '7', venue: 'kraken', side: 'buy' }, []],
    [{ id: '7', venue: 'kraken' }, []],
    [{ id: '7' }, ['venue is undefined']],
    [{ id: 7, venue: '', side: 'bid' }, ['id is 7, venue is "", side is "bid"']],
  ])(
    "StreamChecker expects an id, a venue and the taker's side in an execution of tidegate.v1: %j",
    (members, details) => {
      const checker = new StreamChecker({ isExtended: true })
      checker.onMessage(JSON.stringify(acknowledged(M)), 0)
      const message = sequenced(execution(M, 2, '101.00', '1.0000', members), 'e.1')
      const found = checker.onMessage(JSON.stringify(message), 0)
      expect(found.map(({ detail }) => detail)).toEqual(details)
    },
  )
})

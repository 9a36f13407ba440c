/**
 * Messages of the bus as releases have sent them: this one reads them, byte for byte as they were recorded, and still sends
 * the same bytes. A node of the release before runs beside it during an upgrade (docs/how-to/upgrading.md).
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { decodeDigest, encodeDigest } from '../../../src/streaming/links/bus-audit.ts'
import {
  decodeHeartbeats,
  decodeMessages,
  decodeState,
  encodeHeartbeats,
  encodeMessages,
  encodeState,
} from '../../../src/streaming/links/bus-codec.ts'
import {
  decodeCommitRequest,
  decodeStateRequest,
  encodeCommitRequest,
  encodeStateRequest,
} from '../../../src/streaming/links/bus-requests.ts'
import { decodePositions, SourcePositionLog } from '../../../src/streaming/links/source-positions.ts'
import { ASK, type Attribution, BID, type Execution } from '../../../src/streaming/market/event.ts'
import type { Commit, MarketState, MarketStatus } from '../../../src/streaming/sequencing/bus.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** Written by the first release with a bus; it is never changed. A new format gets a file of its own. */
const RECORDED = new URL('../../fixtures/bus-format-1.json', import.meta.url)

const SCALE = { market: 'BTCUSD', priceDecimals: 2, amountDecimals: 8 }
const EPOCH = '000001937a5b2c00-01937a5b-2c00-7abc-8def-0123456789ab'
const HEAD = {
  market: 'BTCUSD',
  epoch: EPOCH,
  version: 300,
  milliseconds: 1_764_000_000_123,
  nanoseconds: 456_789,
  receivedMilliseconds: 1_764_000_000_122.75,
}
const EXECUTIONS: Execution[] = [
  {
    price: 9_912_345,
    amount: 2n ** 70n,
    id: 'trade-1 é',
    side: 'sell',
    venue: 'kraken',
    executedAtMilliseconds: 1_764_000_000_100,
  },
  { price: 9_912_346, amount: 1 },
]

const commit: Commit = {
  type: 'commit',
  ...HEAD,
  changes: [
    { side: BID, price: 9_912_345, amount: 150_000_000 },
    { side: ASK, price: 9_912_400, amount: 0 },
    { side: ASK, price: 2 ** 53 - 1, amount: 2n ** 64n },
  ],
  executions: EXECUTIONS,
  executionNumber: 40,
}
const fullCommit: Commit = {
  ...commit,
  missedAt: 1,
  book: [{ side: BID, price: 1, amount: 127 }],
  beginsBook: true,
  withdraws: true,
  origin: 'E1.7',
  instrument: { state: 'AUCTION', reason: 'opening', simulated: true },
}
const attribution: Attribution = {
  type: 'some',
  levels: [
    {
      side: BID,
      price: 9_912_345,
      venues: [
        ['kraken', 100_000_000],
        ['coinbase', 50_000_000],
      ],
    },
    { side: ASK, price: 9_912_400, venues: [] },
    { side: ASK, price: 2 ** 53 - 1, venues: [['kraken', 2n ** 64n]] },
  ],
}
const unknownInstrument: Commit = { ...commit, changes: [], executions: [], instrument: null }
const status: MarketStatus = {
  type: 'status',
  market: 'BTCUSD',
  epoch: EPOCH,
  version: 300,
  live: false,
  reason: 'kraken: closed',
}
const state: MarketState = {
  type: 'state',
  ...HEAD,
  levels: commit.changes.filter(({ amount }) => amount !== 0),
  hasBook: true,
  isWithdrawn: false,
  live: true,
  reason: '',
  executionNumber: 40,
  executions: EXECUTIONS.map((execution) => ({ execution, version: 300, commitMilliseconds: HEAD.milliseconds })),
  origin: 'E1.7',
  instrument: { state: 'OPEN', reason: '' },
}
const emptyState: MarketState = {
  type: 'state',
  ...HEAD,
  levels: [],
  hasBook: true,
  isWithdrawn: true,
  live: false,
  reason: 'withdrawn',
  executionNumber: 0,
  executions: [],
}
const request = { ...SCALE, epoch: EPOCH, version: 299, executionNumber: 38, milliseconds: 1_764_000_000_122 }
const firstRequest = { ...SCALE, epoch: '', version: 0, executionNumber: 0, milliseconds: 0 }
const commitRequest = { market: 'BTCUSD', laterThanMilliseconds: 1_764_000_000_122 }
const digest = { ...SCALE, depth: 50, epoch: EPOCH, version: 300, digest: '0123456789abcdef' }
const positions = {
  market: 'BTCUSD',
  epoch: EPOCH,
  version: 300,
  executionNumber: 40,
  hasBook: true,
  positions: [
    ['ingest', 'run-2026-11-20-1.18'],
    ['engine:BTC-USD', 'a.9007199254740991'],
  ],
} as const
const heartbeats = [
  { ...SCALE, epoch: EPOCH, version: 300, live: true, reason: '' },
  { ...SCALE, market: 'ETHUSD', epoch: EPOCH, version: 0, live: false, reason: 'waiting for the first snapshot' },
]

/** By the name of a recorded message: its value, and both directions of its codec. */
const MESSAGES: Readonly<Record<string, { value: unknown; encode: () => Buffer; decode: (bytes: Buffer) => unknown }>> =
  {
    'a tick of one commit': messages(commit),
    'a tick of a commit with every member, and a status': messages(fullCommit, status),
    'a commit without an instrument': messages(unknownInstrument),
    'a commit that names the venues of its levels': messages({ ...commit, attribution }),
    'a commit of a market with one venue': messages({ ...commit, attribution: { type: 'only', venue: 'kraken' } }),
    'a state': stateOf(state),
    'a state that names the venues of its levels': stateOf({ ...state, attribution: { ...attribution, type: 'all' } }),
    'the state of a withdrawn book': stateOf(emptyState),
    'a request for a state': requestOf(request),
    'a first request for a state': requestOf(firstRequest),
    'a request for a commit': {
      value: commitRequest,
      encode: () => encodeCommitRequest(commitRequest),
      decode: decodeCommitRequest,
    },
    'the digest of a book': { value: digest, encode: () => encodeDigest(digest), decode: decodeDigest },
    'how far the sources of a market were followed': {
      value: positions,
      encode: () => sentPositions(),
      decode: decodePositions,
    },
    heartbeats: { value: heartbeats, encode: () => encodeHeartbeats(heartbeats), decode: decodeHeartbeats },
  }

function sentPositions(): Buffer {
  const sent: Buffer[] = []
  const log = new SourcePositionLog(new VirtualClock())
  log.connect((_market, bytes) => sent.push(bytes))
  log.send(positions)
  return sent[0] as Buffer
}

function messages(...sent: (Commit | MarketStatus)[]) {
  return { value: { scale: SCALE, messages: sent }, encode: () => encodeMessages(SCALE, sent), decode: decodeMessages }
}

function stateOf(sent: MarketState) {
  return { value: { scale: SCALE, state: sent }, encode: () => encodeState(SCALE, sent), decode: decodeState }
}

function requestOf(sent: typeof request) {
  return { value: sent, encode: () => encodeStateRequest(sent), decode: decodeStateRequest }
}

describe('format 1', () => {
  const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as Record<string, string>

  test.each(Object.entries(MESSAGES))(
    '%s in format 1 is read, and sent, as recorded',
    (name, { value, encode, decode }) => {
      expect(decode(Buffer.from(recorded[name] as string, 'hex'))).toEqual(value)
      expect(encode().toString('hex')).toBe(recorded[name])
    },
  )

  test('every recorded message of format 1 is read here', () => {
    expect(Object.keys(recorded).toSorted()).toEqual(Object.keys(MESSAGES).toSorted())
  })

  test('format 1 is named where another format arrives, which releases that do not know it refuse to read', () => {
    for (const { encode, decode } of Object.values(MESSAGES)) {
      const later = Buffer.concat([Buffer.of(2), encode().subarray(1)])
      expect(() => decode(later)).toThrow('a message has the format 2, but this release reads format 1')
    }
  })
})

/** When a follower requests the state of its market. Its repairs are in `link-simulation`. */
import { beforeEach, expect, test } from 'vitest'
import { Follower } from '../../../src/streaming/links/follower.ts'
import type { MarketMessage, MarketState } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

let clock: VirtualClock
let follower: Follower
/** Milliseconds after the start. */
let requests: number[]
let published: MarketMessage[]

const STATE: MarketState = {
  type: 'state',
  market: 'AAAUSD',
  epoch: 'e1',
  version: 1,
  milliseconds: 1,
  nanoseconds: 0,
  receivedMilliseconds: 1,
  levels: [],
  hasBook: true,
  isWithdrawn: false,
  live: true,
  reason: '',
  executionNumber: 0,
  executions: [],
}

beforeEach(() => {
  clock = new VirtualClock()
  const start = clock.monotonicMilliseconds()
  requests = []
  published = []
  const bus = createMemoryBus()
  bus.subscribe('AAAUSD', (message) => void published.push(message))
  follower = new Follower({
    lastMilliseconds: 0,
    market: 'AAAUSD',
    bus,
    clock,
    random: () => 0,
    requestState: () => requests.push(clock.monotonicMilliseconds() - start),
    requestCommit: () => undefined,
    withdrawAfterMilliseconds: undefined,
    metrics: { gap: () => undefined, repaired: () => undefined },
  })
})

test("a follower's requests are repeated after 1, 2, 4 and then every 8 seconds", () => {
  clock.advance(24_000)
  expect(requests).toEqual([0, 1_000, 3_000, 7_000, 15_000, 23_000])
})

test("a follower's request is repeated at once when there is a link, and when the feed is heard for the first time", () => {
  clock.advance(200)
  follower.requestAgain()
  clock.advance(4_000)
  expect(requests).toEqual([0, 200, 1_200, 3_200])
  follower.onHeartbeat({ epoch: 'e1', version: 5, live: true, reason: '' })
  clock.advance(500)
  expect(requests).toEqual([0, 200, 1_200, 3_200, 4_200])
  follower.onHeartbeat({ epoch: 'e1', version: 6, live: true, reason: '' })
  clock.advance(400)
  expect(requests).toHaveLength(5)
})

test('a follower repeats no request when none is under way', () => {
  clock.advance(1)
  follower.onState(STATE)
  follower.requestAgain()
  clock.advance(10_000)
  expect(requests).toEqual([0])
})

test("a market is stale once a follower has an ended epoch's executions without its last book", () => {
  clock.advance(1)
  follower.onState(STATE)
  follower.onHeartbeat({ epoch: 'e2', version: 4, live: true, reason: '' })
  const execution = { execution: { price: 1, amount: 1 }, version: 3, commitMilliseconds: 3 }
  const end = { ...STATE, version: 3, milliseconds: 3, hasBook: false, executionNumber: 1, executions: [execution] }
  follower.onState({ ...end, live: false, reason: 'restarted' })
  expect(published).toEqual([STATE, { ...end, live: false, reason: 'waiting for the new feed’s book' }])
  const next = { ...STATE, epoch: 'e2', version: 4, milliseconds: 4 }
  follower.onState(next)
  expect(published.at(-1)).toEqual(next)
})

import { describe, expect, it } from 'vitest'
import { createLog } from '../../../../src/platform/base/log.ts'
import type { Fetched, TradeGap, VenueTrade } from '../../../../src/streaming/sources/venues/venue.ts'
import { VenueTradeBridge } from '../../../../src/streaming/sources/venues/venue-trade-bridge.ts'
import { VenueTrades } from '../../../../src/streaming/sources/venues/venue-trades.ts'
import { Random } from '../../../support/random.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

type Page = Fetched<readonly VenueTrade[]>

/** Longer than missing trades may take to fetch. */
const LONG_MILLISECONDS = 30_000
const ATTEMPTS = 4

/** A trade whose time is its identifier. */
const trade = (id: number): VenueTrade => {
  return { firstId: 0, lastId: 0, id: `t${id}`, price: '1', amount: '1', executedAtMilliseconds: id }
}
const trades = (...ids: readonly number[]): VenueTrade[] => ids.map(trade)
const page = (...ids: readonly number[]): Page => ({ value: trades(...ids) })

/** What comes out, and gaps as they are reported. */
function setUp() {
  const clock = new VirtualClock()
  const reports: string[] = []
  const numbers = new VenueTrades('A', false, true)
  const fetches: { gap: TradeGap; signal: AbortSignal; answer: (fetched: Page) => void }[] = []
  const bridge = new VenueTradeBridge({
    clock,
    random: () => 1,
    log: createLog('silent'),
    fetchPage: (_symbol, gap, signal) => new Promise((answer) => fetches.push({ gap, signal, answer })),
    position: () => numbers.position,
    pass: (_symbol, list, isRepeat) => {
      for (const step of numbers.take(list, isRepeat)) {
        if (step.kind === 'missed') reports.push('missed')
        else reports.push(...step.trades.map(({ id }) => id as string))
      }
    },
  })
  const live = (...ids: readonly number[]) => bridge.take('A', trades(...ids))
  /** Answers the latest request. */
  const answer = async (fetched: Page) => {
    fetches.at(-1)?.answer(fetched)
    await Promise.resolve()
  }
  return { clock, reports, fetches, bridge, numbers, live, answer }
}

describe('trades without numbers', () => {
  it('trades without numbers are passed on as they arrive, each once, whatever their identifiers', () => {
    const { reports, live, fetches, bridge } = setUp()
    bridge.interrupt('A')
    live(5, 9)
    live(9, 7)
    expect(reports).toEqual(['t5', 't9', 't7'])
    expect(fetches).toEqual([])
  })

  it("trades without numbers wait after an interruption for the venue's list, which fills in those between", async () => {
    const { reports, live, answer, fetches, bridge } = setUp()
    live(1, 2)
    bridge.interrupt('A')
    live(5)
    live(6, 5)
    expect(reports).toEqual(['t1', 't2'])
    expect(fetches.map(({ gap }) => [gap.after.milliseconds, gap.before.milliseconds])).toEqual([[2, 5]])
    await answer(page(1, 2, 3, 4, 5))
    expect(reports).toEqual(['t1', 't2', 't3', 't4', 't5', 't6'])
    live(7)
    expect(reports.at(-1)).toBe('t7')
    expect(fetches).toHaveLength(1)
  })

  it("trades without numbers after another process's are known: the list fills in later ones, or shows that some are missing", async () => {
    const joined = setUp()
    expect(joined.numbers.resume({ id: joined.bridge.resume('A', ['t1', 't2'], 2), milliseconds: 2 })).toBe(true)
    joined.live(2, 5)
    await joined.answer(page(1, 2, 3, 4, 5))
    expect(joined.reports).toEqual(['t3', 't4', 't5'])
    const missed = setUp()
    expect(missed.numbers.resume({ id: missed.bridge.resume('A', ['t1', 't2'], 2), milliseconds: 2 })).toBe(true)
    missed.live(5)
    await missed.answer(page(4, 5))
    expect(missed.reports).toEqual(['missed', 't4', 't5'])
  })

  it('trades without numbers need no list when the next trade after an interruption is a known one, until a new one comes', async () => {
    const { reports, live, answer, fetches, bridge } = setUp()
    live(1, 2)
    bridge.interrupt('A')
    live(2)
    expect(fetches).toEqual([])
    live(3)
    await answer(page(2, 3))
    expect(reports).toEqual(['t1', 't2', 't3'])
  })

  it('trades without numbers are reported as missing when the list does not reach the last known one', async () => {
    const { reports, live, answer, bridge } = setUp()
    live(1)
    bridge.interrupt('A')
    live(9)
    await answer(page(7, 8, 9))
    expect(reports).toEqual(['t1', 'missed', 't7', 't8', 't9'])
    live(10)
    expect(reports.at(-1)).toBe('t10')
  })

  it('trades without numbers are not preceded by those of a list that begins after them', async () => {
    const { reports, live, answer, bridge } = setUp()
    live(1)
    bridge.interrupt('A')
    live(3, 9)
    await answer(page(7, 8, 9))
    expect(reports).toEqual(['t1', 'missed', 't3', 't9'])
  })

  it('trades without numbers are asked for again while the list ends before the trade that arrived, and then given up', async () => {
    const { clock, reports, live, answer, fetches, bridge } = setUp()
    live(1)
    bridge.interrupt('A')
    live(3)
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      expect(fetches).toHaveLength(attempt)
      await answer(attempt % 2 === 0 ? { problem: 'HTTP 500' } : page(1, 2))
      clock.advance(5_000)
    }
    expect(fetches).toHaveLength(ATTEMPTS)
    expect(reports).toEqual(['t1', 'missed', 't3'])
  })

  it('trades without numbers are not waited for longer than the limit, or than the venue refuses requests', async () => {
    const { clock, reports, live, answer, fetches, bridge } = setUp()
    live(1)
    bridge.interrupt('A')
    live(3)
    clock.advance(LONG_MILLISECONDS)
    expect(reports).toEqual(['t1', 'missed', 't3'])
    expect(fetches[0]?.signal.aborted).toBe(true)
    await answer(page(1, 2, 3))
    expect(reports).toHaveLength(3)
    bridge.interrupt('A')
    live(5)
    await answer({ problem: 'HTTP 429', retryAfterMilliseconds: LONG_MILLISECONDS })
    expect(reports).toEqual(['t1', 'missed', 't3', 'missed', 't5'])
  })

  it('trades without numbers that are held are dropped when the connection ends, and are in the next list', async () => {
    const { reports, live, answer, bridge } = setUp()
    live(1)
    bridge.interrupt('A')
    live(3)
    bridge.clear()
    await answer(page(1, 2, 3))
    expect(reports).toEqual(['t1'])
    live(5)
    await answer(page(1, 2, 3, 4, 5))
    expect(reports).toEqual(['t1', 't2', 't3', 't4', 't5'])
  })

  it('trades without numbers that are held have a limit', () => {
    const { reports, live, bridge } = setUp()
    live(1)
    bridge.interrupt('A')
    live(...Array.from({ length: 10_001 }, (_, index) => index + 3))
    expect(reports.slice(0, 3)).toEqual(['t1', 'missed', 't3'])
    expect(reports).toHaveLength(10_003)
  })

  it('trades without numbers of a pair that no market uses are forgotten', () => {
    const { live, fetches, bridge } = setUp()
    live(1)
    bridge.interrupt('A')
    live(2)
    bridge.forget('A')
    expect(fetches[0]?.signal.aborted).toBe(true)
    bridge.interrupt('A')
    live(9)
    expect(fetches).toHaveLength(1)
  })

  it.each([1, 2, 3, 4, 5])(
    'trades without numbers come out in order and complete, or are reported, whatever happens (seed %i)',
    async (seed) => {
      const random = new Random(seed)
      const { clock, reports, live, answer, bridge } = setUp()
      let last = 0
      for (let step = 0; step < 300; step++) {
        const chance = random.next()
        if (chance < 0.6) live(++last)
        else if (chance < 0.75) bridge.interrupt('A')
        else if (chance < 0.85) last += random.integer(4)
        else if (chance < 0.95) {
          const first = Math.max(1, last - random.integer(12))
          await answer(page(...Array.from({ length: last - first + 1 }, (_, index) => first + index)))
        } else clock.advance(random.integer(20_000))
      }
      clock.advance(LONG_MILLISECONDS)
      let before = 0
      let isMissed = false
      for (const report of reports) {
        if (report === 'missed') isMissed = true
        else {
          const id = Number(report.slice(1))
          expect(id, `seed ${seed}`).toBeGreaterThan(before)
          if (id > before + 1) expect(isMissed || isSilentLoss(id, before), `seed ${seed}: ${report}`).toBe(true)
          before = id
          isMissed = false
        }
      }
      expect(before).toBeGreaterThan(50)
    },
  )
})

/** On one subscription nothing shows a trade that the venue left out. */
function isSilentLoss(id: number, before: number): boolean {
  return id - before <= 20
}

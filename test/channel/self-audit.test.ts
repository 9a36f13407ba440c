import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMetricsRegistry } from '../../src/base/metrics.ts'
import type { Commit, MarketMessage } from '../../src/channel/bus.ts'
import { createMemoryBus } from '../../src/channel/bus-memory.ts'
import { Replica } from '../../src/channel/replica.ts'
import { type AuditedMarket, createSelfAuditMetrics, SelfAudit } from '../../src/channel/self-audit.ts'
import { createSequencerMetrics, Sequencer } from '../../src/channel/sequencer.ts'
import { ASK, BID, type LevelChange } from '../../src/market/event.ts'
import { levelsBehind } from '../../src/market/view.ts'
import { captureLog } from '../support/door.ts'
import { MarketNoise } from '../support/market-noise.ts'
import { propertySettings } from '../support/property.ts'
import { Random } from '../support/random.ts'
import { testMarket } from '../support/stream-simulation.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

/** One audit with the pause before it, generously. */
const CYCLE_MILLISECONDS = 15_000
/** Within so many looks every fault here is found. */
const CYCLES_MAX = 40

/** As pino writes it. */
const ERROR_LEVEL = 50

type Fault = 'none' | 'replica' | 'wire' | 'merged'

interface Setup {
  readonly seed: number
  readonly depth: number
  readonly levels: number
  readonly changesMax: number
  readonly updateMilliseconds: number
}

const setups: fc.Arbitrary<Setup> = fc.record({
  seed: fc.nat(),
  depth: fc.constantFrom(0, 5, 100, 1000),
  levels: fc.constantFrom(3, 60, 300),
  changesMax: fc.constantFrom(1, 6, 40),
  updateMilliseconds: fc.constantFrom(3, 17, 90),
})

/** A market with its writer, its reader and the audit of both, on a clock of the test; faults come and go with `fault`. */
class AuditedStream {
  readonly clock = new VirtualClock()
  readonly registry = createMetricsRegistry()
  readonly captured = captureLog()
  readonly rebuilds: string[] = []
  readonly replica: Replica
  readonly sequencer: Sequencer
  readonly audit: SelfAudit
  readonly setup: Setup
  fault: Fault = 'none'
  isThere = true
  readonly #noise: MarketNoise

  constructor(setup: Setup) {
    this.setup = setup
    this.#noise = new MarketNoise(new Random(setup.seed), setup)
    const { clock, registry } = this
    const { log } = this.captured
    const bus = createMemoryBus()
    const market = testMarket('AAAUSD', setup.depth)
    const falsifying = {
      ...bus,
      subscribe: (symbol: string, listener: (message: MarketMessage) => void) =>
        bus.subscribe(symbol, (message) => listener(this.#falsified(message))),
    }
    this.replica = new Replica({ market, bus: falsifying, executionsKept: 10 })
    this.sequencer = new Sequencer({
      market,
      epoch: 'e1',
      bus,
      clock,
      log,
      metrics: createSequencerMetrics(registry),
      floorMilliseconds: 0,
      onRebuildNeeded: (reason) => {
        this.rebuilds.push(reason)
        this.fault = 'none'
      },
    })
    const metrics = createSelfAuditMetrics(registry)
    this.audit = new SelfAudit({ clock, log, metrics, markets: () => (this.isThere ? [this.#audited()] : []) })
    this.sequencer.offer(this.#noise.snapshot())
    clock.advance(5)
  }

  run(milliseconds: number): void {
    for (let passed = 0; passed < milliseconds; passed += this.setup.updateMilliseconds) {
      this.sequencer.offer(this.#noise.update())
      this.clock.advance(this.setup.updateMilliseconds)
    }
  }

  metric = async (name: string): Promise<string | undefined> =>
    new RegExp(`^${name}\\{market="AAAUSD"\\} (\\d+)$`, 'm').exec(await this.registry.metrics())?.[1]

  get errors(): unknown[] {
    return this.captured.lines
      .map((line) => JSON.parse(line) as { readonly level: number })
      .filter(({ level }) => level >= ERROR_LEVEL)
  }

  /** What the writer has, cut to the published depth. */
  get written(): LevelChange[] {
    const book = this.sequencer.settledBook
    if (book === undefined) throw new Error('the writer is between two commits')
    return [BID, ASK].flatMap((side) => levelsBehind(book, this.setup.depth, side as 0 | 1, undefined, 10_000))
  }

  #audited(): AuditedMarket {
    const { replica, sequencer } = this
    const { market, view } = replica
    const thisView = Object.assign(Object.create(view), {
      levelsBehind: view.levelsBehind.bind(view),
      depth: view.depth,
      changesSince: (version: number) => {
        const changes = view.changesSince(version)
        return this.fault === 'merged' ? changes.slice(1) : changes
      },
    })
    return {
      sequencer,
      replica: {
        market,
        view: thisView,
        get version() {
          return replica.version
        },
        get live() {
          return replica.live
        },
        get isCrossed() {
          return replica.isCrossed
        },
        listen: (listener) =>
          replica.listen({
            ...listener,
            onStatus: (live) => listener.onStatus(live),
            onCommit: (commit) =>
              listener.onCommit(this.fault === 'wire' ? { ...commit, changes: commit.changes.slice(1) } : commit),
          }),
      },
    }
  }

  /** While the replica is at fault, the first change of every commit reaches it with another amount. */
  #falsified(message: MarketMessage): MarketMessage {
    if (this.fault !== 'replica' || message.type !== 'commit') return message
    const [first, ...others] = message.changes
    if (first === undefined) return message
    const falsified: Commit = { ...message, changes: [{ ...first, amount: 123_456_789 }, ...others] }
    return falsified
  }
}

describe('the self-audit', () => {
  test('finds nothing wrong in what is right, and says that it looked', async () => {
    await fc.assert(
      fc.asyncProperty(setups, async (setup) => {
        const stream = new AuditedStream(setup)
        stream.run(2 * CYCLE_MILLISECONDS)
        expect(stream.errors).toEqual([])
        expect(await stream.metric('tidegate_self_audit_mismatches_total')).toBe('0')
        expect(Number(await stream.metric('tidegate_self_audits_total'))).toBeGreaterThan(0)
        stream.audit.stop()
      }),
      propertySettings(12),
    )
  })

  test.each([
    ['replica', /^the view holds|^an UPDATE|^the view is crossed/],
    ['wire', /^a reader holds|^an UPDATE/],
    ['merged', /^a merged reader holds|^an UPDATE/],
  ] as const)('finds what is wrong with the %s, and has everyone start over', async (fault, difference) => {
    await fc.assert(
      fc.asyncProperty(setups, fc.nat(12_000), async (setup, millisecondsBefore) => {
        const stream = new AuditedStream(setup)
        stream.run(millisecondsBefore)
        stream.fault = fault
        // What is wrong may be put right by the next change of the level before it is looked at: in small books it often is.
        for (let cycle = 0; cycle < 2 || (cycle < CYCLES_MAX && stream.rebuilds.length === 0); cycle++)
          stream.run(CYCLE_MILLISECONDS)
        expect(stream.rebuilds).toEqual(['the self-audit found a wrong book'])
        expect(stream.errors).toMatchObject([
          { market: 'AAAUSD', msg: 'self-audit found a wrong book', difference: expect.stringMatching(difference) },
        ])
        expect(await stream.metric('tidegate_self_audit_mismatches_total')).toBe('1')
        expect(stream.replica.view.levels()).toEqual(stream.written)
        stream.audit.stop()
      }),
      propertySettings(8),
    )
  })

  test('takes no market whose sources are lost, and goes on when they are back', async () => {
    const stream = new AuditedStream({ seed: 1, depth: 5, levels: 20, changesMax: 3, updateMilliseconds: 50 })
    stream.sequencer.offer({ type: 'lost', reason: 'the test says so' })
    stream.run(2 * CYCLE_MILLISECONDS)
    expect(await stream.metric('tidegate_self_audits_total')).toBeUndefined()
    stream.sequencer.offer(new MarketNoise(new Random(2), { levels: 20, changesMax: 1 }).snapshot())
    stream.clock.advance(2 * CYCLE_MILLISECONDS)
    expect(Number(await stream.metric('tidegate_self_audits_total'))).toBeGreaterThan(0)
    expect(stream.errors).toEqual([])
  })

  test('forgets the numbers of a market that has gone', async () => {
    const stream = new AuditedStream({ seed: 1, depth: 5, levels: 20, changesMax: 3, updateMilliseconds: 50 })
    stream.run(CYCLE_MILLISECONDS)
    expect(await stream.metric('tidegate_self_audit_mismatches_total')).toBe('0')
    stream.isThere = false
    stream.run(CYCLE_MILLISECONDS)
    expect(await stream.metric('tidegate_self_audit_mismatches_total')).toBeUndefined()
    expect(await stream.metric('tidegate_self_audits_total')).toBeUndefined()
  })

  test('leaves nothing behind when it is stopped', () => {
    const stream = new AuditedStream({ seed: 1, depth: 5, levels: 20, changesMax: 3, updateMilliseconds: 50 })
    stream.run(10_100)
    stream.audit.stop()
    stream.fault = 'replica'
    stream.run(2 * CYCLE_MILLISECONDS)
    expect(stream.errors).toEqual([])
  })
})

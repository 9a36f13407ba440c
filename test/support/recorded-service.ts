/**
 * A service that records one market with random commits, losses and withdrawals on a virtual clock, and a replica's
 * state at each moment.
 */
import { createLog } from '../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import type { ConfiguredMarket } from '../../src/streaming/market/configured-market.ts'
import type { Execution, LevelChange } from '../../src/streaming/market/event.ts'
import type { PastBook } from '../../src/streaming/recordings/past-book.ts'
import { createRecordingMetrics, ServiceRecorder } from '../../src/streaming/recordings/service-recorder.ts'
import { createMemoryBus } from '../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../src/streaming/sequencing/sequencer-metrics.ts'
import { recordedMarket } from './recording-file.ts'
import { VirtualClock } from './virtual-clock.ts'

/** Published levels per side. */
export const RECORDED_DEPTH = 5
const MINUTE = 60_000

export interface Moment {
  readonly atMilliseconds: number
  readonly atNanoseconds: number
  readonly book: Omit<PastBook, 'market' | 'file' | 'kind' | 'executions' | 'bidLevels' | 'askLevels'>
  readonly executions: readonly Execution[]
}

/** Records one market with random events. Returns the publications by time. */
export async function recordService(path: string, startMilliseconds: number, minutes: number, random: () => number) {
  const clock = new VirtualClock(startMilliseconds)
  const [bus, log, registry] = [createMemoryBus(), createLog('silent'), createMetricsRegistry()]
  const configured = { ...recordedMarket('BTC'), sources: [{ feed: 'simulator', symbol: '' }] }
  const market = { ...configured.definition, depth: RECORDED_DEPTH }
  const markets = [{ ...configured, definition: market }] as unknown as ConfiguredMarket[]
  const metrics = createRecordingMetrics(registry, clock)
  const recorder = new ServiceRecorder({ folder: path, keepHours: () => 99, markets, bus, clock, log, metrics })
  recorder.start()
  const replica = new Replica({ market, bus, executionsKept: 10 })
  const sequencer = new Sequencer({
    market,
    epoch: `from ${startMilliseconds}`,
    bus,
    clock,
    log,
    metrics: createSequencerMetrics(registry),
    floorMilliseconds: 0,
    withdrawAfterMilliseconds: 10_000,
    onRebuildNeeded: () => undefined,
  })
  const moments: Moment[] = []
  const executions: Execution[] = []
  let lostSince: number | undefined = startMilliseconds
  const note = (): void => {
    const { milliseconds, nanoseconds } = clock.wallInstant()
    if (replica.live) lostSince = undefined
    else lostSince ??= milliseconds
    const { epoch, version, instant, reason, isWithdrawn } = replica
    const book = {
      ...(replica.live ? {} : { reason, lostSinceMilliseconds: lostSince as number }),
      isWithdrawn,
      ...(version === 0 ? {} : { commit: { epoch: epoch.id, version, ...instant } }),
      ...(replica.instrument === undefined ? {} : { instrument: replica.instrument }),
      levels: replica.view.levels(),
    }
    moments.push({ atMilliseconds: milliseconds, atNanoseconds: nanoseconds, book, executions: [...executions] })
  }
  const level = (): LevelChange => {
    const side = random() < 0.5 ? 0 : 1
    return { side, price: (side === 0 ? 900 : 1_000) + Math.floor(random() * 100), amount: Math.floor(random() * 5) }
  }
  sequencer.offer({ type: 'lost', reason: 'connecting' })
  while (clock.wallInstant().milliseconds < startMilliseconds + minutes * MINUTE) {
    clock.advance(random() < 0.5 ? Math.floor(random() * 20_000) : Math.floor(random() * 40) / 4)
    const kind = random()
    if (kind > 0.98) sequencer.setInstrument({ state: random() < 0.5 ? 'OPEN' : 'HALTED', reason: '' })
    if (kind < 0.05) sequencer.offer({ type: 'lost', reason: `loss ${Math.floor(random() * 99)}` })
    else if (kind < 0.15) sequencer.offer({ type: 'snapshot', levels: Array.from({ length: 20 }, level) })
    else {
      const executed = random() < 0.3 ? [{ price: 950, amount: 1, id: String(executions.length) }] : []
      for (const execution of executed) executions.push(execution)
      sequencer.offer({ type: 'update', changes: [level(), level()], executions: executed })
    }
    // A commit can be due a millisecond after the one before.
    clock.settle()
    note()
    for (let step = 0; step < 4; step++) {
      clock.advance(0.5)
      clock.settle()
      note()
    }
    // The disk is not on the virtual clock.
    if (random() < 0.02) await recorder.flush()
  }
  sequencer.stop()
  await recorder.stop()
  return moments
}

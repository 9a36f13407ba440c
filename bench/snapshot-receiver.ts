/**
 * The receiving process in the benchmark for large SNAPSHOTs: the ingest listener on a real socket, or the pulling
 * source, with a sequencer, a bus and a replica. It measures the longest time for which the event loop did not run.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import type { MarketEvent } from '../src/streaming/market/event.ts'
import { createMemoryBus } from '../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../src/streaming/sequencing/sequencer-metrics.ts'
import type { Source } from '../src/streaming/sources/source.ts'
import { type Answer, answerCommands, writeAnswer } from './fanout-driver.ts'
import { INGEST_MARKET } from './ingest-messages.ts'
import { openIngest, startPull } from './ingest-receiver.ts'

/** Time for the work after the commit. */
const SETTLE_MILLISECONDS = 200

class Market {
  readonly sourceMarket: { market: typeof INGEST_MARKET; venueSymbol: string; listener: (event: MarketEvent) => void }
  readonly #replica: Replica
  #usage = process.cpuUsage()
  #begun = 0
  #version = 0
  readonly #delay = monitorEventLoopDelay({ resolution: 1 })

  constructor() {
    const market = INGEST_MARKET
    const bus = createMemoryBus()
    this.#replica = new Replica({ market, bus, executionsKept: 1000 })
    const sequencer = new Sequencer({
      market,
      epoch: 'bench',
      bus,
      clock: createSystemClock(),
      log: createLog('error'),
      metrics: createSequencerMetrics(createMetricsRegistry()),
      floorMilliseconds: 0,
      onRebuildNeeded: (reason) => {
        throw new Error(reason)
      },
    })
    this.sourceMarket = { market, venueSymbol: market.symbol, listener: (event) => sequencer.offer(event) }
  }

  begin(): Answer {
    this.#version = this.#replica.version
    this.#begun = performance.now()
    this.#usage = process.cpuUsage()
    this.#delay.enable()
    this.#delay.reset()
    return {}
  }

  /** Resolves after the SNAPSHOT's commit. */
  async finish(): Promise<Answer> {
    while (this.#replica.version === this.#version) await pause(5)
    const milliseconds = performance.now() - this.#begun
    await pause(SETTLE_MILLISECONDS)
    const { user, system } = process.cpuUsage(this.#usage)
    const stallMilliseconds = this.#delay.max / 1e6
    this.#delay.disable()
    return { milliseconds, stallMilliseconds, cpuMilliseconds: (user + system) / 1000 }
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const pushed = new Market()
  const pulled = new Market()
  let current = pushed
  let pulling: Source | undefined
  const { port } = await openIngest(pushed)
  writeAnswer({ port })
  answerCommands({
    begin: () => current.begin(),
    finish: () => current.finish(),
    pull: (publisherPort) => {
      current = pulled
      pulling = startPull(pulled, publisherPort)
      return {}
    },
    push: async () => {
      await pulling?.stop()
      current = pushed
      return {}
    },
  })
}

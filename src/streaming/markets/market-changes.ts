/**
 * Applies another market list to the writing and the reading side, in an order that keeps them consistent: a sequencer
 * publishes its last commit to the replica that followed it, and a new sequencer publishes only once its replica has
 * subscribed.
 */
import type { SourcePositionLog } from '../links/source-positions.ts'
import type { ConfiguredMarket } from '../market/configured-market.ts'
import type { ServiceRecorder } from '../recordings/service-recorder.ts'
import type { Replica } from '../sequencing/replica.ts'
import type { MarketReplicas } from './market-replicas.ts'
import type { MarketWriters } from './market-writers.ts'

/** The markets' two sides, where they run in one process. */
export interface Markets {
  readonly writers: MarketWriters
  readonly replicas: MarketReplicas
  /** How far publications are followed. Absent where no other process can write the markets. */
  readonly positions?: SourcePositionLog | undefined
  /** Records published messages. Absent when `recording.dir` is empty. */
  readonly recorder?: Pick<ServiceRecorder, 'change' | 'pastBooks'> | undefined
}

export interface MarketChanges {
  /** The added markets' replicas. */
  readonly added: readonly Replica[]
  /** The removed markets' symbols. A market with another definition is in both. */
  readonly removed: readonly string[]
  /** Symbols for markets with other sources, or another aggregation, which keep their sequencer and replica. */
  readonly resourced: readonly string[]
}

/**
 * Must be called after `writers.start`. Unchanged markets are not touched.
 * @param written those whose sequencers run in this process
 */
export function changeMarkets(
  { writers, replicas, recorder }: Markets,
  markets: readonly ConfiguredMarket[],
  written: readonly ConfiguredMarket[] = markets,
): MarketChanges {
  writers.stopMissing(written)
  const { added, removed } = replicas.change(markets)
  recorder?.change(markets)
  const resourced = writers.change(written)
  return { added, removed, resourced }
}

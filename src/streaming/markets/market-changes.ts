/**
 * Applies another list of markets to the writing and the reading side, in the order that keeps them consistent: a
 * sequencer publishes its last commit to the replica that followed it, and a new sequencer publishes only once its
 * replica has subscribed.
 */
import type { SourcePositionLog } from '../links/source-positions.ts'
import type { ConfiguredMarket } from '../market/configured-market.ts'
import type { ServiceRecorder } from '../recordings/service-recorder.ts'
import type { Replica } from '../sequencing/replica.ts'
import type { MarketReplicas } from './market-replicas.ts'
import type { MarketWriters } from './market-writers.ts'

/** Both sides of the markets, where they run in one process. */
export interface Markets {
  readonly writers: MarketWriters
  readonly replicas: MarketReplicas
  /** How far publications are followed; absent where no other process can write the markets. */
  readonly positions?: SourcePositionLog | undefined
  /** Records what is published; absent when `recording.dir` is empty. */
  readonly recorder?: Pick<ServiceRecorder, 'change' | 'pastBooks'> | undefined
}

export interface MarketChanges {
  /** Replicas of the added markets. */
  readonly added: readonly Replica[]
  /** Symbols of the removed markets; a market with another definition is in both. */
  readonly removed: readonly string[]
  /** Symbols of the markets that have other sources, or another aggregation, and keep their sequencer and replica. */
  readonly resourced: readonly string[]
}

/**
 * To be called after `writers.start`. Markets that do not differ are not touched.
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

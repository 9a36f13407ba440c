/**
 * The part of the process that streams: the markets it writes and those it follows, the other nodes, and the hub with
 * the gateway. Every process has it, because each answers for its markets and connections.
 */
import type { DirectoryLoader } from '../../../access/clients/directory-loader.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Gateway } from '../../../streaming/gateway/gateway.ts'
import type { Hub } from '../../../streaming/gateway/hub.ts'
import type { PriceHistory } from '../../../streaming/gateway/price-history.ts'
import type { Proof } from '../../../streaming/market/event.ts'
import { readCommitFloors } from '../../../streaming/markets/commit-times.ts'
import type { FeedLeadership } from '../../../streaming/markets/feed-leadership.ts'
import type { Markets } from '../../../streaming/markets/market-changes.ts'
import { readFromStore } from '../../process/store-wait.ts'
import type { Parts } from '../parts.ts'
import { type LinkedMarkets, startBus, waitForFeeds } from './start-bus.ts'
import { type Cluster, startCluster } from './start-cluster.ts'
import { startGateway } from './start-gateway.ts'
import { type LocalGateways, startGatewayProcesses } from './start-gateway-processes.ts'
import { createLeadership, startLeadership } from './start-leadership.ts'
import { createMarkets, startSelfAudit, startSources } from './start-markets.ts'

export interface Streaming {
  readonly markets: Markets
  readonly leadership: FeedLeadership | undefined
  readonly linked: LinkedMarkets | undefined
  readonly local: LocalGateways | undefined
  readonly cluster: Cluster
  readonly hub: Hub
  readonly gateway: Gateway
  readonly prices: PriceHistory
  /** The proof for a live market's book. */
  proofOf(symbol: string): Proof
}

/**
 * Follows markets, and writes none before `startStreaming`.
 * @param isReady whether this node's `/readyz` answers 200
 */
export function createStreaming(parts: Parts, db: Db, loader: DirectoryLoader, isReady: () => boolean): Streaming {
  const leadership = createLeadership(parts, db)
  const markets = createMarkets(parts, db, leadership)
  const { writers, replicas } = markets
  const linked = startBus(parts, markets, (symbol, epoch) => leadership?.heard(symbol, epoch))
  const local = startGatewayProcesses(parts, replicas, linked)
  const cluster = startCluster(parts, { db, loader, linked }, isReady)
  const { hub, gateway, prices } = startGateway(parts, replicas, local?.processes, cluster.currency)
  startSelfAudit(parts, markets, hub)
  const proofOf = (symbol: string): Proof =>
    linked === undefined || writers.sequencerOf(symbol) !== undefined ? writers.proofOf(symbol) : linked.proofOf(symbol)
  return { markets, leadership, linked, local, cluster, hub, gateway, prices, proofOf }
}

/** Writes this process's markets, and waits for others'. The store has its schema. */
export async function startStreaming(parts: Parts, db: Db, streaming: Streaming): Promise<void> {
  const { markets, leadership, linked } = streaming
  await startSources(parts, markets.writers, await readFromStore(parts, 'commit times', () => readCommitFloors(db)))
  // Not before: messages for a market that does not exist yet are rejected.
  if (leadership !== undefined && linked !== undefined) startLeadership(parts, leadership, markets.writers, linked)
  else parts.ingest?.open()
  if (linked !== undefined) await waitForFeeds(parts, linked)
}

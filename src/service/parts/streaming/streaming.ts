/**
 * The part of the process that streams: the markets it writes and those it follows, the other nodes, and the hub with
 * the gateway. Every process has it, because each answers for its markets and connections.
 */
import type { DirectoryLoader } from '../../../access/clients/directory-loader.ts'
import { EventFeed } from '../../../access/events/event-feed.ts'
import type { UsageWriter } from '../../../access/metering/usage-writer.ts'
import type { Instant } from '../../../platform/base/clock.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Gateway } from '../../../streaming/gateway/gateway.ts'
import type { Hub } from '../../../streaming/gateway/hub.ts'
import type { Proof } from '../../../streaming/market/event.ts'
import { readCommitFloors } from '../../../streaming/markets/commit-times.ts'
import type { FeedLeadership } from '../../../streaming/markets/feed-leadership.ts'
import type { Markets } from '../../../streaming/markets/market-changes.ts'
import type { MarketReplicas } from '../../../streaming/markets/market-replicas.ts'
import type { Replica } from '../../../streaming/sequencing/replica.ts'
import { readFromStore } from '../../process/store-wait.ts'
import { receiptIssuerOf } from '../access/receipts.ts'
import type { Parts } from '../parts.ts'
import { type LinkedMarkets, startBus, waitForFeeds } from './start-bus.ts'
import { type Candles, createCandles } from './start-candles.ts'
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
  readonly candles: Candles
  /** The books that set prices, each followed from the moment it is wanted. */
  readonly priceBooks: { readonly replicas: MarketReplicas; want(symbol: string): void }
  /** The proof for a live market's book. */
  proofOf(symbol: string): Proof
  /** Every configured market's state: where this process does not follow it, as its feed reports it. */
  observedMarkets(): readonly ObservedMarket[]
}

export type ObservedMarket = Pick<Replica, 'market' | 'live' | 'reason' | 'instant'>

/** A market that is not followed has no commit here. */
const NO_COMMIT: Instant = { milliseconds: 0, nanoseconds: 0 }

/**
 * Follows markets, and writes none before `startStreaming`.
 * @param isReady whether this node's `/readyz` answers 200
 */
export function createStreaming(
  parts: Parts,
  db: Db,
  loader: DirectoryLoader,
  usage: Pick<UsageWriter, 'noteGap'>,
  isReady: () => boolean,
): Streaming {
  const leadership = createLeadership(parts, db)
  const markets = createMarkets(parts, db, leadership)
  const { writers, replicas } = markets
  const linked = startBus(parts, markets, (symbol, epoch) => leadership?.heard(symbol, epoch))
  const cluster = startCluster(parts, { db, loader, linked }, isReady)
  const { currency } = cluster
  const events = new EventFeed({ ...parts, db })
  parts.lifecycle.started('event feed', () => events.stop())
  const local = startGatewayProcesses(parts, replicas, currency, events, usage)
  const receiptIssuer = () => receiptIssuerOf(parts.directory)
  const following = linked?.followed
  const { hub, gateway } = startGateway(parts, replicas, { currency, receiptIssuer, following, events })
  linked?.followed.start({
    isSubscribed: (symbol) => hub.served.isSubscribed(symbol),
    drop: (symbols) => hub.dropMarkets(symbols.flatMap((symbol) => replicas.renew(symbol) ?? [])),
  })
  parts.lifecycle.started('gateway', () => gateway.stop())
  startSelfAudit(parts, markets, hub)
  const proofOf = (symbol: string): Proof =>
    linked === undefined || writers.sequencerOf(symbol) !== undefined ? writers.proofOf(symbol) : linked.proofOf(symbol)
  const observedMarkets = () =>
    replicas.all.map((replica): ObservedMarket => {
      const report = linked?.followed.reportOf(replica.market.symbol)
      return report === undefined ? replica : { market: replica.market, instant: NO_COMMIT, ...report }
    })
  const priceBooks = { replicas, want: (symbol: string) => linked?.followed.want(symbol) }
  const candles = createCandles(parts, db, markets, leadership)
  const served = { hub, gateway, candles, priceBooks, proofOf, observedMarkets }
  return { markets, leadership, linked, local, cluster, ...served }
}

/** Writes this process's markets, and waits for others'. The store has its schema. */
export async function startStreaming(parts: Parts, db: Db, streaming: Streaming): Promise<void> {
  const { markets, leadership, linked, candles } = streaming
  candles.startWriting()
  await startSources(parts, markets.writers, await readFromStore(parts, 'commit times', () => readCommitFloors(db)))
  // Not before: messages for a market that does not exist yet are rejected.
  if (leadership !== undefined && linked !== undefined) startLeadership(parts, leadership, markets.writers, linked)
  else parts.ingest?.open()
  if (linked !== undefined) await waitForFeeds(parts, linked)
}

/**
 * Ends the writing, and gives the markets to other processes at once. It does not wait for the sources before, which can
 * take seconds to end: without commits, the books would be shown as live meanwhile.
 */
export async function stopWriting({
  markets,
  candles,
  leadership,
}: Pick<Streaming, 'markets' | 'candles' | 'leadership'>): Promise<void> {
  const sourcesEnded = markets.writers.stop()
  const handOver = async (): Promise<void> => {
    await candles.stopWriting()
    await leadership?.stop()
  }
  await Promise.all([sourcesEnded, handOver()])
}

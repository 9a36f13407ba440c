/** Composes this node's readiness from the modules that its checks read. */
import type { Directory } from '../access/clients/directory.ts'
import type { Clock } from '../platform/base/clock.ts'
import type { Db } from '../platform/store/db.ts'
import type { FeedLeadership } from '../streaming/markets/feed-leadership.ts'
import type { Markets } from '../streaming/markets/market-changes.ts'
import type { Config } from './config/settings.ts'
import { type Readiness, readinessRows } from './health/readiness.ts'
import { ReadinessWatch } from './health/readiness-watch.ts'
import { networksWithoutAddresses } from './keys/address-keys.ts'
import type { LinkedMarkets } from './parts/streaming/start-bus.ts'
import type { Cluster } from './parts/streaming/start-cluster.ts'
import type { LocalGateways } from './parts/streaming/start-gateway-processes.ts'
import type { ObservedMarket } from './parts/streaming/streaming.ts'
import { hasDescriptor } from './process/descriptors.ts'
import type { Lifecycle } from './process/lifecycle.ts'
import type { SchemaState } from './process/store-wait.ts'

interface ReadinessParts {
  readonly config: Config
  readonly clock: Clock
  readonly directory: Directory
  readonly lifecycle: Lifecycle
  readonly hasTestSeed?: boolean
  readonly state: { readonly schema: SchemaState | undefined; readonly started: boolean; readonly draining: boolean }
}

interface ReadinessModules {
  readonly db: Db
  readonly markets: Markets
  readonly leadership: FeedLeadership | undefined
  readonly local: LocalGateways | undefined
  readonly linked: LinkedMarkets | undefined
  readonly cluster: Cluster
  observedMarkets(): readonly ObservedMarket[]
}

export function startReadiness(parts: ReadinessParts, modules: ReadinessModules): () => Readiness {
  const { config, clock, directory, lifecycle, state } = parts
  const { db, markets, leadership, local, linked, cluster } = modules
  const withoutAddresses = parts.hasTestSeed === true ? [] : networksWithoutAddresses(config)
  // Once is enough: a later market, or a feed's end, is no reason to refuse streams.
  let feedHeard = config.markets.length === 0
  const watch = new ReadinessWatch({
    clock,
    rows() {
      feedHeard ||= linked === undefined || linked.hasHeardFeed || leadership?.leadsAny === true
      return readinessRows({
        roles: config.roles,
        draining: state.draining,
        started: state.started,
        hasDescriptor: hasDescriptor(),
        storeProblem: db.problem,
        storeCorruption: db.corruption,
        schema: state.schema,
        directoryLoaded: directory.loaded,
        directoryStale: cluster.currency.isStale,
        feedHeard,
        gatewayProcesses: local?.processes.readyCount,
        markets: modules.observedMarkets(),
        sourcesOf: (symbol) => markets.writers.sourcesOf(symbol),
        bus: linked,
        otherNodesHaveBus: cluster.busReports?.othersAreConnected === true,
        differingNodes: linked === undefined ? undefined : cluster.nodes.differing,
        feedLeases: leadership?.states,
        withoutAddresses,
      })
    },
  })
  lifecycle.started('readiness', () => watch.stop())
  return () => watch.current
}

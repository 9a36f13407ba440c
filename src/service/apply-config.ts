/**
 * Applies a reloaded configuration to the running modules in an order that keeps them consistent: an added market is
 * followed before it is written, and a removed market is no longer written when it is forgotten.
 */
import type { LedgerUpkeep } from '../money/ledger/upkeep.ts'
import { type Log, setLogLevel } from '../platform/base/log.ts'
import type { Hub } from '../streaming/gateway/hub.ts'
import type { FeedLeadership } from '../streaming/markets/feed-leadership.ts'
import { changeMarkets, type Markets } from '../streaming/markets/market-changes.ts'
import type { Config } from './config/settings.ts'
import type { OperatorListener } from './listeners/operator-listener.ts'
import type { LinkedMarkets } from './parts/streaming/start-bus.ts'
import type { LocalGateways } from './parts/streaming/start-gateway-processes.ts'
import type { IngestListener } from './parts/streaming/start-ingest.ts'
import { writtenMarkets } from './parts/streaming/start-markets.ts'
import type { CustomerListeners } from './start-listeners.ts'

interface ConfigParts {
  /** The start's configuration, for keys that need a restart. */
  readonly config: Config
  readonly current: { readonly config: Config }
  readonly log: Log
}

/** The modules to which a reloaded configuration is applied. */
interface ReloadedModules {
  readonly markets: Markets
  readonly leadership: FeedLeadership | undefined
  readonly hub: Hub
  readonly local: LocalGateways | undefined
  readonly linked: LinkedMarkets | undefined
  readonly listener: CustomerListeners
  readonly operator: OperatorListener
  readonly ingest: IngestListener | undefined
  readonly ledger: LedgerUpkeep | undefined
}

/**
 * Applies the settings that need an action. All other live settings are read from `current.config` where they are used.
 */
export function applyConfig({ config: started, current, log }: ConfigParts, modules: ReloadedModules): void {
  const { config } = current
  setLogLevel(log, config['log.level'])
  const { leadership, markets } = modules
  const written =
    leadership === undefined
      ? writtenMarkets(started, config)
      : config.markets.filter((market) => markets.writers.writes(market))
  const { added, removed, resourced } = changeMarkets(markets, config.markets, written)
  modules.markets.writers.followAllowed()
  modules.linked?.change({ removed, added: added.map(({ market }) => market) })
  leadership?.change(config.markets)
  const symbols = added.map(({ market }) => market.symbol)
  for (const symbol of removed) modules.hub.removeMarket(symbol, symbols.includes(symbol) ? 'changed' : 'removed')
  for (const replica of added) modules.hub.addMarket(replica)
  modules.local?.reload({ removed, added: added.map(({ market }) => market) })
  if (added.length + removed.length + resourced.length > 0) {
    log.info({ added: symbols, removed, sources_changed: resourced }, 'markets changed')
  }
  modules.listener.reloadTls()
  modules.operator.reloadTls()
  modules.ingest?.reloadTls()
  modules.ledger?.registerSoon(config.assets)
}

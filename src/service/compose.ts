/**
 * Composes the service from its configuration. It selects the engine of the bus, and `open-store` that of the store; no
 * other part of it names a concrete engine. Modules start in the order of their dependencies and stop in reverse order; a start
 * that fails stops whatever it has started. The listeners open first and answer customers 503 until the store has given
 * what the modules need: its schema, the directory, and the commit times of the last run, before which no market commits.
 */
import type { ClientCredentials, DemoClient } from '../access/clients/demo-client.ts'
import { ensureDemoClient, ensureDemoPageClient } from '../access/clients/demo-client.ts'
import { Directory } from '../access/clients/directory.ts'
import type { DirectoryLoader } from '../access/clients/directory-loader.ts'
import type { EncryptionKey } from '../access/clients/encryption-key.ts'
import type { TokenVerifier } from '../access/clients/token-verifier.ts'
import { servedScopes } from '../contract/scopes.ts'
import type { Quotas } from '../money/accounts/quotas.ts'
import { createPoolMetrics } from '../money/deposit-instructions/pool-metrics.ts'
import { LedgerUpkeep } from '../money/ledger/upkeep.ts'
import type { Clock } from '../platform/base/clock.ts'
import type { Log } from '../platform/base/log.ts'
import { createMetricsRegistry, type MetricsRegistry } from '../platform/base/metrics.ts'
import { wait } from '../platform/base/time-limit.ts'
import type { Db } from '../platform/store/db.ts'
import { readSchemaState } from '../platform/store/migrate.ts'
import { patiently } from '../platform/store/sql.ts'
import { StoreClockWatch } from '../platform/store/store-clock.ts'
import type { Gateway } from '../streaming/gateway/gateway.ts'
import type { Hub } from '../streaming/gateway/hub.ts'
import type { PriceHistory } from '../streaming/gateway/price-history.ts'
import type { Ingest } from '../streaming/ingest/ingest.ts'
import { readCommitFloors } from '../streaming/markets/commit-times.ts'
import type { FeedLeadership } from '../streaming/markets/feed-leadership.ts'
import type { Markets } from '../streaming/markets/market-changes.ts'
import type { Bus } from '../streaming/sequencing/bus.ts'
import { createMemoryBus } from '../streaming/sequencing/bus-memory.ts'
import type { SimulatedTrade } from '../streaming/sources/simulator/simulator.ts'
import { applyConfig } from './apply-config.ts'
import type { ConfigResult } from './config/load.ts'
import type { Config } from './config/settings.ts'
import { type Origins, SET_BY_PROGRAM } from './config/settings-in-force.ts'
import { takesPublications } from './config/sources.ts'
import { createVerifier, issuesTokens } from './config/token-issuer.ts'
import { createHealthMetrics } from './health/health-metrics.ts'
import { startOverview } from './health/overview.ts'
import type { Readiness } from './health/readiness.ts'
import { checkEncryptionKey, loadEncryptionKey } from './keys/encryption-key.ts'
import { createOperatorListener, type OperatorListener } from './listeners/operator-listener.ts'
import { createPublicListener, type PublicListener } from './listeners/public-listener.ts'
import { tlsFilesOf } from './listeners/tls-settings.ts'
import { operatorModules, publicModules } from './modules.ts'
import { createDemoPage, type DemoPage } from './pages/demo-page.ts'
import { prepareReceipts } from './parts/access/receipts.ts'
import { createDirectoryLoader, loadDirectory, startUpkeep } from './parts/access/start-directory.ts'
import { type Operators, startOperators } from './parts/access/start-operators.ts'
import { createConverter } from './parts/money/converter.ts'
import { createQuotas } from './parts/money/customer-quotas.ts'
import { startLedger } from './parts/money/start-ledger.ts'
import { startWorkers } from './parts/money/start-workers.ts'
import { type LinkedMarkets, startBus, waitForFeeds } from './parts/streaming/start-bus.ts'
import { type Cluster, startCluster } from './parts/streaming/start-cluster.ts'
import { refusingGateway, startGateway } from './parts/streaming/start-gateway.ts'
import { type LocalGateways, startGatewayProcesses } from './parts/streaming/start-gateway-processes.ts'
import { createIngest, startIngestListener } from './parts/streaming/start-ingest.ts'
import { createLeadership, startLeadership } from './parts/streaming/start-leadership.ts'
import { createMarkets, startSelfAudit, startSources } from './parts/streaming/start-markets.ts'
import { checkDescriptorLimit } from './process/descriptors.ts'
import { Lifecycle, type Stoppable } from './process/lifecycle.ts'
import { openStore } from './process/open-store.ts'
import { StoreIdentityWatch } from './process/store-identity-watch.ts'
import { readFromStore, type SchemaState, waitFor, waitForSchema } from './process/store-wait.ts'
import { createReloadCounter, reload } from './reload.ts'
import { startReadiness } from './start-readiness.ts'

export interface ServiceOptions {
  readonly config: Config
  /** Origins of the values, for the operator; absent = all set by the program that starts it. */
  readonly origins?: Origins
  readonly log: Log
  readonly clock: Clock
  /** Returns a number in [0, 1), for jitter. */
  readonly random: () => number
  /** Called with every trade of the simulator before it is published. */
  readonly onTrade?: (trade: SimulatedTrade) => void
  /** Carries the commits, for callers that subscribe as well; absent = a bus of this service alone. */
  readonly bus?: Bus
  /** Set by the demo: addresses without a configured key are derived from a seed for testing, in the data folder. */
  readonly hasTestSeed?: boolean
  /** Set by the demo: a browser on this machine gets a live ladder at `/`, once the demo client exists. */
  readonly hasDemoPage?: boolean
  /** Takes the data folder from a holder on another machine that cannot be asked whether it runs. */
  readonly takeOver?: boolean
  /** Aborts the start: what was started is stopped, and the start fails with the reason of the signal. */
  readonly signal?: AbortSignal
}

export interface ServiceAddresses {
  /** The address that the public listener is bound to, and the stream's on it. */
  readonly http: string
  readonly ws: string
  readonly operator: string
  /** That of publishers; absent without `ingest.port`. */
  readonly ingest?: string
  /** The address that customers use: `http.public_url`, or the listener's. */
  readonly publicUrl: string
}

export interface Service extends Stoppable {
  readonly addresses: ServiceAddresses
  /** Applies the live settings of a reloaded configuration, and logs the keys that need a restart. */
  reload(result: ConfigResult): void
  /** Creates the demo client unless `existing` credentials are still valid; resolves when this node accepts it. */
  ensureDemoClient(existing: ClientCredentials | undefined): Promise<DemoClient>
}

/** Time limit for a shutdown, in addition to the two configured waits. */
const STOP_MILLISECONDS_MAX = 15_000

/** The parts that the modules share while they are composed. */
interface Parts extends ServiceOptions {
  /** The current configuration, which a reload replaces; `config` is that of the start, for keys that need a restart. */
  readonly current: { config: Config; origins: Origins }
  readonly lifecycle: Lifecycle
  readonly metrics: MetricsRegistry
  readonly quotas: Quotas
  readonly bus: Bus
  readonly directory: Directory
  readonly verifier: TokenVerifier
  readonly signal: AbortSignal
  readonly demoPage: DemoPage | undefined
  readonly ingest: Ingest | undefined
  readonly state: {
    schema: SchemaState | undefined
    /** Set once, when the start has completed. */
    started: boolean
    /** Set once, when stopping begins. */
    draining: boolean
    /** The address that customers use: `http.public_url`, or that of the public listener once it is open. */
    publicUrl: string
  }
}

/** The modules that the operator API shows and changes. */
interface OperatedModules {
  readonly operators: Operators
  readonly db: Db
  readonly storeClock: StoreClockWatch
  readonly encryptionKey: EncryptionKey | undefined
  readonly loader: DirectoryLoader
  readonly markets: Markets
  readonly leadership: FeedLeadership | undefined
  readonly hub: Hub
  readonly prices: PriceHistory
  readonly local: LocalGateways | undefined
  readonly linked: LinkedMarkets | undefined
  readonly cluster: Cluster
  readonly readiness: () => Readiness
  readonly ledger: LedgerUpkeep
  readonly converter: ReturnType<typeof createConverter>
}

interface PublicModules {
  readonly db: Db
  readonly loader: DirectoryLoader
  readonly markets: Markets
  readonly hub: Hub
  readonly gateway: Gateway
  readonly linked: LinkedMarkets | undefined
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const directory = new Directory()
  const current = { config: options.config, origins: options.origins ?? SET_BY_PROGRAM }
  const metrics = createMetricsRegistry()
  const verifier = createVerifier({ ...options, directory })
  const parts: Parts = {
    ...options,
    current,
    lifecycle: new Lifecycle(options.log),
    metrics,
    quotas: createQuotas(metrics, current),
    bus: options.bus ?? createMemoryBus(),
    directory,
    verifier,
    signal: options.signal ?? new AbortController().signal,
    demoPage: createDemoPage(options, directory, current),
    ingest: createIngest({ ...options, current, metrics, directory, verifier }),
    state: { schema: undefined, started: false, draining: false, publicUrl: options.config['http.public_url'] },
  }
  try {
    return await startParts(parts)
  } catch (error) {
    parts.state.draining = true
    await parts.lifecycle.stop()
    throw error
  }
}

async function startParts(parts: Parts): Promise<Service> {
  const { config, log, lifecycle, signal, state } = parts
  checkDescriptorLimit(config, log)
  const { db, identity } = await openWatchedStore(parts)
  signal.throwIfAborted()
  const storeClock = new StoreClockWatch({ ...parts, db })
  lifecycle.started('store clock', () => storeClock.stop())
  const encryptionKey = await readFromStore(parts, 'encryption key', () => loadEncryptionKey(config, db))
  const loader = createDirectoryLoader(parts, db, encryptionKey)
  const leadership = createLeadership(parts, db)
  const markets = createMarkets(parts, db, leadership)
  const linked = startBus(parts, markets, (symbol, epoch) => leadership?.heard(symbol, epoch))
  const local = startGatewayProcesses(parts, markets.replicas, linked)
  const cluster = startCluster(parts, { db, loader, linked }, () => readiness().ready)
  const readiness = startReadiness(parts, { db, markets, leadership, local, linked, cluster })
  const { hub, gateway, prices } = startGateway(parts, markets.replicas, local?.processes, cluster.currency)
  startSelfAudit(parts, markets, hub)
  const ledger = new LedgerUpkeep({ ...parts, db })
  const converter = createConverter(parts, db, markets.replicas)
  const operators = startOperators(parts, db, encryptionKey)
  const engines = { markets, leadership, hub, prices, local, linked, cluster, ledger, converter }
  const operated = { operators, db, storeClock, encryptionKey, loader, readiness, ...engines }
  const operator = await startOperatorListener(parts, operated)
  // Stopped after the public listener, whose drain still sends data.
  lifecycle.started('sources', () => markets.writers.stop().then(() => leadership?.stop()))
  const ingest = await startIngestListener(parts)
  const listener = await startPublicListener(parts, { db, loader, markets, hub, gateway, linked })
  state.publicUrl ||= listener.url
  // Logged before the wait for the store: while it is unavailable, `/readyz` at this address gives the reason.
  const opened = { operator: operator.url, ...(ingest === undefined ? {} : { ingest: ingest.url }) }
  log.info({ http: listener.url, ...opened }, 'listening')
  const noteSchema = (schema: SchemaState): void => void Object.assign(state, { schema })
  await waitForSchema(parts, () => readSchemaState(db), noteSchema)
  await readFromStore(parts, 'encryption key', () => checkEncryptionKey({ ...parts, db, key: encryptionKey }))
  if (db.engine === 'postgres') await readFromStore(parts, 'store identity', () => identity.start())
  await startLedger(parts, db, ledger)
  await loadDirectory(parts, loader)
  await readFromStore(parts, 'operators', () => operators.setup.prepare())
  await readFromStore(parts, 'receipt key', () => prepareReceipts(parts, db, loader, encryptionKey))
  if (issuesTokens(config)) startUpkeep(parts, db, encryptionKey)
  await startSources(parts, markets.writers, await readFromStore(parts, 'commit times', () => readCommitFloors(db)))
  // Not before: the messages of a market that does not exist yet are rejected.
  if (leadership !== undefined && linked !== undefined) startLeadership(parts, leadership, markets.writers, linked)
  else parts.ingest?.open()
  if (linked !== undefined) await waitForFeeds(parts, linked)
  if (config.roles.includes('worker')) await startWorkers({ ...parts, db, converter })
  if (local !== undefined) await waitFor(parts, 'gateway processes', local.processes.whenReady())
  state.started = true
  const { publicUrl } = state
  const addresses = { http: listener.url, ws: listener.url.replace(/^http/, 'ws'), ...opened, publicUrl }
  log.info(addresses, 'ready')
  const reloads = createReloadCounter(parts.metrics)
  return {
    addresses,
    get stopMillisecondsMax() {
      const { config } = parts.current
      return (config['http.drain_delay_seconds'] + config['stream.drain_seconds']) * 1000 + STOP_MILLISECONDS_MAX
    },
    reload(result) {
      const reloaded = { markets, leadership, hub, local, linked, listener, operator, ingest, ledger }
      const apply = () => applyConfig(parts, reloaded)
      reloads.inc({ outcome: reload({ ...parts, apply, decimals: ledger.decimals }, result) })
    },
    stop() {
      state.draining = true
      return lifecycle.stop()
    },
    ensureDemoClient: (existing) => startDemoClient(parts, { db, encryptionKey, loader }, existing),
  }
}

/** An embedded store is examined before a listener hands out deliveries; on a server the gates need no watch. */
async function openWatchedStore(parts: Parts): Promise<{ readonly db: Db; readonly identity: StoreIdentityWatch }> {
  const { db } = await openStore(parts)
  const identity = new StoreIdentityWatch({ ...parts, db, dataFolder: parts.config.data_dir })
  parts.lifecycle.started('store identity', () => identity.stop())
  if (db.engine === 'embedded') {
    await waitFor(
      parts,
      'store identity',
      patiently(() => identity.start()),
    )
  }
  return { db, identity }
}

async function startDemoClient(
  parts: Parts,
  { db, encryptionKey, loader }: Pick<OperatedModules, 'db' | 'encryptionKey' | 'loader'>,
  existing: ClientCredentials | undefined,
): Promise<DemoClient> {
  const scopes = servedScopes(parts.config['rest.sandbox'])
  const ensureClient = () => ensureDemoClient(db, scopes, existing, encryptionKey)
  const client = await readFromStore(parts, 'demo client', ensureClient)
  const page = await readFromStore(parts, 'demo page', () => ensureDemoPageClient(db, encryptionKey))
  parts.demoPage?.openFor(page)
  await loader.refresh()
  return client
}

async function startOperatorListener(parts: Parts, modules: OperatedModules): Promise<OperatorListener> {
  const { db, storeClock, loader, markets, readiness, ledger, operators } = modules
  const { config, current, log, metrics, clock, lifecycle } = parts
  const sourcesOf = (symbol: string) => markets.writers.sourcesOf(symbol)
  createHealthMetrics({
    registry: metrics,
    clock,
    db,
    storeClock,
    directory: loader,
    markets: () => markets.replicas.all,
    sourcesOf,
    isSimulated: (symbol) => markets.replicas.isSimulated(symbol),
    readiness,
    connectionsMax: () => current.config['stream.connections_max'],
  })
  createPoolMetrics(metrics, db)
  const otherMetrics = async () => (await modules.local?.processes.measure())?.metrics ?? []
  const overview = startOverview({ clock, metrics, otherMetrics, readiness }, lifecycle)
  const listener = await createOperatorListener({
    host: config['operator.host'],
    port: config['operator.port'],
    ...operators,
    stream: { hub: modules.hub, clock, log, inboundBytesMax: config['stream.inbound_bytes_max'] },
    allowedHosts: () => current.config['operator.allowed_hosts'],
    log,
    metrics,
    clock,
    readiness,
    otherMetrics,
    modules: operatorModules({
      ...parts,
      ...modules,
      ...operators,
      overview,
      processes: modules.local?.processes,
      issuesTokens: issuesTokens(config),
      scopes: servedScopes(config['rest.sandbox'], takesPublications(config.markets, config)),
      publicUrl: () => parts.state.publicUrl,
      streamUrl: config['stream.public_url'],
      refreshDirectory: () => loader.refresh(),
      sourcesOf,
      ledgerState: () => ledger.state,
    }),
  })
  operators.listensAt(listener.url)
  lifecycle.started('operator listener', () => listener.close())
  return listener
}

/** Its stop is the drain: new connections are refused, then open ones are closed, spread over `stream.drain_seconds`. */
async function startPublicListener(parts: Parts, modules: PublicModules): Promise<PublicListener> {
  const { db, loader, markets, hub, gateway, linked } = modules
  const { config, current, log, metrics, clock, directory, lifecycle, state } = parts
  const tls = tlsFilesOf(config)
  const listener = await createPublicListener({
    host: config['http.host'],
    port: config['http.port'],
    ...(tls === undefined ? {} : { tls }),
    trustedProxies: config['http.trusted_proxies'],
    corsOrigins: config['http.cors_origins'],
    headerBytesMax: config['http.header_bytes_max'],
    unfinishedBytesMax: config['http.unfinished_bytes_max'],
    unreadLimits: {
      clientBytesMax: config['rest.unread_bytes_per_client_max'],
      bytesMax: config['rest.unread_bytes_max'],
      bytesPerSecondMin: config['rest.read_bytes_per_second_min'],
    },
    tokenSeconds: config['auth.token_seconds'],
    scopes: servedScopes(config['rest.sandbox'], takesPublications(config.markets, config)),
    tokenRatePerSecond: config['auth.token_rate_per_second'],
    issuesTokens: issuesTokens(config) && config.roles.includes('api'),
    signsReceipts: config['receipts.enabled'],
    ...(parts.demoPage === undefined ? {} : { demoPage: parts.demoPage }),
    publicUrl: config['http.public_url'],
    streamUrl: config['stream.public_url'],
    db,
    refreshDirectory: () => loader.refresh(),
    directory,
    gateway: config.roles.includes('gateway') ? gateway : refusingGateway(clock),
    modules: publicModules({
      ...parts,
      db,
      ratePerSecond: config['rest.rate_per_second'],
      hub,
      isSimulated: (symbol) => markets.replicas.isSimulated(symbol),
      proofOf: (symbol) =>
        linked === undefined || markets.writers.sequencerOf(symbol) !== undefined
          ? markets.writers.proofOf(symbol)
          : linked.proofOf(symbol),
    }),
    log,
    metrics,
    clock,
  })
  lifecycle.started('public listener', async () => {
    // `http.drain_delay_seconds` lets load balancers notice; they never saw a node that has not started as ready.
    if (state.started) await wait(clock, current.config['http.drain_delay_seconds'] * 1000)
    // `close` resolves when no connection is left, which the drain brings about.
    const closed = listener.close()
    await gateway.drain(current.config['stream.drain_seconds'])
    await closed
  })
  return listener
}

/**
 * Puts the service together from its configuration: the only file that names concrete engines and sources. It starts
 * the rooms in the order they need each other and stops them in reverse; a start that fails leaves nothing behind.
 */
import { type ClientCredentials, type DemoClient, ensureDemoClient } from '../auth/demo-client.ts'
import { Directory } from '../auth/directory.ts'
import { DirectoryLoader } from '../auth/directory-loader.ts'
import { registerAuthOperatorRoutes } from '../auth/operator-routes.ts'
import { createTokenVerifier } from '../auth/token-verifier.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { createMetricsRegistry, type MetricsRegistry } from '../base/metrics.ts'
import type { Bus } from '../channel/bus.ts'
import { createMemoryBus } from '../channel/bus-memory.ts'
import { CommitTimes, readCommitFloors } from '../channel/commit-times.ts'
import { createSequencerMetrics } from '../channel/sequencer.ts'
import { createKraken } from '../feed/kraken.ts'
import { createSimulator, type SimulatedTrade } from '../feed/simulator/simulator.ts'
import { createGateway, type Gateway } from '../gateway/gateway.ts'
import { Hub } from '../gateway/hub.ts'
import { createGatewayMetrics } from '../gateway/metrics.ts'
import type { Db } from '../store/db.ts'
import { Lifecycle, type Stoppable } from './lifecycle.ts'
import type { Listener } from './listener.ts'
import { createMarketData, type MarketData } from './market-data.ts'
import { openStore } from './open-store.ts'
import { createOperatorListener } from './operator-listener.ts'
import { readOperatorToken } from './operator-token.ts'
import { createPublicListener } from './public-listener.ts'
import { readinessOf } from './readiness.ts'
import type { Config } from './settings.ts'

export interface ServiceOptions {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  /** A number in [0, 1), to spread what should not happen at once. */
  readonly random: () => number
  /** Told of every trade of the simulator before it is published. */
  readonly onTrade?: (trade: SimulatedTrade) => void
  /** Where commits travel, for who listens too; absent = a bus of this process that nobody else sees. */
  readonly bus?: Bus
}

export interface ServiceAddresses {
  /** Where the public listener really listens, and the stream on it. */
  readonly http: string
  readonly ws: string
  readonly operator: string
  /** The address that customers use: the setting, or the listener. */
  readonly publicUrl: string
}

export interface Service extends Stoppable {
  readonly addresses: ServiceAddresses
  /** Makes sure that the demo client is there and in force, with `existing` credentials if they still open it. */
  ensureDemoClient(existing: ClientCredentials | undefined): Promise<DemoClient>
}

/** How long a start waits for sources that say nothing; the service works without them and names them. */
const SOURCES_MILLISECONDS_MAX = 5_000
/** Time for everything that a shutdown does beside the two waits that are configured. */
const STOP_MILLISECONDS_MAX = 15_000

/** What the rooms share while they are put together. */
interface Parts extends ServiceOptions {
  readonly lifecycle: Lifecycle
  readonly metrics: MetricsRegistry
  readonly bus: Bus
  readonly directory: Directory
  /** Set once, when stopping begins. */
  readonly state: { draining: boolean }
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const parts: Parts = {
    ...options,
    lifecycle: new Lifecycle(options.log),
    metrics: createMetricsRegistry(),
    bus: options.bus ?? createMemoryBus(),
    directory: new Directory(),
    state: { draining: false },
  }
  try {
    return await startParts(parts)
  } catch (error) {
    await parts.lifecycle.stop()
    throw error
  }
}

async function startParts(parts: Parts): Promise<Service> {
  const { config, log, lifecycle, state } = parts
  const { db } = await openStore(parts)
  const loader = await startDirectory(parts, db)
  const marketData = await startMarketData(parts, db)
  const operator = await startOperatorListener(parts, db, loader, marketData)
  const gateway = startGateway(parts, marketData)
  await startSources(parts, marketData)
  const listener = await startPublicListener(parts, gateway)
  const publicUrl = config['http.public_url'] || listener.url
  const addresses = { http: listener.url, ws: listener.url.replace(/^http/, 'ws'), operator: operator.url, publicUrl }
  log.info(addresses, 'ready')
  return {
    addresses,
    stopMillisecondsMax:
      (config['http.drain_delay_seconds'] + config['stream.drain_seconds']) * 1000 + STOP_MILLISECONDS_MAX,
    stop() {
      state.draining = true
      return lifecycle.stop()
    },
    async ensureDemoClient(existing) {
      const client = await ensureDemoClient(db, existing)
      await loader.refresh()
      return client
    },
  }
}

async function startDirectory({ config, directory, log, clock, lifecycle }: Parts, db: Db): Promise<DirectoryLoader> {
  const loader = new DirectoryLoader({ db, directory, clock, log, publicUrl: config['http.public_url'] })
  lifecycle.started('directory', () => loader.stop())
  await loader.refresh()
  return loader
}

async function startMarketData(parts: Parts, db: Db): Promise<MarketData> {
  const { config, clock, log, metrics, lifecycle, onTrade } = parts
  const marketData = createMarketData({
    markets: config.markets,
    executionsKept: config['stream.executions_kept'],
    bus: parts.bus,
    clock,
    log,
    metrics: createSequencerMetrics(metrics),
    floors: await readCommitFloors(db),
    createSource: {
      simulator: (markets) =>
        createSimulator({
          markets,
          seed: config['simulator.seed'],
          updatesPerSecond: config['simulator.rate'],
          clock,
          ...(onTrade === undefined ? {} : { onTrade }),
        }),
      kraken: (markets) => createKraken({ url: config['feeds.kraken.url'], markets, clock, log, metrics }),
    },
  })
  lifecycle.started('replicas', () => marketData.stopReplicas())
  const commitTimes = new CommitTimes({
    db,
    clock,
    log,
    latest: () => marketData.replicas.map(({ market, instant }) => [market.symbol, instant.milliseconds] as const),
  })
  lifecycle.started('commit times', () => commitTimes.stop())
  return marketData
}

async function startOperatorListener(
  parts: Parts,
  db: Db,
  loader: DirectoryLoader,
  marketData: MarketData,
): Promise<Listener> {
  const { config, log, metrics, clock, directory, state, lifecycle } = parts
  const listener = await createOperatorListener({
    host: config['operator.host'],
    port: config['operator.port'],
    token: readOperatorToken(config.data_dir, config['operator.token']),
    log,
    metrics,
    clock,
    readiness: () =>
      readinessOf({
        draining: state.draining,
        storeAvailable: db.available,
        directoryLoaded: directory.loaded,
        markets: marketData.replicas,
        starting: marketData.starting,
      }),
    rooms: [(app) => registerAuthOperatorRoutes(app, { db, refreshDirectory: () => loader.refresh() })],
  })
  lifecycle.started('operator listener', () => listener.close())
  return listener
}

function startGateway(parts: Parts, marketData: MarketData): Gateway {
  const { config, bus, clock, log, directory, lifecycle } = parts
  const metrics = createGatewayMetrics(parts.metrics)
  const hub = new Hub({
    replicas: marketData.replicas,
    bus,
    clock,
    log,
    metrics,
    random: parts.random,
    settings: {
      heartbeatSeconds: config['stream.heartbeat_seconds'],
      pingSeconds: config['stream.ping_seconds'],
      silenceSeconds: config['stream.silence_seconds'],
      staleSeconds: config['stream.stale_seconds'],
      outboxBytesMax: config['stream.outbox_bytes_max'],
      inboundPerSecond: config['stream.inbound_per_second'],
      inboundBurst: config['stream.inbound_burst'],
      subscriptionsMax: config['stream.subscriptions_max'],
      closesExpired: config['stream.token_expiry'] === 'close',
    },
  })
  const gateway = createGateway({
    hub,
    directory,
    verifier: createTokenVerifier({ directory, clock }),
    clock,
    log,
    metrics,
    settings: {
      inboundBytesMax: config['stream.inbound_bytes_max'],
      connectionsPerClientMax: config['stream.connections_per_client_max'],
      connectionsMax: config['stream.connections_max'],
    },
  })
  lifecycle.started('gateway', () => gateway.stop())
  return gateway
}

async function startSources({ clock, lifecycle, log }: Parts, marketData: MarketData): Promise<void> {
  lifecycle.started('sources', () => marketData.stopSources())
  const patience = wait(clock, SOURCES_MILLISECONDS_MAX)
  await Promise.race([marketData.start(), patience])
  if (marketData.starting.size > 0) log.warn({ markets: [...marketData.starting] }, 'sources have said nothing yet')
}

/** Its stop is the drain: nobody new, then everyone who is there, spread over time. */
async function startPublicListener(parts: Parts, gateway: Gateway): Promise<Listener> {
  const { config, log, metrics, clock, directory, lifecycle } = parts
  const listener = await createPublicListener({
    host: config['http.host'],
    port: config['http.port'],
    headerBytesMax: config['http.header_bytes_max'],
    tokenSeconds: config['auth.token_seconds'],
    directory,
    gateway,
    log,
    metrics,
    clock,
  })
  lifecycle.started('public listener', async () => {
    await wait(clock, config['http.drain_delay_seconds'] * 1000)
    // It is closed when its last connection is gone, and it is the drain that makes them go.
    const closed = listener.close()
    await gateway.drain(config['stream.drain_seconds'])
    await closed
  })
  return listener
}

function wait(clock: Clock, milliseconds: number): Promise<void> {
  if (milliseconds === 0) return Promise.resolve()
  return new Promise((resolve) => {
    clock.schedule(milliseconds, resolve)
  })
}

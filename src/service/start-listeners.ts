/** Starts the operator listener and the public listener, with the modules of this process's parts. */

import { type Scope, servedScopes } from '../contract/scopes.ts'
import { wait } from '../platform/base/time-limit.ts'
import { Problem } from '../platform/http/problem.ts'
import { hasRole } from './config/roles.ts'
import type { Config } from './config/settings.ts'
import { takesPublications } from './config/sources.ts'
import { issuesTokens } from './config/token-issuer.ts'
import { createHealthMetrics } from './health/health-metrics.ts'
import { startOverview } from './health/overview.ts'
import type { Readiness } from './health/readiness.ts'
import { createOperatorListener, type OperatorListener } from './listeners/operator-listener.ts'
import { createPublicListener } from './listeners/public-listener.ts'
import { tlsFilesOf } from './listeners/tls-settings.ts'
import { gatewayModules, operatorModules, publicModules } from './modules.ts'
import type { Access } from './parts/access/access.ts'
import type { Money } from './parts/money/money.ts'
import type { Parts } from './parts/parts.ts'
import { refusingGateway } from './parts/streaming/start-gateway.ts'
import { type OwnStream, startStream } from './parts/streaming/start-stream.ts'
import type { Streaming } from './parts/streaming/streaming.ts'
import type { Store } from './start-store.ts'

export interface ListenerAddresses {
  /** The public listener's bound address. */
  readonly http: string
  /** The stream's bound address: on the public listener, or on its own port. */
  readonly ws: string
  readonly operator: string
  /** The publishers' address, absent without `ingest.port`. */
  readonly ingest?: string
  /** The address for customers: `http.public_url`, or the listener's. */
  readonly publicUrl: string
  /** The stream's address for customers: `stream.public_url`, or that of its own port. Empty: that of `publicUrl`. */
  readonly streamUrl: string
}

/** What the listeners show and change. */
interface Served {
  readonly store: Store
  readonly access: Access
  readonly streaming: Streaming
  /** Absent in a process whose roles move no money. */
  readonly money: Money | undefined
  readonly readiness: () => Readiness
}

export async function startOperatorListener(parts: Parts, served: Served): Promise<OperatorListener> {
  const { store, access, streaming, money, readiness } = served
  const { db } = store
  const { loader, operators } = access
  const { markets, hub, local } = streaming
  const { config, current, log, metrics, clock, lifecycle } = parts
  const sourcesOf = (symbol: string) => markets.writers.sourcesOf(symbol)
  createHealthMetrics({
    registry: metrics,
    clock,
    ...store,
    directory: loader,
    markets: () => streaming.observedMarkets(),
    sourcesOf,
    isSimulated: (symbol) => markets.replicas.isSimulated(symbol),
    readiness,
    connectionsMax: () => current.config['stream.connections_max'],
  })
  const otherMetrics = async () => (await local?.processes.measure())?.metrics ?? []
  const overview = startOverview({ clock, metrics, otherMetrics, readiness }, lifecycle)
  const listener = await createOperatorListener({
    host: config['operator.host'],
    port: config['operator.port'],
    ...operators,
    stream: { hub, clock, log, inboundBytesMax: config['stream.inbound_bytes_max'] },
    allowedHosts: () => current.config['operator.allowed_hosts'],
    log,
    metrics,
    clock,
    readiness,
    otherMetrics,
    modules: operatorModules({
      ...parts,
      ...access,
      ...streaming,
      candleReader: streaming.candles.reader,
      ...operators,
      money: money && { ...money, ledgerState: () => money.ledger.state },
      db,
      scopes: scopesOf(config),
      streamUrl: () => parts.state.streamUrl,
      refreshDirectory: () => loader.refresh(),
      readiness,
      overview,
      processes: local?.processes,
      issuesTokens: issuesTokens(config),
      publicUrl: () => parts.state.publicUrl,
      sourcesOf,
    }),
  })
  operators.listensAt(listener.url)
  lifecycle.started('operator listener', () => listener.close())
  return listener
}

export interface CustomerListeners {
  /** The public listener's bound address. */
  readonly url: string
  /** Undefined where the public listener serves the stream. */
  readonly stream: OwnStream | undefined
  /** Reloads the certificate and its key for all of them. Invalid files change nothing and are logged. */
  reloadTls(): void
}

/** Its stop is the drain: new connections are refused, then open ones are closed, spread over `stream.drain_seconds`. */
export async function startPublicListener(parts: Parts, served: Served): Promise<CustomerListeners> {
  const { store, access, streaming, money } = served
  const { config, current, log, metrics, clock, directory, demoPage, lifecycle, state } = parts
  const { db } = store
  const { markets, hub, gateway, proofOf } = streaming
  const servesRest = money !== undefined && hasRole(config, 'api')
  const isSimulated = (symbol: string) => markets.replicas.isSimulated(symbol)
  const isGateway = hasRole(config, 'gateway')
  const ratePerSecond = config['rest.rate_per_second']
  const candles = streaming.candles.reader
  const marketData = { ratePerSecond, hub, isSimulated, proofOf, isGateway, candles }
  const listener = await createPublicListener({
    ...publicSettings(config),
    scopes: scopesOf(config),
    issuesTokens: issuesTokens(config) && servesRest,
    ...(demoPage === undefined ? {} : { demoPage }),
    db,
    refreshDirectory: () => access.loader.refresh(),
    directory,
    streamUrl: () => state.streamUrl,
    gateway: servesStream(config) ? gateway : refusingGateway(clock, () => elsewhere(config, state)),
    modules: servesRest
      ? publicModules({ ...parts, ...access, ...money, ...marketData, db })
      : isGateway
        ? gatewayModules({ ...parts, ...marketData })
        : [],
    log,
    metrics,
    clock,
  })
  const stream = await startStream(parts, streaming, listener.tls)
  if (stream !== undefined) state.streamUrl ||= stream.url
  lifecycle.started('public listener', async () => {
    // `http.drain_delay_seconds` lets load balancers notice. They never saw an unstarted node as ready.
    if (state.started) await wait(clock, current.config['http.drain_delay_seconds'] * 1000)
    // `close` resolves when no connection is left, which the drain brings about.
    const closed = listener.close()
    await (stream ?? gateway).drain(current.config['stream.drain_seconds'])
    await closed
  })
  return {
    ...listener,
    stream,
    reloadTls() {
      const tls = listener.reloadTls()
      if (tls !== undefined) stream?.replaceCertificate(tls)
    },
  }
}

/** Whether the public listener serves the stream. */
function servesStream(config: Config): boolean {
  return hasRole(config, 'gateway') && config['stream.port'] === ''
}

/** Why the public listener does not serve the stream. */
function elsewhere(config: Config, { streamUrl }: Parts['state']): Problem {
  if (!hasRole(config, 'gateway')) return new Problem('not_found', 'this node does not serve the stream')
  const detail = streamUrl === '' ? 'the stream is not open yet' : `the stream is at ${streamUrl}: connect there`
  return new Problem('unavailable', detail)
}

function publicSettings(config: Config) {
  const tls = tlsFilesOf(config)
  return {
    host: config['http.host'],
    port: config['http.port'],
    ...(tls === undefined ? {} : { tls }),
    trustedProxies: config['http.trusted_proxies'],
    corsOrigins: config['http.cors_origins'],
    headerBytesMax: config['http.header_bytes_max'],
    unfinishedBytesMax: config['http.unfinished_bytes_max'],
    tokenSeconds: config['auth.token_seconds'],
    tokenRatePerSecond: config['auth.token_rate_per_second'],
    signsReceipts: config['receipts.enabled'],
    publicUrl: config['http.public_url'],
  }
}

function scopesOf(config: Config): readonly Scope[] {
  return servedScopes(config['rest.sandbox'], takesPublications(config))
}

/**
 * A gateway process on this machine: the role `gateway` with two adapters, because it has neither store nor sources. It
 * follows the books and the directory over the pipe from the main process. It listens by itself, shares the port with
 * the others, and ends when the main process does.
 */
import { createPrivateKey } from 'node:crypto'
import { Socket } from 'node:net'
import { deserialize } from 'node:v8'
import { Directory } from '../../../access/clients/directory.ts'
import { DirectoryImport } from '../../../access/clients/directory-link.ts'
import { Meter } from '../../../access/metering/meter.ts'
import { PIPE_DESCRIPTOR } from '../../../platform/base/child-process.ts'
import { type Clock, createSystemClock } from '../../../platform/base/clock.ts'
import { createLog, setLogLevel } from '../../../platform/base/log.ts'
import { createMetricsRegistry, type MetricsRegistry, observeProcess } from '../../../platform/base/metrics.ts'
import { wait } from '../../../platform/base/time-limit.ts'
import { LinkedEvents } from '../../../streaming/gateway/event-link.ts'
import type { Hub } from '../../../streaming/gateway/hub.ts'
import type {
  FromGatewayProcess,
  Questions,
  ReceiptKey,
  ToGatewayProcess,
} from '../../../streaming/gateway/process-messages.ts'
import { SessionConnections } from '../../../streaming/gateway/served-connections.ts'
import { SharedCounts } from '../../../streaming/gateway/shared-counts.ts'
import { startUsageReport } from '../../../streaming/gateway/writes/usage-report.ts'
import { BusImport, createImportMetrics } from '../../../streaming/links/bus-import.ts'
import { encodeCommitRequest, encodeStateRequest } from '../../../streaming/links/bus-requests.ts'
import { PipeLink } from '../../../streaming/links/link-pipe.ts'
import { MarketReplicas } from '../../../streaming/markets/market-replicas.ts'
import { createMemoryBus } from '../../../streaming/sequencing/bus-memory.ts'
import type { Replica } from '../../../streaming/sequencing/replica.ts'
import { createVerifier } from '../../config/token-issuer.ts'
import { createStreamListener } from '../../listeners/stream-listener.ts'
import { crashOnUncaught } from '../../process/lifecycle.ts'
import { startWatchdog } from '../../process/watchdog.ts'
import type { GatewayConfig, GatewayStart } from './gateway-start.ts'
import { type GatewayParts, startGateway } from './start-gateway.ts'
import { auditFollowed, withdrawAfterMilliseconds } from './start-markets.ts'

/** How long a start waits until every market is followed. It waits no longer for a market without a book. */
const FOLLOW_MILLISECONDS_MAX = 2_000
const FOLLOW_CHECK_MILLISECONDS = 10
/** How long a process with a wrong book waits until its last metrics are written. */
const LAST_METRICS_MILLISECONDS_MAX = 1_000

async function serve({ config, port, tls, receiptKey }: GatewayStart): Promise<void> {
  const parts = createParts(config)
  const { clock, log, metrics, directory } = parts
  const currency = new DirectoryImport({ directory, clock, staleSeconds: config['auth.directory_stale_seconds'] })
  const replicas = new MarketReplicas({ ...parts, ...config, executionsKept: config['stream.executions_kept'] })
  const importer = createImport(parts, replicas, () => link)
  let issuer = issuerOf(receiptKey)
  const others = new SharedCounts(clock, (counts) => send({ type: 'counts', counts }))
  const events = new LinkedEvents(send)
  const { hub, gateway } = startGateway(parts, replicas, {
    currency,
    events,
    receiptIssuer: () => issuer,
    others,
    onCount: (holders) => others.changed(holders, hub),
  })
  auditFollowed(parts, hub, () => sendLastMetrics(metrics, clock))
  const reload = createReload(parts, { replicas, importer, hub })
  const pipe = new Socket({ fd: PIPE_DESCRIPTOR, readable: true, writable: true })
  const link: PipeLink = new PipeLink(pipe, (name, bytes) => {
    if (name === 'messages') importer.onMessages(bytes)
    else if (name === 'heartbeats') importer.onHeartbeats(bytes)
    else if (name === 'digest') importer.onDigest(bytes)
    else if (name === 'state') importer.onState(bytes)
    else if (name === 'directory') currency.receive(bytes)
    else if (name === 'control') reload(deserialize(bytes) as GatewayConfig)
  })
  const connections = new SessionConnections(hub)
  const answer = createAnswers(connections, hub, metrics)
  const reportUsage = startUsageReport({ ...parts, hub, send })
  process.on('message', async (message: ToGatewayProcess) => {
    if (message.type === 'ping') send({ type: 'pong' })
    else if (message.type === 'others') others.receive(message.counts)
    else if (message.type === 'close') connections.close(message.id)
    else if (message.type === 'tls') (await listening).replaceCertificate(message.tls)
    else if (message.type === 'receipt-key') issuer = issuerOf(message.receiptKey)
    else if (message.type === 'event-answer' || message.type === 'event-wake') events.receive(message)
    else if (message.type === 'question')
      send({ type: 'answer', number: message.number, answer: await answer(message) })
    else if (message.type === 'drain') {
      const closed = (await listening).close()
      await gateway.drain(message.seconds)
      await closed
      await reportUsage()
      send({ type: 'drained' })
    }
  })
  const listening = followed(importer, directory, clock).then(() =>
    createStreamListener({ config, port, tls, reusePort: true, gateway, log, metrics, clock }),
  )
  await listening
  send({ type: 'ready' })
}

function createParts(config: GatewayConfig): GatewayParts {
  const log = createLog(config['log.level'])
  crashOnUncaught(log)
  startWatchdog(log, config['process.hang_seconds'])
  const clock = createSystemClock()
  const metrics = createMetricsRegistry()
  observeProcess(metrics, clock)
  const directory = new Directory()
  const verifier = createVerifier({ config, directory, clock, log })
  const bus = createMemoryBus()
  return {
    config,
    current: { config },
    bus,
    clock,
    log,
    metrics,
    random: Math.random,
    directory,
    verifier,
    meter: new Meter(clock),
  }
}

function createImport(parts: GatewayParts, replicas: MarketReplicas, link: () => PipeLink): BusImport {
  return new BusImport({
    ...parts,
    transport: {
      requestState: (request) => link().send('stateRequest', encodeStateRequest(request)),
      requestCommit: (request) => link().send('commitRequest', encodeCommitRequest(request)),
    },
    replicaOf: (market) => replicas.replicaOf(market),
    withdrawAfterMilliseconds: withdrawAfterMilliseconds(parts.config),
    metrics: createImportMetrics(parts.metrics),
  })
}

interface FollowedMarkets {
  readonly replicas: MarketReplicas
  readonly importer: BusImport
  readonly hub: Hub
}

/** Follows the markets. The returned function applies a reloaded configuration. */
function createReload(
  { current, log }: GatewayParts,
  { replicas, importer, hub }: FollowedMarkets,
): (next: GatewayConfig) => void {
  const ends = new Map<string, () => void>()
  const follow = ({ market, instant }: Replica) => ends.set(market.symbol, importer.add(market, instant.milliseconds))
  for (const replica of replicas.all) follow(replica)
  return (next) => {
    current.config = next
    setLogLevel(log, next['log.level'])
    const { added, removed } = replicas.change(next.markets)
    for (const symbol of removed) {
      ends.get(symbol)?.()
      ends.delete(symbol)
      hub.removeMarket(symbol, replicas.replicaOf(symbol) === undefined ? 'removed' : 'changed')
    }
    for (const replica of added) {
      follow(replica)
      hub.addMarket(replica)
    }
  }
}

/** Resolves when every market with a book is followed, and the directory is loaded. */
async function followed(importer: BusImport, directory: Directory, clock: Clock): Promise<void> {
  const deadline = clock.monotonicMilliseconds() + FOLLOW_MILLISECONDS_MAX
  while ((importer.notCurrent.length > 0 || !directory.loaded) && clock.monotonicMilliseconds() < deadline) {
    await wait(clock, FOLLOW_CHECK_MILLISECONDS)
  }
}

function createAnswers(connections: SessionConnections, hub: Hub, metrics: MetricsRegistry) {
  const answers: { readonly [Name in keyof Questions]: (asked: Questions[Name]['asked']) => unknown } = {
    list: ([request, bytesMax]) => connections.list(request, bytesMax),
    find: (id) => connections.find(id),
    show: (id) => connections.show(id),
    measure: async () => ({
      metrics: await metrics.getMetricsAsJSON(),
      subscribers: new Map([...hub.markets].map((market) => [market.symbol, market.clientCount])),
    }),
  }
  return ({ name, asked }: Extract<ToGatewayProcess, { type: 'question' }>) =>
    (answers[name] as (asked: unknown) => unknown)(asked)
}

/** Those of many markets are more than the channel takes at once, and what is not written is lost with the process. */
async function sendLastMetrics(metrics: MetricsRegistry, clock: Clock): Promise<void> {
  const message = { type: 'metrics', metrics: await metrics.getMetricsAsJSON() } as const
  const written = new Promise<void>((resolve) => send(message, resolve))
  await Promise.race([written, wait(clock, LAST_METRICS_MILLISECONDS_MAX)])
}

function send(message: FromGatewayProcess, written: () => void = () => undefined): void {
  // Without a channel, this process is about to end. A failure means that the main process has just ended.
  if (process.connected) process.send?.(message, undefined, undefined, () => written())
  else written()
}

function issuerOf(receiptKey: ReceiptKey | undefined) {
  if (receiptKey === undefined) return undefined
  const key = Buffer.from(receiptKey.privateKey)
  return { ...receiptKey, privateKey: createPrivateKey({ key, format: 'der', type: 'pkcs8' }) }
}

// Signals reach every process of a terminal's group; the main process drains and then ends this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit(0))
process.once('message', ({ type, start }: { readonly type: 'start'; readonly start: GatewayStart }) => {
  if (type === 'start') void serve(start)
})

/**
 * Starts the bus between processes when `bus.url` is set: every process follows markets over NATS, so everything behind
 * their replicas is as in one process, and sends the markets that it leads. It follows all configured markets, or with
 * `stream.follow: wanted` those that it may lead and those that are wanted here.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { newId } from '../../../platform/base/ids.ts'
import type { Log } from '../../../platform/base/log.ts'
import { Gauge, type MetricsRegistry } from '../../../platform/base/metrics.ts'
import { untilAborted, wait } from '../../../platform/base/time-limit.ts'
import type { NodeTransport } from '../../../streaming/cluster/nodes.ts'
import { BusExport } from '../../../streaming/links/bus-export.ts'
import { BusImport, createImportMetrics } from '../../../streaming/links/bus-import.ts'
import { FollowedMarkets } from '../../../streaming/links/followed-markets.ts'
import { NatsLink } from '../../../streaming/links/link-nats.ts'
import { MarketReports } from '../../../streaming/links/market-reports.ts'
import { type NatsAccess, tryNats } from '../../../streaming/links/nats-connection.ts'
import type { MarketDefinition, Proof } from '../../../streaming/market/event.ts'
import type { LedMarkets } from '../../../streaming/markets/feed-leadership.ts'
import type { Markets } from '../../../streaming/markets/market-changes.ts'
import type { MarketReplicas } from '../../../streaming/markets/market-replicas.ts'
import type { Bus } from '../../../streaming/sequencing/bus.ts'
import type { Replica } from '../../../streaming/sequencing/replica.ts'
import { followsAlways } from '../../config/followed-markets.ts'
import type { Config } from '../../config/settings.ts'
import { SET_BY_PROGRAM } from '../../config/settings-in-force.ts'
import { checkBusFiles, readBusFile } from '../../doctor/bus-files.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import { withdrawAfterMilliseconds } from './start-markets.ts'

interface BusParts {
  readonly config: Config
  readonly current: { readonly config: Config }
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
  readonly metrics: MetricsRegistry
  readonly lifecycle: Lifecycle
}

/** This process's connection to the others. */
export interface LinkedMarkets extends LedMarkets {
  /** Why there is no connection to NATS. Undefined while there is one. */
  readonly problem: string | undefined
  /** Markets that this process followed at its start, neither writes nor has received since. */
  readonly starting: ReadonlySet<string>
  readonly followed: Pick<FollowedMarkets, 'has' | 'want' | 'reportOf' | 'start'>
  /** Whether another process has sent a heartbeat for its markets since the start. */
  readonly hasHeardFeed: boolean
  /** Carries the nodes' own messages beside the markets. */
  readonly nodeTransport: NodeTransport
  /** The proof for a book that another process writes. */
  readonly proofOf: (symbol: string) => Proof
  /** To be called when the replicas have changed. */
  change(changes: { readonly removed: readonly string[]; readonly added: readonly MarketDefinition[] }): void
}

/** How long a start waits for each market's state from its feed. Then it logs which are missing. */
const FOLLOW_MILLISECONDS_MAX = 5_000
const FOLLOW_CHECK_MILLISECONDS = 10

/**
 * Connects in the background. Undefined without `bus.url`.
 * @param onLaterEpoch called with each market epoch later than all those received before
 * @throws {Error} when a file named by `bus.*` cannot be read
 */
export function startBus(
  parts: BusParts,
  { writers, replicas, positions }: Pick<Markets, 'writers' | 'replicas' | 'positions'>,
  onLaterEpoch: (symbol: string, epoch: string) => void,
): LinkedMarkets | undefined {
  const { config, bus, lifecycle } = parts
  if (config['bus.url'] === '') return undefined
  const [problem] = checkBusFiles(config, SET_BY_PROGRAM).problems
  if (problem !== undefined) throw new Error(`${problem.key} ${problem.message}`)
  const link = new NatsLink({ ...parts, ...natsAccessOf(config), node: newId() })
  lifecycle.started('bus', () => link.stop())
  const exporter = startExport(parts, link, { writers, replicas })
  const reports = new MarketReports(parts.clock, (symbol) => replicas.replicaOf(symbol)?.market)
  const importer = startImport(parts, link, { replicas, positions, reports }, onLaterEpoch)
  const sendingEnds = new Map<string, () => void>()
  const followed = startFollowing(parts, link, importer, { replicas, reports, onLaterEpoch })
  const change: LinkedMarkets['change'] = ({ removed, added }) => {
    for (const symbol of removed) {
      unheard.delete(symbol)
      sendingEnds.get(symbol)?.()
      sendingEnds.delete(symbol)
      passOnEpoch(reports, symbol, onLaterEpoch)
      reports.forget(symbol)
      importer.forget(symbol)
    }
    followed.change(removed, added)
  }
  const markets = replicas.all.map(({ market }) => market)
  followed.change([], markets)
  const unheard = new Set(followed.symbols)
  return {
    followed,
    get problem() {
      return link.problem
    },
    get starting() {
      const missing = new Set(importer.notCurrent)
      for (const symbol of unheard) if (!missing.has(symbol)) unheard.delete(symbol)
      return unheard
    },
    get hasHeardFeed() {
      return importer.hasHeardFeed
    },
    nodeTransport: link.nodeTransport,
    announce: (symbols, epoch) => exporter.announce(symbols, epoch),
    whenFlushed: (work) => void link.flushed().then(work),
    proofOf: (symbol) => importer.proofOf(symbol),
    change,
    lead(symbols) {
      for (const symbol of symbols) {
        importer.lead(symbol)
        const onStateRequest: BusExport['onStateRequest'] = (request, answer) => {
          // Before the state: who has the state can lead at the next moment.
          positions?.repeat(symbol)
          exporter.onStateRequest(request, answer)
        }
        const serving = link.serve(symbol, { onStateRequest }, (laterThan) => void bus.requestCommit(symbol, laterThan))
        sendingEnds.set(symbol, both(exporter.add(symbol, true), serving))
      }
    },
    follow(symbols) {
      for (const symbol of symbols) {
        sendingEnds.get(symbol)?.()
        sendingEnds.delete(symbol)
        importer.follow(symbol)
      }
    },
  }
}

/** Passes on a market's reported epoch: without a follower it is known from reports alone. */
function passOnEpoch(
  reports: MarketReports,
  symbol: string,
  onLaterEpoch: (symbol: string, epoch: string) => void,
): void {
  const epoch = reports.epochOf(symbol)
  if (epoch !== undefined) onLaterEpoch(symbol, epoch)
}

/** Nothing is dropped before the hub exists: `FollowedMarkets.start`. */
function startFollowing(
  { clock, current, lifecycle, metrics }: BusParts,
  link: NatsLink,
  importer: BusImport,
  {
    replicas,
    reports,
    onLaterEpoch,
  }: {
    readonly replicas: MarketReplicas
    readonly reports: MarketReports
    readonly onLaterEpoch: (symbol: string, epoch: string) => void
  },
): FollowedMarkets {
  let pinned = { config: current.config, symbols: followsAlways(current.config) }
  const followed = new FollowedMarkets({
    clock,
    reports,
    isPinned(symbol) {
      if (pinned.config !== current.config) pinned = { config: current.config, symbols: followsAlways(current.config) }
      return pinned.symbols.has(symbol)
    },
    follow(symbol) {
      const { market, instant } = replicas.replicaOf(symbol) as Replica
      // The market's last leader may have ended before this process follows it.
      passOnEpoch(reports, symbol, onLaterEpoch)
      return both(link.follow(symbol), importer.add(market, instant.milliseconds))
    },
  })
  new Gauge({
    name: 'tidegate_bus_followed_markets',
    help: 'Markets that this process follows or writes: all of them, or with `stream.follow: wanted` those wanted here',
    registers: [metrics],
    collect() {
      this.set(followed.symbols.length)
    },
  })
  lifecycle.started('followed markets', () => followed.stop())
  return followed
}

function both(first: () => void, second: () => void): () => void {
  return () => {
    first()
    second()
  }
}

function startExport(
  { bus, clock, lifecycle }: BusParts,
  link: NatsLink,
  { writers, replicas }: Pick<Markets, 'writers' | 'replicas'>,
): BusExport {
  const exporter = new BusExport({
    bus,
    clock,
    transport: link.exportTransport,
    replicaOf: (market) => replicas.replicaOf(market),
    proofOf: (market) => writers.proofOf(market),
  })
  lifecycle.started('bus export', () => exporter.stop())
  return exporter
}

function startImport(
  parts: BusParts,
  link: NatsLink,
  { replicas, positions, reports }: Pick<Markets, 'replicas' | 'positions'> & { readonly reports: MarketReports },
  onLaterEpoch: (symbol: string, epoch: string) => void,
): BusImport {
  const importer = new BusImport({
    ...parts,
    transport: link.importTransport,
    replicaOf: (market) => replicas.replicaOf(market),
    onLaterEpoch,
    positions,
    reports,
    withdrawAfterMilliseconds: withdrawAfterMilliseconds(parts.config),
    metrics: createImportMetrics(parts.metrics),
  })
  parts.lifecycle.started('bus import', () => importer.stop())
  link.startImport(importer)
  if (positions === undefined) return importer
  // Only for a process that may write markets.
  link.onPositions((bytes) => importer.onPositions(bytes))
  positions.connect((market, bytes) => link.sendPositions(market, bytes))
  return importer
}

/** Resolves when each followed market has its state, at the latest after `FOLLOW_MILLISECONDS_MAX`. */
export async function waitForFeeds(
  { clock, log, signal }: Pick<BusParts, 'clock' | 'log'> & { readonly signal: AbortSignal },
  linked: LinkedMarkets,
): Promise<void> {
  const deadline = clock.monotonicMilliseconds() + FOLLOW_MILLISECONDS_MAX
  while (linked.starting.size > 0 && clock.monotonicMilliseconds() < deadline) {
    await untilAborted(signal, wait(clock, FOLLOW_CHECK_MILLISECONDS))
  }
  if (linked.starting.size > 0) log.warn({ markets: [...linked.starting] }, 'nothing from some markets’ feed yet')
}

/** Connects to NATS once, and resolves with the server and its version. Rejects with an error without secrets. */
export function tryBus(config: Config, clock: Clock): Promise<string> {
  return tryNats(natsAccessOf(config), clock)
}

function natsAccessOf(config: Config): NatsAccess {
  const credentials = config['bus.credentials_file']
  const caFile = config['bus.tls.ca_file']
  const certFile = config['bus.tls.cert_file']
  const keyFile = config['bus.tls.key_file']
  return {
    url: config['bus.url'],
    credentials: credentials === '' ? undefined : readBusFile(credentials),
    tls: {
      ...(caFile === '' ? {} : { caFile }),
      ...(certFile === '' ? {} : { certFile, keyFile }),
    },
  }
}

/**
 * Composes this node's reports to the service's other nodes, and asks them. Without a bus it is the only one. From
 * their reports it knows whether its directory is current, and whether NATS is lost to this node alone.
 */
import { hostname } from 'node:os'
import { DirectoryCurrency } from '../../../access/clients/directory-currency.ts'
import type { DirectoryLoader } from '../../../access/clients/directory-loader.ts'
import { type Clock, millisecondText } from '../../../platform/base/clock.ts'
import { newId } from '../../../platform/base/ids.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import { programVersion } from '../../../platform/base/version.ts'
import type { Db } from '../../../platform/store/db.ts'
import { definitionsDigest } from '../../../streaming/cluster/announcement.ts'
import { BusReports } from '../../../streaming/cluster/bus-reports.ts'
import { Nodes } from '../../../streaming/cluster/nodes.ts'
import { NodeQuestions } from '../../../streaming/cluster/questions.ts'
import type { Config } from '../../config/settings.ts'
import { translateStoreError } from '../../listeners/listener.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import type { LinkedMarkets } from './start-bus.ts'

interface ClusterParts {
  readonly config: Config
  readonly current: { readonly config: Config }
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly lifecycle: Lifecycle
}

export interface Cluster {
  readonly nodes: Nodes
  readonly questions: NodeQuestions
  readonly currency: DirectoryCurrency
  /** Absent where no other node has this store. */
  readonly busReports: BusReports | undefined
}

type NodeLink = Pick<LinkedMarkets, 'nodeTransport' | 'problem'>

/** @param isReady whether this node's `/readyz` answers 200 */
export function startCluster(
  parts: ClusterParts,
  { db, loader, linked }: { db: Db; loader: DirectoryLoader; linked: NodeLink | undefined },
  isReady: () => boolean,
): Cluster {
  const { config, clock, log, lifecycle } = parts
  const transport = linked?.nodeTransport
  const self = {
    id: transport?.node ?? newId(),
    name: nodeName(),
    roles: config.roles,
    version: programVersion(),
    started_at: millisecondText(clock.wallInstant().milliseconds),
  }
  const definitions = createDefinitions(parts.current)
  const directoryVersion = () => currency.reportedVersion
  const nodes = new Nodes({ ...parts, transport, self, definitions, directoryVersion, isReady })
  lifecycle.started('cluster', () => nodes.stop())
  const isConnected = () => linked?.problem === undefined
  const bus = linked === undefined ? undefined : { isConnected, versions: () => nodes.directoryVersions }
  const staleSeconds = config['auth.directory_stale_seconds']
  const currency = new DirectoryCurrency({ clock, log, loader, bus, staleSeconds })
  lifecycle.started('directory currency', () => currency.stop())
  const isShared = transport !== undefined && db.engine === 'postgres'
  const busReports = isShared ? new BusReports({ db, clock, node: transport.node, isConnected }) : undefined
  lifecycle.started('bus reports', () => busReports?.stop())
  const questions = new NodeQuestions({ ...parts, transport, translate: translateStoreError })
  return { nodes, questions, currency, busReports }
}

/** How an operator recognises this process. */
function nodeName(): string {
  return `${hostname()}:${process.pid}`
}

/** The present market definitions. Their digest is computed once for each configuration. */
function createDefinitions(current: ClusterParts['current']) {
  let markets: Config['markets'] | undefined
  let found = { markets: 0, definitions: '' }
  return () => {
    if (markets !== current.config.markets) {
      markets = current.config.markets
      const digest = definitionsDigest(markets.map(({ definition }) => definition))
      found = { markets: markets.length, definitions: digest }
    }
    return found
  }
}

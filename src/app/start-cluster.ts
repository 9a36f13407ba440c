/** Composes what this node tells the other nodes of the service, and asks them; without a bus it is the only one. */
import { hostname } from 'node:os'
import { type Clock, millisecondText } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { MetricsRegistry } from '../base/metrics.ts'
import { programVersion } from '../base/version.ts'
import { definitionsDigest } from '../cluster/announcement.ts'
import { Nodes } from '../cluster/nodes.ts'
import { NodeQuestions } from '../cluster/questions.ts'
import type { Config } from '../config/settings.ts'
import type { Lifecycle } from './lifecycle.ts'
import { translateStoreError } from './listener.ts'
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
}

/** @param isReady whether `/readyz` of this node answers 200 */
export function startCluster(
  parts: ClusterParts,
  linked: Pick<LinkedMarkets, 'nodeTransport'> | undefined,
  isReady: () => boolean,
): Cluster {
  const { config, clock, lifecycle } = parts
  const transport = linked?.nodeTransport
  const self = {
    id: transport?.node ?? newId(),
    name: nodeName(),
    roles: config.roles,
    version: programVersion(),
    started_at: millisecondText(clock.wallInstant().milliseconds),
  }
  const nodes = new Nodes({ ...parts, transport, self, definitions: createDefinitions(parts.current), isReady })
  lifecycle.started('cluster', () => nodes.stop())
  return { nodes, questions: new NodeQuestions({ ...parts, transport, translate: translateStoreError }) }
}

/** How an operator recognises this process. */
function nodeName(): string {
  return `${hostname()}:${process.pid}`
}

/** The present market definitions; their digest is computed once for each configuration. */
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

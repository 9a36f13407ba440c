/**
 * Composes the stream: the hub with its settings, and the gateway that accepts connections to it. Live settings are
 * read where they are used.
 */
import type { Directory } from '../../../access/clients/directory.ts'
import type { DirectoryCurrency } from '../../../access/clients/directory-currency.ts'
import type { TokenVerifier } from '../../../access/clients/token-verifier.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import { Problem } from '../../../platform/http/problem.ts'
import { answerRefusal } from '../../../platform/http/websocket-handshake.ts'
import { createGateway, type Gateway } from '../../../streaming/gateway/gateway.ts'
import type { GatewayProcesses } from '../../../streaming/gateway/gateway-processes.ts'
import { Hub, type HubSettings } from '../../../streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../../streaming/gateway/metrics.ts'
import { PriceHistory } from '../../../streaming/gateway/price-history.ts'
import type { MarketFollowing } from '../../../streaming/gateway/served-markets.ts'
import type { MarketReplicas } from '../../../streaming/markets/market-replicas.ts'
import type { Bus } from '../../../streaming/sequencing/bus.ts'
import type { Config } from '../../config/settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import { createReceiptSigner } from '../access/receipts.ts'

interface GatewayParts {
  readonly config: Config
  readonly current: { readonly config: Config }
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly random: () => number
  readonly directory: Directory
  readonly verifier: TokenVerifier
  readonly lifecycle: Lifecycle
}

export function startGateway(
  parts: GatewayParts,
  replicas: MarketReplicas,
  processes: GatewayProcesses | undefined,
  currency: DirectoryCurrency,
  following: MarketFollowing | undefined,
): { readonly hub: Hub; readonly gateway: Gateway; readonly prices: PriceHistory } {
  const { config, current, bus, clock, log, directory, lifecycle } = parts
  const metrics = createGatewayMetrics(parts.metrics)
  const hub = new Hub({
    replicas: replicas.all,
    bus,
    following,
    clock,
    log,
    metrics,
    receipts: createReceiptSigner(parts),
    random: parts.random,
    settings: {
      ...hubSettings(config),
      get subscriptionsMax() {
        return current.config['stream.subscriptions_max']
      },
    },
  })
  const gateway = createGateway({
    hub,
    processes,
    directory,
    currency,
    verifier: parts.verifier,
    clock,
    log,
    metrics,
    settings: {
      inboundBytesMax: config['stream.inbound_bytes_max'],
      get connectionsPerClientMax() {
        return current.config['stream.connections_per_client_max']
      },
      get connectionsMax() {
        return current.config['stream.connections_max']
      },
    },
  })
  lifecycle.started('gateway', () => gateway.stop())
  const prices = new PriceHistory(clock, hub)
  lifecycle.started('prices', () => prices.stop())
  return { hub, gateway, prices }
}

/** What a node without the role `gateway` answers to handshakes. */
export function refusingGateway(clock: Clock): Pick<Gateway, 'upgrade' | 'check'> {
  const refusal = () => new Problem('not_found', 'this node does not serve the stream')
  return {
    upgrade(_request, socket) {
      // A peer that leaves before the answer loses nothing.
      socket.on('error', () => undefined)
      answerRefusal(socket, refusal(), clock)
    },
    check: async () => refusal(),
  }
}

/** A hub's settings, in this process or in a gateway process. */
export function hubSettings(config: Config): HubSettings {
  return {
    heartbeatSeconds: config['stream.heartbeat_seconds'],
    pingSeconds: config['stream.ping_seconds'],
    silenceSeconds: config['stream.silence_seconds'],
    staleSeconds: config['stream.stale_seconds'],
    closesStale: config['stream.stale_action'] === 'close',
    outboxBytesMax: config['stream.outbox_bytes_max'],
    writeIntervalMilliseconds: config['stream.write_interval_ms'],
    inboundPerSecond: config['stream.inbound_per_second'],
    inboundBurst: config['stream.inbound_burst'],
    subscriptionsMax: config['stream.subscriptions_max'],
    closesExpired: config['stream.token_expiry'] === 'close',
  }
}

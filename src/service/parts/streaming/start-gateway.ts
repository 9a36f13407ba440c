/**
 * Composes the stream: the hub with its settings, and the gateway that accepts connections to it. Live settings are
 * read where they are used.
 */
import type { Directory } from '../../../access/clients/directory.ts'
import type { DirectoryCurrency } from '../../../access/clients/directory-currency.ts'
import type { TokenVerifier } from '../../../access/clients/token-verifier.ts'
import type { Meter } from '../../../access/metering/meter.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Problem } from '../../../platform/http/problem.ts'
import { answerRefusal } from '../../../platform/http/websocket-handshake.ts'
import { type EventSource, EventStreams } from '../../../streaming/gateway/event-subscription.ts'
import { createGateway, type Gateway } from '../../../streaming/gateway/gateway.ts'
import { Hub, type HubOptions } from '../../../streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../../streaming/gateway/metrics.ts'
import type { HubSettings } from '../../../streaming/gateway/requests.ts'
import type { MarketFollowing } from '../../../streaming/gateway/served-markets.ts'
import type { OtherConnections } from '../../../streaming/gateway/session-index.ts'
import type { MarketReplicas } from '../../../streaming/markets/market-replicas.ts'
import type { Bus } from '../../../streaming/sequencing/bus.ts'
import type { ReceiptIssuer } from '../../../streaming/sequencing/receipt-signer.ts'
import { createReceiptSigner } from '../access/receipts.ts'
import type { GatewayConfig } from './gateway-start.ts'

export interface GatewayParts {
  readonly config: GatewayConfig
  /** A reload replaces it. */
  readonly current: { config: GatewayConfig }
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly random: () => number
  readonly directory: Directory
  readonly verifier: TokenVerifier
  readonly meter: Meter
}

interface GatewayPlace {
  readonly currency: Pick<DirectoryCurrency, 'isStale'>
  readonly receiptIssuer: () => ReceiptIssuer | undefined
  /** Absent where no other process has the same limits. */
  readonly others?: OtherConnections
  readonly onCount?: HubOptions['onCount']
  /** Absent where all markets are followed. */
  readonly following?: MarketFollowing | undefined
  readonly events: EventSource
}

/** In the main process, or in a gateway process. */
export function startGateway(
  parts: GatewayParts,
  replicas: MarketReplicas,
  { receiptIssuer, onCount, following, events, others, ...place }: GatewayPlace,
): { readonly hub: Hub; readonly gateway: Gateway } {
  const { config, current } = parts
  const metrics = createGatewayMetrics(parts.metrics)
  const hub = new Hub({
    ...parts,
    replicas: replicas.all,
    following,
    others,
    plansOf: (token) => parts.directory.plansOf(token),
    events: new EventStreams(events, parts.directory),
    metrics,
    receipts: createReceiptSigner(parts, receiptIssuer),
    settings: {
      ...hubSettings(config),
      get subscriptionsMax() {
        return current.config['stream.subscriptions_max']
      },
    },
    ...(onCount === undefined ? {} : { onCount }),
  })
  const gateway = createGateway({
    ...parts,
    ...place,
    others,
    hub,
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
  return { hub, gateway }
}

/** For a listener that does not serve the stream. */
export function refusingGateway(clock: Clock, refusal: () => Problem): Pick<Gateway, 'upgrade' | 'check'> {
  return {
    upgrade(_request, socket) {
      // A peer that leaves before the answer loses nothing.
      socket.on('error', () => undefined)
      answerRefusal(socket, refusal(), clock)
    },
    check: async () => refusal(),
  }
}

function hubSettings(config: GatewayConfig): HubSettings {
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

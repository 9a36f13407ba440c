/**
 * Starts this machine's gateway processes (`gateway.processes`), and the sending ends of the bus, the directory and the
 * configuration to them. They are absent where the main process serves the stream itself.
 */
import { availableParallelism } from 'node:os'
import { serialize } from 'node:v8'
import type { Directory } from '../../../access/clients/directory.ts'
import type { DirectoryCurrency } from '../../../access/clients/directory-currency.ts'
import { DirectoryExport } from '../../../access/clients/directory-link.ts'
import type { Meter } from '../../../access/metering/meter.ts'
import type { UsageWriter } from '../../../access/metering/usage-writer.ts'
import { startProcess } from '../../../platform/base/child-process.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { TlsContext } from '../../../platform/http/node-server.ts'
import type { EventSource } from '../../../streaming/gateway/event-subscription.ts'
import { GatewayProcesses } from '../../../streaming/gateway/gateway-processes.ts'
import type { ReceiptKey } from '../../../streaming/gateway/process-messages.ts'
import { BusExport } from '../../../streaming/links/bus-export.ts'
import type { MarketDefinition } from '../../../streaming/market/event.ts'
import type { MarketReplicas } from '../../../streaming/markets/market-replicas.ts'
import type { Bus } from '../../../streaming/sequencing/bus.ts'
import type { Config } from '../../config/settings.ts'
import { claimPort } from '../../listeners/listener.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import { receiptIssuerOf } from '../access/receipts.ts'
import { type GatewayStart, gatewayConfig } from './gateway-start.ts'

interface ProcessParts {
  readonly config: Config
  readonly current: { readonly config: Config }
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly meter: Meter
  readonly directory: Directory
  readonly lifecycle: Lifecycle
}

export interface LocalGateways {
  readonly processes: GatewayProcesses
  /** Starts the processes, and returns the port to which they listen. The port is free, or the start fails. */
  start(tls: TlsContext | undefined): Promise<number>
  replaceCertificate(tls: TlsContext): void
  /** Applies a reloaded configuration, with the `changes` that this process's hub applies. */
  reload(changes: { readonly removed: readonly string[]; readonly added: readonly MarketDefinition[] }): void
}

export function startGatewayProcesses(
  parts: ProcessParts,
  replicas: MarketReplicas,
  currency: Pick<DirectoryCurrency, 'isStale'>,
  events: EventSource,
  usage: Pick<UsageWriter, 'noteGap'>,
): LocalGateways | undefined {
  const { config, current, bus, clock, log, directory, lifecycle } = parts
  const count = countOf(config)
  if (count === 0) return undefined
  const listening = { port: 0, tls: undefined as TlsContext | undefined }
  const exporter = createExport(parts, replicas, () => processes)
  const link = new DirectoryExport({
    directory,
    clock,
    isStale: () => currency.isStale,
    send: (message) => processes.sendFrame('directory', message),
  })
  const start = (): GatewayStart => ({
    config: gatewayConfig(current.config),
    ...listening,
    receiptKey: receiptKeyOf(directory),
  })
  const processes = new GatewayProcesses({
    ...parts,
    count,
    events,
    onUsageLost: (since) => usage.noteGap(since),
    startProcess: () => startProcess('./gateway-process', import.meta.url),
    start,
    directorySnapshot: () => link.snapshot,
    exporter,
    onCommitRequest: ({ market, laterThanMilliseconds }) => void bus.requestCommit(market, laterThanMilliseconds),
  })
  const ends = new Map<string, () => void>()
  const follow = (market: string) => ends.set(market, exporter.add(market))
  for (const { market } of replicas.all) follow(market.symbol)
  const endWatch = directory.onChange(() =>
    processes.send({ type: 'receipt-key', receiptKey: receiptKeyOf(directory) }),
  )
  lifecycle.started('gateway processes', async () => {
    endWatch()
    link.stop()
    exporter.stop()
    await processes.stop()
  })
  return {
    processes,
    async start(tls) {
      listening.port = await claimPort(config['http.host'], Number(config['stream.port']))
      listening.tls = tls
      processes.start()
      log.info({ count, port: listening.port }, 'gateway processes started')
      return listening.port
    },
    replaceCertificate(tls) {
      listening.tls = tls
      processes.send({ type: 'tls', tls })
    },
    reload({ removed, added }) {
      // The bus sends the old definitions' commits before this, and the new ones' after it.
      for (const market of removed) ends.get(market)?.()
      for (const market of removed) ends.delete(market)
      processes.sendFrame('control', serialize(gatewayConfig(current.config)))
      for (const { symbol } of added) follow(symbol)
    },
  }
}

function countOf(config: Config): number {
  const setting = config['gateway.processes']
  return setting === 'auto' ? Math.max(1, availableParallelism() - 1) : setting
}

function createExport(
  { bus, clock }: Pick<ProcessParts, 'bus' | 'clock'>,
  replicas: MarketReplicas,
  processes: () => GatewayProcesses,
): BusExport {
  return new BusExport({
    bus,
    clock,
    transport: {
      sendMessages: (_market, bytes) => processes().sendFrame('messages', bytes),
      sendHeartbeats: (bytes) => processes().sendFrame('heartbeats', bytes),
      sendDigest: (bytes) => processes().sendFrame('digest', bytes),
    },
    replicaOf: (market) => replicas.replicaOf(market),
  })
}

function receiptKeyOf(directory: Directory): ReceiptKey | undefined {
  const found = receiptIssuerOf(directory)
  return found && { ...found, privateKey: found.privateKey.export({ format: 'der', type: 'pkcs8' }) }
}

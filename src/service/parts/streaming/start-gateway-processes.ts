/**
 * Starts this machine's gateway processes (`gateway.processes`) and the sending end of the bus to them. It is absent
 * where the main process serves the stream itself.
 */
import { availableParallelism } from 'node:os'
import type { Directory } from '../../../access/clients/directory.ts'
import { startProcess } from '../../../platform/base/child-process.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import { GatewayProcesses } from '../../../streaming/gateway/gateway-processes.ts'
import type { GatewayProcessSettings, MarketsControl, ReceiptKey } from '../../../streaming/gateway/process-messages.ts'
import { BusExport } from '../../../streaming/links/bus-export.ts'
import type { MarketReplicas } from '../../../streaming/markets/market-replicas.ts'
import type { Bus } from '../../../streaming/sequencing/bus.ts'
import type { Config } from '../../config/settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import type { LinkedMarkets } from './start-bus.ts'
import { hubSettings } from './start-gateway.ts'
import { withdrawAfterMilliseconds } from './start-markets.ts'

interface ProcessParts {
  readonly config: Config
  readonly current: { readonly config: Config }
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly directory: Directory
  readonly lifecycle: Lifecycle
}

export interface LocalGateways {
  readonly processes: GatewayProcesses
  /** Applies a reloaded configuration, with the `changes` that this process's hub applies. */
  reload(changes: MarketsControl): void
}

/** @param linked how this process follows others' markets, undefined when all are its own */
export function startGatewayProcesses(
  parts: ProcessParts,
  replicas: MarketReplicas,
  linked: Pick<LinkedMarkets, 'isHeard'> | undefined,
): LocalGateways | undefined {
  const { config, current, bus, clock, log, directory, lifecycle } = parts
  const setting = config['gateway.processes']
  const count = setting === 'auto' ? Math.max(1, availableParallelism() - 1) : setting
  if (count === 0) return undefined
  const ends = new Map<string, () => void>()
  const exporter = new BusExport({
    bus,
    clock,
    transport: {
      sendMessages: (_market, bytes) => processes.sendMessages(bytes),
      sendHeartbeats: (bytes) => processes.sendHeartbeats(bytes),
      sendDigest: (bytes) => processes.sendDigest(bytes),
    },
    replicaOf: (market) => replicas.replicaOf(market),
    ...(linked === undefined ? {} : { isHeard: linked.isHeard }),
  })
  const processes = new GatewayProcesses({
    ...parts,
    count,
    startProcess: () => startProcess('./gateway-process', import.meta.url),
    settings: () => processSettings(current.config),
    markets: () => replicas.all.map(({ market }) => market),
    receiptKey: () => receiptKeyOf(directory),
    exporter,
    onCommitRequest: ({ market, laterThanMilliseconds }) => void bus.requestCommit(market, laterThanMilliseconds),
  })
  const follow = (market: string) => ends.set(market, exporter.add(market))
  for (const { market } of replicas.all) follow(market.symbol)
  const endWatch = directory.onChange(() => processes.changeReceiptKey(receiptKeyOf(directory)))
  lifecycle.started('gateway processes', async () => {
    endWatch()
    exporter.stop()
    await processes.stop()
  })
  log.info({ count }, 'gateway processes started')
  return {
    processes,
    reload({ removed, added }) {
      processes.changeSettings(processSettings(current.config))
      if (removed.length + added.length === 0) return
      // The bus sends the old definitions' commits before this, and the new ones' after it.
      for (const market of removed) ends.get(market)?.()
      for (const market of removed) ends.delete(market)
      processes.changeMarkets({ removed, added })
      for (const { symbol } of added) follow(symbol)
    },
  }
}

function processSettings(config: Config): GatewayProcessSettings {
  return {
    hub: hubSettings(config),
    inboundBytesMax: config['stream.inbound_bytes_max'],
    executionsKept: config['stream.executions_kept'],
    withdrawAfterMilliseconds: withdrawAfterMilliseconds(config),
    logLevel: config['log.level'],
    hangSeconds: config['process.hang_seconds'],
    signsReceipts: config['receipts.enabled'],
  }
}

function receiptKeyOf({ authority, receiptSigningKey: key }: Directory): ReceiptKey | undefined {
  if (authority === undefined || key?.privateKey === undefined) return undefined
  const privateKey = key.privateKey.export({ format: 'der', type: 'pkcs8' })
  return { issuer: authority.issuer, keyId: key.keyId, privateKey }
}

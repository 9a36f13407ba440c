/**
 * A gateway process on this machine: it serves the stream on sockets that the main process has accepted and hands over,
 * and follows the markets over the pipe between them. It opens no port and no store, and knows no client's secret. It
 * ends when the main process does.
 */
import { createPrivateKey } from 'node:crypto'
import { Socket } from 'node:net'
import { PIPE_DESCRIPTOR } from '../../../platform/base/child-process.ts'
import { type Clock, createSystemClock, type Instant } from '../../../platform/base/clock.ts'
import { createLog, type Log, setLogLevel } from '../../../platform/base/log.ts'
import { createMetricsRegistry, type MetricsRegistry, observeProcess } from '../../../platform/base/metrics.ts'
import { sessionDetails, sessionDocument } from '../../../streaming/gateway/connection-document.ts'
import { Hub, type HubSettings } from '../../../streaming/gateway/hub.ts'
import type { MarketStream } from '../../../streaming/gateway/market-stream.ts'
import { createGatewayMetrics } from '../../../streaming/gateway/metrics.ts'
import type {
  FromGatewayProcess,
  HandedConnection,
  MarketsControl,
  ReceiptKey,
  ToGatewayProcess,
} from '../../../streaming/gateway/process-messages.ts'
import { type AuditedMarket, createSelfAuditMetrics, SelfAudit } from '../../../streaming/gateway/self-audit.ts'
import { SessionServer } from '../../../streaming/gateway/session-server.ts'
import { BusImport, createImportMetrics } from '../../../streaming/links/bus-import.ts'
import { encodeCommitRequest, encodeStateRequest } from '../../../streaming/links/bus-requests.ts'
import { PipeLink } from '../../../streaming/links/link-pipe.ts'
import type { MarketDefinition } from '../../../streaming/market/event.ts'
import { createMemoryBus } from '../../../streaming/sequencing/bus-memory.ts'
import { createReceiptCounter, ReceiptSigner } from '../../../streaming/sequencing/receipt-signer.ts'
import { Replica } from '../../../streaming/sequencing/replica.ts'
import { crashOnUncaught } from '../../process/lifecycle.ts'
import { startWatchdog } from '../../process/watchdog.ts'

/** How long a start waits until every market is followed. It waits no longer for a market without a book. */
const FOLLOW_MILLISECONDS_MAX = 2_000
const FOLLOW_CHECK_MILLISECONDS = 10

type Start = Extract<ToGatewayProcess, { type: 'start' }>

class GatewayProcess {
  readonly #clock: Clock = createSystemClock()
  readonly #log: Log
  readonly #metrics: MetricsRegistry = createMetricsRegistry()
  readonly #bus = createMemoryBus()
  readonly #link: PipeLink
  readonly #importer: BusImport
  /** By market: ends following it. */
  readonly #ends = new Map<string, () => void>()
  /** For removed markets: when one is added again, its times continue for connections that had it. */
  readonly #lastInstants = new Map<string, Instant>()
  readonly #executionsKept: number
  /** The hub reads it, and a reload changes it. */
  readonly #hubSettings: { -readonly [Key in keyof HubSettings]: HubSettings[Key] }
  readonly #hub: Hub
  readonly #server: SessionServer
  #receiptIssuer: ReturnType<typeof receiptIssuerOf>

  constructor({ settings, markets, receiptKey }: Start) {
    this.#log = createLog(settings.logLevel)
    crashOnUncaught(this.#log)
    startWatchdog(this.#log, settings.hangSeconds)
    observeProcess(this.#metrics)
    this.#executionsKept = settings.executionsKept
    this.#hubSettings = { ...settings.hub }
    this.#receiptIssuer = receiptIssuerOf(receiptKey)
    this.#importer = this.#createImport(settings.withdrawAfterMilliseconds)
    const pipe = new Socket({ fd: PIPE_DESCRIPTOR, readable: true, writable: true })
    this.#link = new PipeLink(pipe, (name, bytes) => {
      if (name === 'messages') this.#importer.onMessages(bytes)
      else if (name === 'heartbeats') this.#importer.onHeartbeats(bytes)
      else if (name === 'digest') this.#importer.onDigest(bytes)
      else if (name === 'state') this.#importer.onState(bytes)
      else if (name === 'control') this.#changeMarkets(JSON.parse(bytes.toString()) as MarketsControl)
    })
    this.#hub = new Hub({
      replicas: markets.map((market) => this.#follow(market)),
      bus: this.#bus,
      clock: this.#clock,
      log: this.#log,
      metrics: createGatewayMetrics(this.#metrics),
      settings: this.#hubSettings,
      receipts: settings.signsReceipts ? this.#createReceiptSigner() : undefined,
      random: Math.random,
      onEnded: ({ id }) => send({ type: 'closed', id }),
    })
    const { inboundBytesMax } = settings
    this.#server = new SessionServer({ hub: this.#hub, clock: this.#clock, log: this.#log, inboundBytesMax })
    new SelfAudit({
      clock: this.#clock,
      log: this.#log,
      hub: this.#hub,
      metrics: createSelfAuditMetrics(this.#metrics),
      markets: () => [...this.#hub.markets].map(auditedMarket),
    })
  }

  /** Reports when every market is followed, or those with a book. */
  reportWhenReady(): void {
    const deadline = this.#clock.monotonicMilliseconds() + FOLLOW_MILLISECONDS_MAX
    const check = (): void => {
      const isReady = this.#importer.notCurrent.length === 0 || this.#clock.monotonicMilliseconds() >= deadline
      if (isReady) send({ type: 'ready' })
      else this.#clock.schedule(FOLLOW_CHECK_MILLISECONDS, check)
    }
    check()
  }

  receive(message: ToGatewayProcess, handle: unknown): void {
    switch (message.type) {
      case 'connection':
        send({ type: 'taken', id: message.connection.id })
        this.#open(message.connection, handle)
        break
      case 'ping':
        send({ type: 'pong' })
        break
      case 'close': {
        const ids = new Set(message.ids)
        this.#hub.closeWhere(({ id }) => (ids.has(id) ? message.cause : undefined))
        break
      }
      case 'drain':
        // The main process counts the remaining connections.
        void this.#hub.drain(message.seconds)
        break
      case 'settings':
        this.#hubSettings.subscriptionsMax = message.subscriptionsMax
        setLogLevel(this.#log, message.logLevel)
        break
      case 'receipt-key':
        this.#receiptIssuer = receiptIssuerOf(message.receiptKey)
        break
      case 'describe': {
        const ids = new Set(message.ids)
        const open = [...this.#hub.sessions].filter(({ id, isOpen }) => isOpen && ids.has(id))
        send({ type: 'described', question: message.question, connections: open.map(sessionDocument) })
        break
      }
      case 'inspect': {
        const session = [...this.#hub.sessions].find(({ id, isOpen }) => isOpen && id === message.id)
        const connection = session === undefined ? undefined : sessionDetails(session)
        send({ type: 'inspected', question: message.question, connection })
        break
      }
      case 'measure':
        void this.#measure(message.question)
    }
  }

  #createImport(withdrawAfterMilliseconds: number | undefined): BusImport {
    return new BusImport({
      bus: this.#bus,
      clock: this.#clock,
      log: this.#log,
      random: Math.random,
      transport: {
        requestState: (request) => this.#link.send('stateRequest', encodeStateRequest(request)),
        requestCommit: (request) => this.#link.send('commitRequest', encodeCommitRequest(request)),
      },
      replicaOf: (market) => this.#hub.market(market)?.replica,
      withdrawAfterMilliseconds,
      metrics: createImportMetrics(this.#metrics),
    })
  }

  #createReceiptSigner(): ReceiptSigner {
    const signed = createReceiptCounter(this.#metrics)
    return new ReceiptSigner({
      clock: this.#clock,
      current: () => this.#receiptIssuer,
      onSigned: () => signed.inc(),
    })
  }

  #follow(market: MarketDefinition): Replica {
    // First, so nothing is published before the replica can take it.
    const lastInstant = this.#lastInstants.get(market.symbol)
    this.#lastInstants.delete(market.symbol)
    const replica = new Replica({ market, bus: this.#bus, executionsKept: this.#executionsKept, lastInstant })
    this.#ends.set(market.symbol, this.#importer.add(market, replica.instant.milliseconds))
    return replica
  }

  #changeMarkets({ removed, added }: MarketsControl): void {
    const symbols = new Set(added.map(({ symbol }) => symbol))
    for (const symbol of removed) {
      this.#ends.get(symbol)?.()
      this.#ends.delete(symbol)
      const replica = this.#hub.market(symbol)?.replica
      replica?.stop()
      if (replica !== undefined) this.#lastInstants.set(symbol, replica.instant)
      this.#hub.removeMarket(symbol, symbols.has(symbol) ? 'changed' : 'removed')
    }
    for (const market of added) this.#hub.addMarket(this.#follow(market))
  }

  #open(connection: HandedConnection, socket: unknown): void {
    const fail = (): void => send({ type: 'closed', id: connection.id })
    // The peer may have gone while the socket was on its way.
    if (!(socket instanceof Socket)) {
      fail()
      return
    }
    socket.on('error', fail)
    socket.once('close', fail)
    this.#server.open({ ...connection, socket, head: Buffer.from(connection.head) }, () => {
      socket.off('error', fail)
      socket.off('close', fail)
    })
  }

  async #measure(question: number): Promise<void> {
    const subscribers = Object.fromEntries([...this.#hub.markets].map((market) => [market.symbol, market.clientCount]))
    send({ type: 'measured', question, metrics: await this.#metrics.getMetricsAsJSON(), subscribers })
  }
}

/**
 * Subscribers' data is compared with the replica's book. A difference ends this process, because the next one starts
 * without it.
 */
function auditedMarket(stream: MarketStream): AuditedMarket {
  return {
    stream,
    sequencer: {
      get settledBook() {
        return stream.replica.liveBook
      },
      startOver(reason) {
        throw new Error(`${stream.symbol}: ${reason}`)
      },
    },
  }
}

function send(message: FromGatewayProcess): void {
  // Without a channel, this process is about to end.
  if (process.connected) process.send?.(message)
}

function receiptIssuerOf(receiptKey: ReceiptKey | undefined) {
  if (receiptKey === undefined) return undefined
  const { issuer, keyId, privateKey } = receiptKey
  return { issuer, keyId, privateKey: createPrivateKey({ key: Buffer.from(privateKey), format: 'der', type: 'pkcs8' }) }
}

// Signals reach every process of a terminal's group; the main process drains and then ends this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit(0))
process.once('message', (message) => {
  const first = message as ToGatewayProcess
  if (first.type !== 'start') return
  const gateway = new GatewayProcess(first)
  process.on('message', (next, handle) => gateway.receive(next as ToGatewayProcess, handle))
  gateway.reportWhenReady()
})

/**
 * Tidegate's stream in the fan-out benchmark: the product's hub, markets and transports over a real http server,
 * without authentication and without a venue. Prepared commits are published directly to the bus, so that replica,
 * frame, hub, outbox and socket are measured.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import { type WebSocket, WebSocketServer } from 'ws'
import { Directory } from '../src/access/clients/directory.ts'
import type { DirectoryContent } from '../src/access/clients/directory-records.ts'
import type { Plan } from '../src/access/clients/plans/plan.ts'
import { EXTENDED_SUBPROTOCOL } from '../src/contract/channels.ts'
import { type Clock, createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import { Connections, type Upgrade } from '../src/platform/http/connections.ts'
import { createNodeServer } from '../src/platform/http/node-server.ts'
import { readTlsFiles, type TlsFiles } from '../src/platform/http/tls.ts'
import { Hub } from '../src/streaming/gateway/hub.ts'
import { createGatewayMetrics, type GatewayMetrics } from '../src/streaming/gateway/metrics.ts'
import { Transport } from '../src/streaming/gateway/outbox.ts'
import { createMemoryBus } from '../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../src/streaming/sequencing/replica.ts'
import {
  type Answer,
  answerCommands,
  nowMicroseconds,
  type Publish,
  Sockets,
  tickCommands,
  writeAnswer,
} from './fanout-driver.ts'
import { benchMarket, Feed } from './fanout-feed.ts'

/** The process's arguments, as JSON. */
export interface ServerSetup {
  readonly markets: number
  /** How many markets are active. The others do not change. */
  readonly moving: number
  /** Levels per book. */
  readonly levels: number
  readonly heartbeatSeconds: number
  /** Whether connections can be paused (the command `lagging`). */
  readonly held: boolean
  /** Whether the sessions speak `tidegate.v1`, without the clients' request for it. */
  readonly isExtended?: boolean
  /** `stream.write_interval_ms`; absent: 0. */
  readonly writeIntervalMilliseconds?: number
  /** Certificate and key. Absent: plain TCP. */
  readonly tls?: TlsFiles
}

/**
 * The customers' plans, of which there are 20: `wide` ones bound nothing that these connections use, `deep` ones serve five
 * depths. `none`: all customers have `unlimited`. The command `plans` takes the place in this list.
 */
export const PLAN_KINDS = ['none', 'wide', 'deep'] as const

export type PlanKind = (typeof PLAN_KINDS)[number]

const OUTBOX_BYTES_MAX = 262_144

const TOKEN = {
  clientId: 'bench',
  customerId: 'bench',
  scopes: new Set<string>(),
  tokenId: 'bench',
  keyId: 'key',
  issuedAtSeconds: 0,
  expiresAtMilliseconds: Number.MAX_SAFE_INTEGER,
}

/** Customers in the directory. More connections share them. */
const CUSTOMERS = 1_000
const PLANS = 20
/** In the order of the plans' numbers. The benchmark's books have 100 levels per side. */
const DEPTHS = [5, 10, 25, 50, 100]

function contentWith(kind: PlanKind, markets: readonly { readonly symbol: string }[]): DirectoryContent {
  const plans = Array.from({ length: PLANS }, (_, number): Plan => {
    const name = `plan-${number}`
    if (kind === 'deep') return { name, depthMax: DEPTHS[number % DEPTHS.length] as number }
    return {
      name,
      markets: new Set(markets.map(({ symbol }) => symbol)),
      channels: new Set(['market_data', 'execution_data']),
      connectionsMax: 1_000 + number,
      subscriptionsMax: 1_000 + number,
      restRatePerSecond: 10 + number,
    }
  })
  return {
    plans: kind === 'none' ? [] : plans,
    customers: Array.from({ length: CUSTOMERS }, (_, number) => ({
      id: `customer-${number}`,
      name: `customer-${number}`,
      enabled: true,
      streaming: true,
      ...(kind === 'none' ? {} : { plan: `plan-${number % PLANS}` }),
    })),
    clients: [],
  }
}

class ExtendedTransport extends Transport {
  override get subprotocol(): string {
    return EXTENDED_SUBPROTOCOL
  }
}

/** A connection that can simulate a full socket, so that it lags at a known version. */
class HeldTransport extends Transport {
  #isHeld = false
  #onWritten: (() => void) | undefined

  override get queuedBytes(): number {
    return this.#isHeld ? OUTBOX_BYTES_MAX * 2 : super.queuedBytes
  }

  override write(frame: Buffer, onWritten?: () => void): void {
    if (this.#isHeld) {
      this.#onWritten = onWritten
      super.write(frame)
    } else {
      super.write(frame, onWritten)
    }
  }

  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.#onWritten?.()
  }
}

/** The system clock, which also measures each tick's final work. */
class TickClock implements Clock {
  readonly #clock = createSystemClock()
  milliseconds = 0
  longestMilliseconds = 0
  ticks = 0

  wallInstant() {
    return this.#clock.wallInstant()
  }

  monotonicMilliseconds(): number {
    return performance.now()
  }

  schedule(delayMilliseconds: number, callback: () => void) {
    return this.#clock.schedule(delayMilliseconds, callback)
  }

  endOfTick(callback: () => void): void {
    this.#clock.endOfTick(() => this.time(callback))
  }

  time(work: () => void): void {
    const started = performance.now()
    work()
    const milliseconds = performance.now() - started
    this.ticks += 1
    this.milliseconds += milliseconds
    if (milliseconds > this.longestMilliseconds) this.longestMilliseconds = milliseconds
  }

  reset(): void {
    this.milliseconds = 0
    this.longestMilliseconds = 0
    this.ticks = 0
  }
}

function main(setup: ServerSetup): void {
  const clock = new TickClock()
  const bus = createMemoryBus()
  const markets = Array.from({ length: setup.markets }, (_, index) => benchMarket(index))
  const metrics = createGatewayMetrics(createMetricsRegistry())
  const directory = new Directory()
  const hub = new Hub({
    plansOf: (token) => directory.plansOf(token),
    replicas: markets.map((market) => new Replica({ market, bus, executionsKept: 1000 })),
    bus,
    clock,
    log: createLog('silent'),
    metrics,
    random: Math.random,
    settings: {
      outboxBytesMax: OUTBOX_BYTES_MAX,
      writeIntervalMilliseconds: setup.writeIntervalMilliseconds ?? 0,
      inboundPerSecond: 50,
      inboundBurst: 100,
      subscriptionsMax: 1000,
      closesExpired: false,
      heartbeatSeconds: setup.heartbeatSeconds,
      pingSeconds: 30,
      silenceSeconds: 600,
      staleSeconds: 0,
      closesStale: false,
    },
  })
  directory.replace(contentWith('none', markets))
  directory.onChange((affected) => hub.applyAccess(() => undefined, affected))
  const feeds = markets.map((_, index) => new Feed(bus, index, setup.levels))
  for (const feed of feeds) feed.publishBook()
  const moving = feeds.slice(0, setup.moving)
  const publish = (count: number, eventMicroseconds: number) => {
    for (let number = 0; number < count; number++) for (const feed of moving) feed.publishUpdate(eventMicroseconds)
  }
  const sockets = new Sockets()
  const transports: HeldTransport[] = []
  listen({ hub, sockets, clock, tls: setup.tls }, (webSocket, socket) => {
    if (!setup.held) {
      const Connection = setup.isExtended === true ? ExtendedTransport : Transport
      return new Connection(webSocket, socket, clock, '127.0.0.1')
    }
    const transport = new HeldTransport(webSocket, socket, clock, '127.0.0.1')
    transports.push(transport)
    return transport
  })
  answerCommands({
    ...tickCommands(publish, () => sockets.areDrained()),
    plans(place) {
      directory.replace(contentWith(PLAN_KINDS[place] as PlanKind, markets))
      return {}
    },
    prime: (count) => prime(count, sockets, publish, metrics),
    lagging: () => catchUpFromEverywhere(transports, clock, publish, metrics),
  })
}

interface Listening {
  readonly hub: Hub
  readonly sockets: Sockets
  readonly clock: Clock
  readonly tls: TlsFiles | undefined
}

function listen(
  { hub, sockets, clock, tls }: Listening,
  transportOf: (webSocket: WebSocket, socket: Socket) => Transport,
): void {
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: 65_536,
  })
  const upgrade: Upgrade = (request, duplex, head) => {
    const socket = duplex as Socket
    socket.on('error', () => process.exit(0))
    socket.setNoDelay(true)
    socket.setKeepAlive(true)
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const customerId = `customer-${sockets.all.length % CUSTOMERS}`
      const session = hub.open(transportOf(webSocket, socket), { ...TOKEN, customerId, clientId: customerId })
      webSocket.on('message', (data, isBinary) => session.receive({ data: data as Buffer, isBinary }))
      webSocket.on('ping', (data) => session.receivePing(data))
      webSocket.on('pong', (data) => session.receivePong(data))
      webSocket.on('error', () => process.exit(0))
      webSocket.on('close', () => session.end())
      sockets.all.push(socket)
    })
  }
  const server = tls === undefined ? createServer().on('upgrade', upgrade) : tlsServer(tls, clock, upgrade)
  server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () =>
    writeAnswer({ port: (server.address() as AddressInfo).port }),
  )
}

/** The product's server, with its certificate's context. */
function tlsServer(files: TlsFiles, clock: Clock, upgrade: Upgrade): Server {
  const connections = new Connections({
    clock,
    connectionsMax: Number.MAX_SAFE_INTEGER,
    unfinishedBytesMax: Number.MAX_SAFE_INTEGER,
    holderOf: () => 'bench',
    onAnswer: () => process.exit(1),
    onCut: () => process.exit(1),
    upgrade,
  })
  const { context } = readTlsFiles(files, Date.now())
  const log = createLog('silent')
  const options = { headerBytesMax: 16_384, requestMilliseconds: 600_000, tls: context, connections, log, clock }
  return createNodeServer(options, (_request, response) => response.writeHead(404).end())
}

/** Publishes as fast as the others accept until the first `count` connections are lagging. */
async function prime(count: number, sockets: Sockets, publish: Publish, metrics: GatewayMetrics): Promise<Answer> {
  const until = performance.now() + 30_000
  while (metrics.totals.lagging < count) {
    if (performance.now() > until) throw new Error(`${metrics.totals.lagging} connections are lagging, not ${count}`)
    if (sockets.areDrained(count)) publish(100, nowMicroseconds())
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { lagging: metrics.totals.lagging }
}

/**
 * Makes every connection lag at its own version, releases all in one tick, and measures the time until all are current.
 */
async function catchUpFromEverywhere(
  transports: readonly HeldTransport[],
  clock: TickClock,
  publish: Publish,
  metrics: GatewayMetrics,
): Promise<Answer> {
  const tick = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  for (const transport of transports) {
    transport.hold()
    publish(1, nowMicroseconds())
    await tick()
  }
  publish(1, nowMicroseconds())
  await tick()
  const lagging = metrics.totals.lagging
  const messages = metrics.totals.messages
  clock.reset()
  clock.time(() => {
    for (const transport of transports) transport.release()
  })
  while (metrics.totals.messages < messages + transports.length) await tick()
  return {
    lagging,
    milliseconds: clock.milliseconds,
    longestMilliseconds: clock.longestMilliseconds,
    ticks: clock.ticks,
    sent: metrics.totals.messages - messages,
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  main(JSON.parse(process.argv[2] as string) as ServerSetup)
}

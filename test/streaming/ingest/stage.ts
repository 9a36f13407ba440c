/**
 * The ingest listener on a real socket, with a directory that the test writes and a clock that it controls. A token is the
 * id of its client. The markets BTCUSD and ETHUSD exist; their events are kept, and checked by an independent book.
 */

import type { AccessToken } from '../../../src/access/clients/access-token.ts'
import { Directory } from '../../../src/access/clients/directory.ts'
import type { TokenVerifier } from '../../../src/access/clients/token-verifier.ts'
import { PUBLISH_SCOPE, type Scope } from '../../../src/contract/scopes.ts'
import type { Clock } from '../../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { Ingest, type IngestSettings } from '../../../src/streaming/ingest/ingest.ts'
import type { MarketDefinition, MarketEvent } from '../../../src/streaming/market/event.ts'
import type { Source, SourceMarket } from '../../../src/streaming/sources/source.ts'
import { listenOnFreePort } from '../../support/auth-fixtures.ts'
import { until } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { PublisherClient, type PublisherOptions } from '../../support/publisher-client.ts'
import { NodeClock } from '../../support/virtual-clock.ts'
import { Waiters } from '../../support/waiters.ts'

export interface StageClient {
  readonly markets: readonly string[]
  readonly scopes?: readonly Scope[]
  readonly enabled?: boolean
}

/** What a market's listener was given, as its last state. */
export class StageMarket {
  readonly events: MarketEvent[] = []
  /** `side price` → amount, as scaled integers. */
  readonly levels = new Map<string, string>()
  readonly executions: string[] = []
  state: 'starting' | 'live' | 'lost' = 'starting'
  reason = ''
  missed = 0
  origin = ''
  /** Called within the listener. */
  onEvent: (event: MarketEvent) => void = () => undefined

  take(event: MarketEvent): void {
    this.events.push(event)
    this.onEvent(event)
    if (event.type === 'lost') {
      this.state = 'lost'
      this.reason = event.reason
    } else if (event.type === 'missed') this.missed++
    else {
      if (event.type === 'snapshot') this.levels.clear()
      if (event.type === 'snapshot') this.state = 'live'
      for (const { side, price, amount } of event.type === 'snapshot' ? event.levels : event.changes) {
        const key = `${side === 0 ? 'bids' : 'asks'} ${price}`
        if (BigInt(amount) === 0n) this.levels.delete(key)
        else this.levels.set(key, String(amount))
      }
      if (event.type === 'update') for (const { id = '' } of event.executions) this.executions.push(id)
      this.origin = event.origin ?? this.origin
    }
  }
}

export const SYMBOLS = ['BTCUSD', 'ETHUSD'] as const

/** Of both markets. */
type Decimals = Pick<MarketDefinition, 'priceDecimals' | 'amountDecimals'>
const DECIMALS: Decimals = { priceDecimals: 2, amountDecimals: 8 }

export class Stage {
  readonly clock: NodeClock
  readonly directory = new Directory()
  readonly markets = new Map<string, StageMarket>()
  readonly lines: readonly string[]
  readonly ingest: Ingest
  readonly source: Source
  readonly sourceMarkets: readonly SourceMarket[]
  readonly metrics = createMetricsRegistry()
  url = ''
  readonly #app: ReturnType<typeof createHttpServer>
  readonly #waiters = new Waiters()
  #clients: Readonly<Record<string, StageClient>> = {}

  private constructor(settings: Partial<IngestSettings>, decimals: Decimals, ownClock: NodeClock) {
    this.clock = ownClock
    const { log, lines } = captureLog()
    this.lines = lines
    const clock: Clock = this.clock
    const verifier: TokenVerifier = {
      verify: async (text) =>
        text.startsWith('bad') ? { ok: false, reason: 'it is forged' } : { ok: true, token: tokenOf(text) },
    }
    this.ingest = new Ingest({
      directory: this.directory,
      verifier,
      clock,
      log,
      metrics: this.metrics,
      settings: {
        connectionsMax: () => 64,
        lineWaitMilliseconds: () => 1_000,
        messageBytesMax: 65_536,
        closesExpired: false,
        ...settings,
      },
    })
    this.#app = createHttpServer({
      listener: 'ingest',
      log,
      metrics: this.metrics,
      clock,
      headerBytesMax: 32_768,
      requestMilliseconds: 60_000,
      translate: () => undefined,
      unfinishedBytesMax: 536_870_912,
      upgrade: (request, socket, head) =>
        this.ingest.upgrade(request, socket, head, { address: '127.0.0.1', holder: '' }),
    })
    this.ingest.registerRoutes(this.#app)
    this.sourceMarkets = SYMBOLS.map((symbol) => this.#sourceMarket(symbol, decimals))
    this.source = this.ingest.createSource(this.sourceMarkets)
  }

  static async open(
    settings: Partial<IngestSettings> = {},
    decimals = DECIMALS,
    clock = new NodeClock(),
  ): Promise<Stage> {
    const stage = new Stage(settings, decimals, clock)
    stage.url = await listenOnFreePort(stage.#app)
    stage.permit({ engine: { markets: SYMBOLS }, other: { markets: SYMBOLS } })
    stage.source.start()
    stage.ingest.open()
    return stage
  }

  /** Replaces all clients, as the directory shows them. */
  permit(clients: Readonly<Record<string, StageClient>>): void {
    this.#clients = clients
    this.directory.replace({
      customers: [{ id: 'exchange', name: 'exchange', enabled: true, streaming: false }],
      clients: Object.entries(clients).map(([clientId, { markets, scopes = [PUBLISH_SCOPE], enabled = true }]) => ({
        clientId,
        customerId: 'exchange',
        name: clientId,
        scopes: new Set(scopes),
        publishMarkets: new Set(markets),
        enabled,
      })),
    })
  }

  change(client: string, change: Partial<StageClient>): void {
    const known = this.#clients[client] as StageClient
    this.permit({ ...this.#clients, [client]: { ...known, ...change } })
  }

  revoke(client: string): void {
    const { customers, clients } = {
      customers: [{ id: 'exchange', name: 'exchange', enabled: true, streaming: false }],
      clients: Object.keys(this.#clients).map((clientId) => this.directory.client(clientId)!),
    }
    const revokedTokens = [{ tokenId: client, clientId: client, expiresAtMilliseconds: Number.MAX_SAFE_INTEGER }]
    this.directory.replace({ customers, clients, revokedTokens })
  }

  connect(token?: string, options: Partial<PublisherOptions> = {}): Promise<PublisherClient> {
    return PublisherClient.connect({ url: this.url, ...(token === undefined ? {} : { token }), ...options })
  }

  market(symbol: string): StageMarket {
    return this.markets.get(symbol) as StageMarket
  }

  until(what: string, predicate: () => boolean): Promise<void> {
    return this.#waiters.until(what, predicate)
  }

  /** Ends ticks until the predicate holds, for states of the server that nothing reports. */
  untilSeen(what: string, predicate: () => boolean | Promise<boolean>): Promise<void> {
    return until(what, predicate)
  }

  /** For the effects of a connection that has ended. */
  untilLines(symbol: string, count: number): Promise<void> {
    const name = `tidegate_ingest_lines{market="${symbol}"}`
    return this.untilSeen(`${count} lines of ${symbol}`, async () => (await this.metric(name)) === count)
  }

  async metric(name: string): Promise<number> {
    const text = await this.metrics.metrics()
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
    if (line === undefined) throw new Error(`there is no metric ${name}`)
    return Number(line.slice(name.length + 1))
  }

  async close(): Promise<void> {
    const closed = this.#app.close()
    await this.ingest.stop()
    await this.source.stop()
    this.#app.server.closeAllConnections()
    await closed
  }

  #sourceMarket(symbol: string, { priceDecimals, amountDecimals }: Decimals): SourceMarket {
    const state = new StageMarket()
    this.markets.set(symbol, state)
    const quoteAsset = 'USD'
    const market = { symbol, baseAsset: symbol.slice(0, 3), quoteAsset, priceDecimals, amountDecimals, depth: 0 }
    return {
      market,
      venueSymbol: '',
      listener: (event) => {
        state.take(event)
        this.#waiters.notify()
      },
      onInstrument: () => this.#waiters.notify(),
    }
  }
}

function tokenOf(clientId: string): AccessToken {
  return {
    clientId,
    customerId: 'exchange',
    tokenId: clientId,
    keyId: 'key',
    scopes: new Set(clientId === 'reader' ? ['exchange:read_aggregated_marketdata_stream'] : [PUBLISH_SCOPE]),
    issuedAtSeconds: 0,
    expiresAtMilliseconds: Number.MAX_SAFE_INTEGER,
  }
}

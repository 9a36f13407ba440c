/**
 * One node's REST API on the test project's store: the public listener with its modules, the operator listener, and
 * customers with tokens, created through the APIs. Time is real.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { Directory } from '../../src/access/clients/directory.ts'
import { DirectoryLoader } from '../../src/access/clients/directory-loader.ts'
import { EncryptionKey } from '../../src/access/clients/encryption-key.ts'
import { createTokenVerifier } from '../../src/access/clients/token-verifier.ts'
import type { OperatorRole } from '../../src/contract/operator-calls.ts'
import { SCOPES, servedScopes } from '../../src/contract/scopes.ts'
import { ensureLedgerAssets } from '../../src/money/ledger/assets.ts'
import type { Converter } from '../../src/money/orchestrations/convert.ts'
import { type Clock, createSystemClock } from '../../src/platform/base/clock.ts'
import { newId } from '../../src/platform/base/ids.ts'
import type { Log } from '../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { loadConfig } from '../../src/service/config/load.ts'
import type { Config } from '../../src/service/config/settings.ts'
import { type Origins, SET_BY_PROGRAM } from '../../src/service/config/settings-in-force.ts'
import { OverviewHistory } from '../../src/service/health/overview.ts'
import { createOperatorListener } from '../../src/service/listeners/operator-listener.ts'
import { createPublicListener } from '../../src/service/listeners/public-listener.ts'
import { operatorModules, publicModules } from '../../src/service/modules.ts'
import { createQuotas } from '../../src/service/parts/money/customer-quotas.ts'
import { CandleReader } from '../../src/streaming/candles/candle-reader.ts'
import type { Hub } from '../../src/streaming/gateway/hub.ts'
import { captureLog } from './captured-log.ts'
import { testNode } from './node-exchange.ts'
import { NO_LINKS, operatorAccess } from './operator-access.ts'
import { SIMULATED_FLAGS, UNGUARDED_FLAGS } from './simulated-markets.ts'
import { openTestStore } from './test-store.ts'

export const OPERATOR_TOKEN = 'operator-token-of-this-test'

const NOT_READY = { ready: false, checks: [] }

export interface RestAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
  readonly body: any
}

/** A route declared by a listener, with its schemas. */
export interface DeclaredRoute {
  readonly listener: 'public' | 'operator'
  readonly method: string
  /** The pattern, including its prefix. */
  readonly url: string
  readonly schema: FastifySchema
}

export interface RestCustomer {
  readonly customerId: string
  readonly clientId: string
  readonly token: string
  /** Sends a request with the token. A body other than a string is sent as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<RestAnswer>
}

export interface RestNodeOptions {
  /** The number of requests allowed, without refill; by default more than any test uses. */
  readonly ratePerSecond?: number
  /** An existing store with its schema, which is not closed with the node. */
  readonly db?: Db
  readonly log?: Log
  /** Settings that differ from their defaults, as flags. */
  readonly flags?: Readonly<Record<string, string>>
  /** Addresses without a configured key are derived from a seed in `data_dir`, by default the node's own folder. */
  readonly hasTestSeed?: boolean
  /** The markets to list; absent = none. */
  readonly hub?: Pick<Hub, 'listedMarkets' | 'market' | 'marketList'>
  /** Default: from the store, by the node's clock. */
  readonly candles?: CandleReader
  /** False: the process has not the role `gateway`. */
  readonly isGateway?: boolean
  /** How deposits are converted as they are credited; absent = they are left to a worker. */
  readonly converter?: Converter
  /** False: the process has no role that moves money. */
  readonly movesMoney?: boolean
  /** Default: the system clock. */
  readonly clock?: Clock
  /** False: the process has no encryption key. */
  readonly hasEncryptionKey?: boolean
}

/** The key of tests' nodes. */
export const ENCRYPTION_KEY = EncryptionKey.parse('4b'.repeat(32))

export class RestNode {
  readonly db: Db
  readonly url: string
  readonly operatorUrl: string
  readonly directory: Directory
  /** The current configuration: a test may replace it, as SIGHUP does. */
  readonly live: { config: Config; origins: Origins }
  /** Every route on both listeners that has a schema. The token endpoints accept forms and have none. */
  readonly routes: readonly DeclaredRoute[]
  readonly #close: () => Promise<void>

  private constructor(parts: {
    db: Db
    url: string
    operatorUrl: string
    directory: Directory
    live: { config: Config; origins: Origins }
    routes: readonly DeclaredRoute[]
    close: () => Promise<void>
  }) {
    this.db = parts.db
    this.url = parts.url
    this.operatorUrl = parts.operatorUrl
    this.directory = parts.directory
    this.live = parts.live
    this.routes = parts.routes
    this.#close = parts.close
  }

  static async open(options: RestNodeOptions = {}): Promise<RestNode> {
    const { ratePerSecond = 100_000, log = captureLog().log, hasTestSeed = false, flags = {} } = options
    const folder =
      hasTestSeed && flags.data_dir === undefined ? mkdtempSync(join(tmpdir(), 'tidegate-node-')) : undefined
    const config = configOf(folder === undefined ? flags : { ...flags, data_dir: folder })
    const live = { config, origins: SET_BY_PROGRAM }
    const time = options.clock ?? createSystemClock()
    // Only rate limits use the monotonic clock. Timers and the tokens' wall clock continue to advance.
    const clock = options.ratePerSecond === undefined ? time : { ...time, monotonicMilliseconds: () => 0 }
    const db = options.db ?? (await openTestStore({ log }))
    if (options.db === undefined)
      await db.transaction((transaction) => ensureLedgerAssets(transaction, live.config.assets))
    const directory = new Directory()
    const loader = new DirectoryLoader({ db, directory, clock, log, publicUrl: '' })
    await loader.refresh()
    const verifier = createTokenVerifier({ directory, clock })
    const metrics = createMetricsRegistry()
    const refreshDirectory = () => loader.refresh()
    const quotas = createQuotas(metrics, live)
    const routes: DeclaredRoute[] = []
    const hub = options.hub ?? { listedMarkets: [], market: () => undefined, marketList: () => '' }
    const isSimulated = (symbol: string) => symbol.startsWith('SIM')
    const encryptionKey = options.hasEncryptionKey === false ? undefined : ENCRYPTION_KEY
    const candles = options.candles ?? new CandleReader({ db, clock, delayMilliseconds: 0, retentionDays: () => 400 })
    const shared = {
      encryptionKey,
      quotas,
      db,
      directory,
      clock,
      log,
      metrics,
      refreshDirectory,
      host: '127.0.0.1',
      port: 0,
    }
    const publicListener = await createPublicListener({
      ...shared,
      trustedProxies: [],
      corsOrigins: [],
      headerBytesMax: 524_288,
      unfinishedBytesMax: 67_108_864,
      tokenSeconds: 3_600,
      scopes: servedScopes(true, true),
      tokenRatePerSecond: 100_000,
      issuesTokens: true,
      signsReceipts: true,
      publicUrl: '',
      gateway: { check: async () => undefined, upgrade: (_request, socket) => socket.destroy() },
      modules: [
        noteRoutes('public', routes),
        ...publicModules({
          ...shared,
          current: live,
          verifier,
          ratePerSecond,
          hasTestSeed,
          hub,
          isGateway: options.isGateway ?? true,
          candles,
          isSimulated,
          proofOf: () => 'SEQUENCE',
        }),
      ],
    })
    const operatorListener = await createOperatorListener({
      ...shared,
      token: OPERATOR_TOKEN,
      ...operatorAccess(db, clock),
      fourEyes: () => live.config['operator.four_eyes'],
      allowedHosts: () => [],
      onGuess: () => undefined,
      readiness: () => ({ ready: directory.loaded, checks: [] }),
      // The stream's calls are not registered here.
      modules: [
        noteRoutes('operator', routes),
        ...operatorModules({
          ...shared,
          ...NO_LINKS,
          current: live,
          hasTestSeed,
          issuesTokens: true,
          scopes: servedScopes(true, true),
          overview: new OverviewHistory({ ...shared, otherMetrics: async () => [], readiness: () => NOT_READY }),
          readiness: () => NOT_READY,
          hub: hub as Hub,
          candleReader: candles,
          cluster: testNode({ clock: shared.clock }),
          publicUrl: () => '',
          streamUrl: () => '',
          sourcesOf: () => [],
          money:
            options.movesMoney === false
              ? undefined
              : {
                  quotas: shared.quotas,
                  ledgerState: () => ({ balances: 0, differences: [], overdue: false, changed_postings: [] }),
                  ...(options.converter === undefined ? {} : { converter: options.converter }),
                },
        }),
      ],
    })
    return new RestNode({
      db,
      url: publicListener.url,
      operatorUrl: operatorListener.url,
      directory,
      live,
      routes,
      async close() {
        candles.stop()
        await publicListener.close()
        await operatorListener.close()
        await loader.stop()
        if (options.db === undefined) await db.close()
        if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
      },
    })
  }

  close(): Promise<void> {
    return this.#close()
  }

  /** Creates a customer with one client that holds these scopes and has a token for them. */
  async newCustomer(scopes: readonly string[] = Object.keys(SCOPES)): Promise<RestCustomer> {
    const { body: customer } = await this.operator('POST', '/customers', { name: newId() })
    return await this.newClient(customer.id, scopes)
  }

  /** Creates another client for a customer. */
  async newClient(customerId: string, scopes: readonly string[] = Object.keys(SCOPES)): Promise<RestCustomer> {
    const name = newId()
    const { body: client } = await this.operator('POST', `/customers/${customerId}/clients`, { name, scopes })
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.client_id,
      client_secret: client.client_secret,
      scope: scopes.join(' '),
    })
    const answer = await fetch(`${this.url}/oauth2/token`, { method: 'POST', body: form })
    const { access_token: token } = (await answer.json()) as { access_token: string }
    return {
      customerId,
      clientId: client.client_id,
      token,
      call: (method, path, body, headers = {}) =>
        this.send(method, path, body, { authorization: `Bearer ${token}`, ...headers }),
    }
  }

  /** Makes one operator API call. The path is below `/admin/v1`. */
  async operator(method: string, path: string, body?: unknown, token = OPERATOR_TOKEN): Promise<RestAnswer> {
    const headers = { authorization: `Bearer ${token}` }
    return await request(method, `${this.operatorUrl}/admin/v1${path}`, body, headers)
  }

  /** Creates an operator, and returns the function that calls as this person. */
  async newOperator(name: string, role: OperatorRole): Promise<RestNode['operator']> {
    await this.operator('POST', '/operators', { name, role })
    const { token } = (await this.operator('POST', `/operators/${name}/tokens`, { name: 'test' })).body
    return (method, path, body) => this.operator(method, path, body, token)
  }

  /** Sends a request to the public listener with only these headers and the content type. */
  send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<RestAnswer> {
    return request(method, this.url + path, body, headers)
  }
}

/** Records every route declared after it. */
function noteRoutes(listener: DeclaredRoute['listener'], routes: DeclaredRoute[]) {
  return (app: FastifyInstance): void => {
    app.addHook('onRoute', ({ method, url, schema }) => {
      if (schema !== undefined) for (const each of [method].flat()) routes.push({ listener, method: each, url, schema })
    })
  }
}

/** Far more than a working store needs. A store that answers no request still fails the test. */
const ATTEMPTS_MAX = 200

/**
 * Repeats a call that is answered 503 with Retry-After, as documented for clients. Concurrent calls wait for the store
 * for two seconds at most, and how many it serves in two seconds depends on the machine. A repeated call waits there
 * again, so no pause is needed.
 */
export async function untilServed(call: () => Promise<RestAnswer>): Promise<RestAnswer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await call()
    if (answer.status !== 503 || answer.headers.get('retry-after') === null || attempt === ATTEMPTS_MAX) return answer
  }
}

export function configOf(flags: Readonly<Record<string, string>>): Config {
  const result = loadConfig({
    flags: { ...SIMULATED_FLAGS, ...UNGUARDED_FLAGS, ...flags },
    environment: {},
    file: undefined,
    readFile: () => '',
  })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}

async function request(
  method: string,
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<RestAnswer> {
  const sent =
    body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const response = await fetch(url, {
    method,
    headers: { ...(sent === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(sent === undefined ? {} : { body: sent as string }),
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '') && text !== ''
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

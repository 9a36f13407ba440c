/**
 * One node's authentication: the public listener with the token endpoints and the stream's handshake, on a store that
 * several nodes may share. Its streams report their close codes.
 */

import { WebSocket } from 'ws'
import { Directory } from '../../src/access/clients/directory.ts'
import { DirectoryLoader } from '../../src/access/clients/directory-loader.ts'
import type { AuthTables } from '../../src/access/clients/tables.ts'
import { createTokenVerifier, type TokenVerifier } from '../../src/access/clients/token-verifier.ts'
import { Upkeep } from '../../src/access/clients/upkeep.ts'
import { servedScopes } from '../../src/contract/scopes.ts'
import type { Log } from '../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import type { Db, Transaction } from '../../src/platform/store/db.ts'
import { createPublicListener } from '../../src/service/listeners/public-listener.ts'
import { createGateway } from '../../src/streaming/gateway/gateway.ts'
import { Hub } from '../../src/streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../src/streaming/gateway/metrics.ts'
import { createMemoryBus } from '../../src/streaming/sequencing/bus-memory.ts'
import { awaited, once } from './awaited.ts'
import { captureLog } from './captured-log.ts'
import { SETTINGS } from './stream-simulation.ts'
import type { NodeClock } from './virtual-clock.ts'

export interface AuthNodeOptions {
  readonly db: Db
  readonly clock: NodeClock
  readonly log?: Log
  readonly publicUrl?: string
  /** The outside issuer whose tokens are verified. No tokens are issued then. */
  readonly verifierOf?: (directory: Directory) => TokenVerifier
  /** Runs the upkeep for keys and revocations; off by default. */
  readonly signingKeyDays?: number
}

export interface FormAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, string | number>
}

export class AuthNode {
  readonly directory: Directory
  readonly loader: DirectoryLoader
  readonly clock: NodeClock
  readonly url: string
  readonly #options: AuthNodeOptions
  readonly #close: () => Promise<void>
  readonly #sockets = new Set<WebSocket>()

  private constructor(parts: {
    directory: Directory
    loader: DirectoryLoader
    clock: NodeClock
    url: string
    options: AuthNodeOptions
    close: () => Promise<void>
  }) {
    this.directory = parts.directory
    this.loader = parts.loader
    this.clock = parts.clock
    this.url = parts.url
    this.#options = parts.options
    this.#close = parts.close
  }

  static async open(options: AuthNodeOptions): Promise<AuthNode> {
    const { db, clock, log = captureLog().log, publicUrl = '' } = options
    const directory = new Directory()
    const loader = new DirectoryLoader({ db, directory, clock, log, publicUrl })
    await loader.refresh()
    const registry = createMetricsRegistry()
    const metrics = createGatewayMetrics(registry)
    const bus = createMemoryBus()
    const hub = new Hub({ replicas: [], bus, clock, log, metrics, settings: SETTINGS, random: () => 0 })
    const verifier = options.verifierOf?.(directory) ?? createTokenVerifier({ directory, clock })
    const settings = { inboundBytesMax: 65_536, connectionsPerClientMax: 100, connectionsMax: 100 }
    const gateway = createGateway({ hub, directory, verifier, clock, log, metrics, settings })
    const listener = await createPublicListener({
      host: '127.0.0.1',
      port: 0,
      trustedProxies: [],
      corsOrigins: [],
      headerBytesMax: 16_384,
      unfinishedBytesMax: 67_108_864,
      tokenSeconds: 3600,
      scopes: servedScopes(true, true),
      tokenRatePerSecond: 1_000,
      issuesTokens: options.verifierOf === undefined,
      publicUrl,
      modules: [],
      db,
      refreshDirectory: () => loader.refresh(),
      directory,
      gateway,
      log,
      metrics: registry,
      clock,
    })
    const { signingKeyDays } = options
    const upkeep = signingKeyDays === undefined ? undefined : new Upkeep({ db, directory, clock, log, signingKeyDays })
    return new AuthNode({
      directory,
      loader,
      clock,
      url: listener.url,
      options,
      async close() {
        await upkeep?.stop()
        gateway.stop()
        await listener.close()
        await loader.stop()
      },
    })
  }

  /** Runs the upkeep that is due now, as the node would within a minute, and reloads the directory after it. */
  async runUpkeep(): Promise<void> {
    const { db, clock, log = captureLog().log, signingKeyDays = 3_650 } = this.#options
    await new Upkeep({ db, directory: this.directory, clock, log, signingKeyDays }).stop()
    await this.loader.refresh()
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate()
    await this.#close()
  }

  /** Posts a form to one of the endpoints. */
  async post(path: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<FormAnswer> {
    const response = await fetch(this.url + path, { method: 'POST', body: new URLSearchParams(form), headers })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) }
  }

  async token(credentials: Record<string, string>, scope: string): Promise<string> {
    const answer = await this.post('/oauth2/token', { grant_type: 'client_credentials', scope, ...credentials })
    if (answer.status !== 200) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body.access_token as string
  }

  /** The status of a plain request with this token at the stream's path. 426 means that the token is accepted. */
  async status(token: string): Promise<number> {
    return (await fetch(this.url, { headers: { authorization: `Bearer ${token}` } })).status
  }

  /** Opens the stream; `closed` resolves to the close code. */
  async stream(token: string): Promise<{ readonly socket: WebSocket; readonly closed: Promise<number> }> {
    const socket = new WebSocket(this.url.replace(/^http/, 'ws'), { headers: { authorization: `Bearer ${token}` } })
    this.#sockets.add(socket)
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    await once(socket, 'open')
    return { socket, closed }
  }

  /** Resolves when the directory fulfils a condition, which may be at once. */
  until(condition: (directory: Directory) => boolean): Promise<void> {
    if (condition(this.directory)) return Promise.resolve()
    const isMet = new Promise<void>((resolve) => {
      const end = this.directory.onChange(() => {
        if (!condition(this.directory)) return
        end()
        resolve()
      })
    })
    return awaited(`the directory to fulfil ${condition}`, isMet)
  }
}

/** Writes in a transaction, as the operator API does. */
export function write<Result>(
  db: Db,
  work: (transaction: Transaction<AuthTables>) => Promise<Result>,
): Promise<Result> {
  return db.transaction(work)
}

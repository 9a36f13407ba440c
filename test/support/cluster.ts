/**
 * A deployment for tests with several processes of the built program: feeds, gateways, APIs and workers on one
 * PostgreSQL and one NATS server. Each process reaches both through its own proxies, which a test can disturb.
 * Processes can be killed, suspended and started again.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { STREAM_SCOPE, servedScopes } from '../../src/contract/scopes.ts'
import { CLUSTER_POLL } from './cluster-watch.ts'
import { FAST_STORE_STARTS, type RunningCommand, startProgram } from './command-line.ts'
import { NatsServer } from './nats-server.ts'
import { proxyPostgres } from './postgres-proxy.ts'
import {
  BUILT_PROGRAM,
  ensureBuilt,
  type Flags,
  type market,
  OperatorApi,
  type TestClient,
  temporaryFolder,
} from './running-service.ts'
import { fetchToken } from './sample-client.ts'
import { UNGUARDED_FLAGS } from './simulated-markets.ts'
import { TcpProxy } from './tcp-proxy.ts'

export interface ClusterProcess {
  readonly name: string
  /** As in the settings: `[feed, api]`. */
  readonly roles: string
  readonly http: string
  readonly ws: string
  readonly operator: OperatorApi
  readonly command: RunningCommand
}

/** Two for each role. */
export const CLUSTER_PROCESSES: Readonly<Record<string, string>> = Object.fromEntries(
  ['feed', 'gateway', 'api', 'worker'].flatMap((role) => [1, 2].map((number) => [`${role}-${number}`, `[${role}]`])),
)

interface ClusterOptions {
  /** By name: the process's roles. */
  readonly processes: Readonly<Record<string, string>>
  readonly markets: readonly ReturnType<typeof market>[]
  readonly flags?: Flags
  /** By process name: its additional flags. */
  readonly flagsOf?: Readonly<Record<string, Flags>>
  /** The setting with this name. */
  readonly feeds?: object
  /** The address of a database with the schema. */
  readonly store: string
  /** The processes' program; by default the built one. */
  readonly program?: string
  /** The Node.js program; by default the one running the tests. */
  readonly node?: string
  /** Called with each process when it is started. */
  readonly onLaunch?: (name: string, child: RunningCommand['child']) => void
}

/** A process's connections to the servers. */
interface Links {
  readonly nats: TcpProxy
  readonly postgres: TcpProxy
  /** The database's address. */
  readonly store: string
}

export class Cluster {
  readonly nats: NatsServer
  /** For the processes started from now on. */
  program: string
  readonly #processes = new Map<string, ClusterProcess>()
  readonly #links = new Map<string, Links>()
  readonly #options: ClusterOptions
  readonly #folder = temporaryFolder()

  private constructor(options: ClusterOptions, nats: NatsServer) {
    this.#options = options
    this.program = options.program ?? BUILT_PROGRAM
    this.nats = nats
  }

  /** Starts every process. Resolves when all are ready. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    ensureBuilt()
    const cluster = new Cluster(options, await NatsServer.start())
    const { markets, feeds = {} } = options
    writeFileSync(cluster.#file, JSON.stringify({ markets, feeds, simulator: { allowed: true } }))
    await Promise.all(cluster.names.map((name) => cluster.launch(name)))
    return cluster
  }

  get names(): readonly string[] {
    return Object.keys(this.#options.processes)
  }

  process(name: string): ClusterProcess {
    const process = this.#processes.get(name)
    if (process === undefined) throw new Error(`${name} does not run`)
    return process
  }

  links(name: string): Links {
    const links = this.#links.get(name)
    if (links === undefined) throw new Error(`${name} was not started`)
    return links
  }

  /** The running processes whose roles contain this one. */
  withRole(role: string): readonly ClusterProcess[] {
    return [...this.#processes.values()].filter(({ roles }) => roles.includes(role))
  }

  /** Creates a new customer's client with all rights, which every gateway knows. */
  async createClient(): Promise<TestClient & { readonly token: string }> {
    const [api] = this.withRole('api')
    if (api === undefined) throw new Error('no process has the role api')
    const { operator, http } = api
    const { id: customerId } = await operator.call<{ id: string }>('POST', '/customers', {
      name: 'cluster',
      streaming: true,
    })
    // The release before knows fewer.
    const scopes = this.program === BUILT_PROGRAM ? servedScopes(false) : [STREAM_SCOPE]
    const { client_id: clientId, client_secret: clientSecret } = await operator.call<Record<string, string>>(
      'POST',
      `/customers/${customerId}/clients`,
      { name: 'cluster', scopes },
    )
    const client = { customerId, clientId: clientId as string, clientSecret: clientSecret as string }
    const token = await fetchToken({ authUrl: http, ...client, scope: scopes.join(' ') })
    // Another process's directory has a new client up to a second later, and refuses its token until then.
    for (const gateway of this.withRole('gateway')) {
      await vi.waitFor(async () => {
        const headers = { authorization: `Bearer ${token}` }
        expect((await fetch(`${gateway.http}/`, { headers })).status).not.toBe(403)
      }, CLUSTER_POLL)
    }
    return { ...client, token }
  }

  /** Starts a stopped process, with these flags too. Resolves when its start has completed. */
  async launch(name: string, roles = this.#options.processes[name], more: Flags = {}): Promise<ClusterProcess> {
    if (roles === undefined) throw new Error(`${name} has no roles`)
    const folder = join(this.#folder.path, name)
    mkdirSync(folder, { recursive: true })
    const { nats, store } = this.#links.get(name) ?? (await this.#link(name))
    const flags: Flags = {
      config: this.#file,
      data_dir: folder,
      'http.port': 0,
      'operator.port': 0,
      roles,
      'bus.url': `nats://127.0.0.1:${nats.port}`,
      'store.url': store,
      'stream.drain_seconds': 0,
      // The release before has none of these settings.
      ...(this.program === BUILT_PROGRAM ? UNGUARDED_FLAGS : {}),
      ...this.#options.flags,
      ...this.#options.flagsOf?.[name],
      ...more,
    }
    const args = Object.entries(flags).flatMap(([key, value]) => [`--${key}`, String(value)])
    const { node = process.execPath } = this.#options
    const command = startProgram(node, [...FAST_STORE_STARTS, this.program, 'serve', ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH },
    })
    this.#options.onLaunch?.(name, command.child)
    const { http, ws, operator } = JSON.parse(await command.line((line) => line.includes('"ready":true')))
    const started = { name, roles, http, ws, operator: new OperatorApi(operator, folder), command }
    this.#processes.set(name, started)
    return started
  }

  /** Ends a process at once. */
  async kill(name: string): Promise<void> {
    const { command } = this.process(name)
    this.#processes.delete(name)
    command.child.kill('SIGKILL')
    await command.result
  }

  /** Ends a process as a deployment does. */
  async terminate(name: string): Promise<void> {
    const { command } = this.process(name)
    this.#processes.delete(name)
    command.child.kill('SIGTERM')
    await command.result
  }

  suspend(name: string): void {
    this.process(name).command.child.kill('SIGSTOP')
  }

  resume(name: string): void {
    this.process(name).command.child.kill('SIGCONT')
  }

  /** The names of the processes leading the feed group `default`, as they report it. */
  async leaders(): Promise<readonly string[]> {
    const feeds = this.withRole('feed')
    const values = await Promise.all(
      feeds.map(({ operator }) => operator.metric('tidegate_feed_lease_leader{feed_group="default"}')),
    )
    return feeds.filter((_, place) => values[place] === 1).map(({ name }) => name)
  }

  async remove(): Promise<void> {
    for (const name of [...this.#processes.keys()]) this.resume(name)
    await Promise.all([...this.#processes.keys()].map((name) => this.terminate(name)))
    for (const { nats, postgres } of this.#links.values()) {
      nats.close()
      postgres.close()
    }
    await this.nats.remove()
    this.#folder.remove()
  }

  async #link(name: string): Promise<Links> {
    const { proxy: postgres, url: store } = await proxyPostgres(this.#options.store)
    const links = { nats: await TcpProxy.listen(this.nats.port), postgres, store }
    this.#links.set(name, links)
    return links
  }

  get #file(): string {
    return join(this.#folder.path, 'tidegate.yaml')
  }
}

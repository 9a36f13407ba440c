/**
 * A deployment of several processes of the built program for tests: feeds, gateways, APIs and workers on one PostgreSQL and
 * one NATS server, both behind proxies that a test can disturb. Processes can be killed, suspended and started again.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startCommand } from './command-line.ts'
import { NatsServer } from './nats-server.ts'
import { proxyPostgres } from './postgres-proxy.ts'
import { ensureBuilt, type Flags, type market, OperatorApi, temporaryFolder } from './running-service.ts'
import { TcpProxy } from './tcp-proxy.ts'

export interface ClusterProcess {
  readonly name: string
  /** As in the settings: `[feed, api]`. */
  readonly roles: string
  readonly http: string
  readonly ws: string
  readonly operator: OperatorApi
  readonly command: ReturnType<typeof startCommand>
}

interface ClusterOptions {
  /** By name: the roles of the process. */
  readonly processes: Readonly<Record<string, string>>
  readonly markets: readonly ReturnType<typeof market>[]
  readonly flags?: Flags
  /** Address of a database that has the schema. */
  readonly store: string
}

export class Cluster {
  readonly nats: NatsServer
  readonly natsProxy: TcpProxy
  readonly postgresProxy: TcpProxy
  readonly #processes = new Map<string, ClusterProcess>()
  readonly #options: ClusterOptions
  readonly #folder: ReturnType<typeof temporaryFolder>
  readonly #store: string

  private constructor(
    options: ClusterOptions,
    folder: ReturnType<typeof temporaryFolder>,
    nats: NatsServer,
    natsProxy: TcpProxy,
    postgres: Awaited<ReturnType<typeof proxyPostgres>>,
  ) {
    this.#options = options
    this.#folder = folder
    this.nats = nats
    this.natsProxy = natsProxy
    this.postgresProxy = postgres.proxy
    this.#store = postgres.url
  }

  /** Starts every process; resolves when all are ready. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    ensureBuilt()
    const folder = temporaryFolder()
    const nats = await NatsServer.start()
    const natsProxy = await TcpProxy.listen(nats.port)
    const postgres = await proxyPostgres(options.store)
    const cluster = new Cluster(options, folder, nats, natsProxy, postgres)
    writeFileSync(cluster.#file, JSON.stringify({ markets: options.markets, simulator: { allowed: true } }))
    await Promise.all(Object.keys(options.processes).map((name) => cluster.launch(name)))
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

  /** The running processes whose roles contain this one. */
  withRole(role: string): readonly ClusterProcess[] {
    return [...this.#processes.values()].filter(({ roles }) => roles.includes(role))
  }

  /** Starts a process that does not run, with these flags too; resolves when its start has completed. */
  async launch(name: string, roles = this.#options.processes[name], more: Flags = {}): Promise<ClusterProcess> {
    if (roles === undefined) throw new Error(`${name} has no roles`)
    const folder = join(this.#folder.path, name)
    mkdirSync(folder, { recursive: true })
    const flags: Flags = {
      config: this.#file,
      data_dir: folder,
      'http.port': 0,
      'operator.port': 0,
      roles,
      'bus.url': `nats://127.0.0.1:${this.natsProxy.port}`,
      'store.url': this.#store,
      'stream.drain_seconds': 0,
      ...this.#options.flags,
      ...more,
    }
    const args = Object.entries(flags).flatMap(([key, value]) => [`--${key}`, String(value)])
    const command = startCommand(['serve', ...args], { isBuilt: true })
    const { http, ws, operator } = JSON.parse(await command.line((line) => line.includes('"ready":true')))
    const process = { name, roles, http, ws, operator: new OperatorApi(operator, folder), command }
    this.#processes.set(name, process)
    return process
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

  /** Names of the processes that lead the feed group `default`, as they report it. */
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
    this.natsProxy.close()
    this.postgresProxy.close()
    await this.nats.remove()
    this.#folder.remove()
  }

  get #file(): string {
    return join(this.#folder.path, 'tidegate.yaml')
  }
}

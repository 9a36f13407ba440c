/**
 * The whole service, started for a test in one of two ways: as the built program in its own process, or inside this
 * process, where the commits and the simulator's trades are observable. Either way it listens on free ports of
 * 127.0.0.1, and customers are created through the operator API.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DemoClient } from '../../src/access/clients/demo-client.ts'
import { createSystemClock } from '../../src/platform/base/clock.ts'
import { createLog } from '../../src/platform/base/log.ts'
import { startService } from '../../src/service/compose.ts'
import { loadConfig } from '../../src/service/config/load.ts'
import { createMemoryBus } from '../../src/streaming/sequencing/bus-memory.ts'
import { type CommandResult, type RunningCommand, startCommand, wasBuiltForThisRun } from './command-line.ts'
import { fetchToken } from './sample-client.ts'
import { ServiceRecord } from './service-record.ts'
import { SIMULATED_FLAGS, UNGUARDED_FLAGS } from './simulated-markets.ts'
import { storeFlags } from './test-store.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Built by `npm run build`. */
export const BUILT_PROGRAM = join(ROOT, 'dist/main.js')

export const STREAM_SCOPE = 'exchange:read_aggregated_marketdata_stream'

export type Flags = Readonly<Record<string, string | number>>

export interface RunningService {
  readonly http: string
  readonly ws: string
  readonly operator: OperatorApi
  readonly folder: string
}

export interface ServiceProcess extends RunningService {
  readonly command: RunningCommand
  /** The complete ready line, as printed. */
  readonly readyLine: string
  readonly pid: number
  /** Sends SIGTERM. Resolves when the process has ended. */
  stop(): Promise<CommandResult>
}

export interface ServiceInside extends RunningService {
  /** The publishers' address. Empty without the flag `ingest.port`. */
  readonly ingest: string
  readonly record: ServiceRecord
  /** Creates the client that the verb `demo` creates. */
  createDemoClient(): Promise<DemoClient>
  /** Applies these flags on top of those of the start. */
  reload(flags: Flags): void
  stop(): Promise<void>
}

/** A customer's client, both created for the test. */
export interface TestClient {
  readonly customerId: string
  readonly clientId: string
  readonly clientSecret: string
}

/** One test file's data folder. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'tidegate-end-to-end-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Most attempts for a request that is answered 503 with Retry-After because the store is busy. */
const ATTEMPTS_MAX = 30

/** One service's operator API. Throws on any response other than 200. */
export class OperatorApi {
  readonly url: string
  readonly token: string
  #names = 0

  constructor(url: string, folder: string) {
    this.url = url
    this.token = readFileSync(join(folder, 'operator-token'), 'utf8').trim()
  }

  /** @param content the body, or what makes it for an attempt: one that was answered 503 may have been done */
  async call<Answer = Record<string, unknown>>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    content?: object | ((attempt: number) => object),
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const body = typeof content === 'function' ? content(attempt) : content
      const response = await fetch(`${this.url}/admin/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (response.ok) return JSON.parse(text) as Answer
      const seconds = Number(response.headers.get('retry-after'))
      const isWorthAnother = response.status === 503 && seconds > 0 && attempt < ATTEMPTS_MAX
      if (!isWorthAnother) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`)
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
    }
  }

  /** Creates a customer on the allow list with one client that may stream. */
  async createClient(): Promise<TestClient> {
    const { id: customerId } = await this.call<{ id: string }>('POST', '/customers', () => ({
      name: `customer ${process.hrtime.bigint()} ${this.#names++}`,
      streaming: true,
    }))
    const client = await this.call<{ client_id: string; client_secret: string }>(
      'POST',
      `/customers/${customerId}/clients`,
      (attempt) => ({ name: attempt === 1 ? 'reader' : `reader ${attempt}`, scopes: [STREAM_SCOPE] }),
    )
    return { customerId, clientId: client.client_id, clientSecret: client.client_secret }
  }

  async metricsText(): Promise<string> {
    return (await fetch(`${this.url}/metrics`)).text()
  }

  /** Reads one value of `/metrics`, by its name with its labels. */
  async metric(name: string): Promise<number> {
    const text = await this.metricsText()
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
    if (line === undefined) throw new Error(`there is no metric ${name}`)
    return Number(line.slice(name.length + 1))
  }
}

/** Requests a token for a new client. */
export async function newToken(service: RunningService): Promise<string> {
  return tokenOf(service, await service.operator.createClient())
}

export function tokenOf(service: RunningService, { clientId, clientSecret }: TestClient): Promise<string> {
  return fetchToken({ authUrl: service.http, clientId, clientSecret })
}

/** A market entry of the configuration. */
export function market(base: string, priceDecimals: number, depth: number, source = 'simulator', amountDecimals = 8) {
  return {
    symbol: `${base}USD`,
    base_asset: base,
    quote_asset: 'USD',
    price_decimals: priceDecimals,
    amount_decimals: amountDecimals,
    depth,
    sources: [source],
  }
}

/** For a single test file: builds what has changed. `npm test` has already done so. */
export function ensureBuilt(): void {
  if (wasBuiltForThisRun) return
  const build = [process.execPath, join(ROOT, 'scripts/build.mjs')]
  // Test files run at the same time, and two builds would delete each other's files.
  const locked = hasFlock() ? ['flock', join(ROOT, 'node_modules/.build-lock'), ...build] : build
  const { status, stderr } = spawnSync(locked[0] as string, locked.slice(1), { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the build failed: ${stderr}`)
}

/** Part of Linux. Elsewhere concurrent builds are not kept apart. */
function hasFlock(): boolean {
  return spawnSync('flock', ['--version']).status === 0
}

/** Runs a verb of the built program with free ports, this folder and, unless `flags` has others, simulated markets. */
export function startVerb(verb: 'serve' | 'demo', folder: string, flags: Flags = {}): RunningCommand {
  const markets = verb === 'serve' ? SIMULATED_FLAGS : {}
  const all: Flags = { 'http.port': 0, 'operator.port': 0, data_dir: folder, ...markets, ...flags }
  const args = Object.entries(all).flatMap(([key, value]) => [`--${key}`, String(value)])
  return startCommand([verb, ...args], { isBuilt: true, cwd: folder })
}

/** Starts the built program and waits for its ready line. */
export async function startServiceProcess(
  verb: 'serve' | 'demo',
  folder: string,
  flags: Flags = {},
): Promise<ServiceProcess> {
  const command = startVerb(verb, folder, { ...(await storeFlags(folder)), ...UNGUARDED_FLAGS, ...flags })
  const readyLine = await command.line((line) => line.startsWith('{'))
  const ready = JSON.parse(readyLine) as { http: string; ws: string; operator: string; pid: number }
  return {
    http: ready.http,
    ws: ready.ws,
    operator: new OperatorApi(ready.operator, folder),
    folder,
    command,
    readyLine,
    pid: ready.pid,
    stop() {
      command.child.kill('SIGTERM')
      return command.result
    },
  }
}

/** Starts the service in this process and records its commits. */
export async function startServiceInside(
  folder: string,
  markets: readonly ReturnType<typeof market>[],
  flags: Flags = {},
): Promise<ServiceInside> {
  const all: Flags = {
    'http.port': 0,
    'operator.port': 0,
    data_dir: folder,
    ...SIMULATED_FLAGS,
    markets: JSON.stringify(markets),
    ...(await storeFlags(folder)),
    ...UNGUARDED_FLAGS,
    ...flags,
  }
  const load = (changes: Flags = {}) =>
    loadConfig({
      flags: Object.fromEntries(Object.entries({ ...all, ...changes }).map(([key, value]) => [key, String(value)])),
      environment: {},
      file: undefined,
      readFile: () => '',
    })
  const result = load()
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  const bus = createMemoryBus()
  const record = new ServiceRecord(
    result.config.markets.map(({ definition }) => definition),
    bus,
  )
  const service = await startService({
    config: result.config,
    log: createLog('silent'),
    clock: createSystemClock(),
    random: Math.random,
    bus,
    onTrade: (trade) => record.onTrade(trade),
  })
  const { http, ws, operator, ingest = '' } = service.addresses
  return {
    http,
    ws,
    operator: new OperatorApi(operator, folder),
    folder,
    ingest,
    record,
    createDemoClient: () => service.ensureDemoClient(undefined),
    reload: (changes) => service.reload(load(changes)),
    async stop() {
      if (!(await service.stop())) throw new Error('the service did not stop cleanly')
    },
  }
}

/**
 * deploy/compose/cluster.yaml, executed outside containers: the commands of the page make its secrets, a NATS server reads
 * its file, `migrate` and the eight processes have the environment of their services, and nginx, where it is installed,
 * reads its file. Names of services are replaced by addresses of this machine, and the venue by the simulator.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningCommand, startCommand } from '../support/command-line.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { claimPort } from '../support/ports.ts'
import { hasPostgres, sharedDatabase } from '../support/postgres.ts'
import { ensureBuilt, market, newToken, OperatorApi, type RunningService } from '../support/running-service.ts'
import { fetchToken, SampleClient } from '../support/sample-client.ts'
import { ROOT, readText, readYaml } from './deployment-files.ts'

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly command?: readonly string[]
        readonly environment?: Readonly<Record<string, string>>
        readonly healthcheck?: { readonly test?: readonly string[] }
      }
    >
  >
}

const hasNginx = spawnSync('nginx', ['-v']).status === 0
const { services } = readYaml<Compose>('deploy/compose/cluster.yaml')
const processes = Object.entries(services).filter(([, { environment }]) => environment?.TIDEGATE_ROLES !== undefined)
const folder = mkdtempSync(join(tmpdir(), 'tidegate-cluster-'))
const secrets = join(folder, 'deploy/compose/secrets')
const running: (ChildProcess | RunningCommand)[] = []
const started = new Map<string, RunningService & { readonly command: RunningCommand }>()
let natsPort: number

/** The commands of a section of the page that begin with one of these words. */
function commandsOf(section: string, words: RegExp): string[] {
  const [, text = ''] = new RegExp(`^## ${section}$(.+?)^## `, 'ms').exec(readText('docs/how-to/containers.md')) ?? []
  return text.split('\n').flatMap((line) => (words.test(line) ? [line.trim()] : []))
}

/** The environment of a service, with files and addresses of this machine. */
function environmentOf(name: string): Record<string, string> {
  const entries = Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [
    key,
    value.replace('/run/secrets', secrets).replace('/etc/tidegate', join(ROOT, 'deploy/compose/config')),
  ])
  return {
    ...Object.fromEntries(entries),
    TIDEGATE_DATA_DIR: join(folder, name),
    TIDEGATE_HTTP_PORT: '0',
    TIDEGATE_OPERATOR_PORT: '0',
    TIDEGATE_HTTP_DRAIN_DELAY_SECONDS: '0',
    TIDEGATE_STREAM_DRAIN_SECONDS: '0',
    TIDEGATE_MARKETS: JSON.stringify([market('BTC', 2, 50)]),
    TIDEGATE_SIMULATOR_ALLOWED: 'true',
  }
}

async function startService(name: string): Promise<void> {
  mkdirSync(join(folder, name), { mode: 0o700 })
  const command = startCommand(['serve'], { isBuilt: true, environment: environmentOf(name) })
  running.push(command)
  const { http, ws, operator } = JSON.parse(await command.line((line) => line.startsWith('{"ready":true')))
  const path = join(folder, name)
  started.set(name, { http, ws, operator: new OperatorApi(operator, path), folder: path, command })
}

/** Of a client that may read books over REST. */
async function newBooksToken(): Promise<string> {
  const { http: authUrl, operator } = service('api-1')
  const { customerId } = await operator.createClient()
  const scope = 'exchange:read_marketdata'
  const { client_id: clientId, client_secret: clientSecret } = await operator.call<{
    client_id: string
    client_secret: string
  }>('POST', `/customers/${customerId}/clients`, { name: 'books', scopes: [scope] })
  return fetchToken({ authUrl, clientId, clientSecret, scope })
}

const service = (name: string) => started.get(name) as RunningService & { readonly command: RunningCommand }

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('the cluster of deploy/compose on PostgreSQL', NATS_SERVER, 'nats-server'),
  () => {
    beforeAll(async () => {
      ensureBuilt()
      mkdirSync(secrets, { recursive: true })
      const lines = [
        ...commandsOf('Two nodes on PostgreSQL', /^ {4}openssl .*encryption-key$/),
        ...commandsOf('Two processes of each role', /^ {4}(umask |nats=|echo |chmod )/),
      ]
      expect(lines).toHaveLength(6)
      execFileSync('/bin/sh', ['-ec', lines.join('\n')], { cwd: folder })
      natsPort = await claimPort()
      const place = { 'bus-url': ['nats:4222', `127.0.0.1:${natsPort}`] } as const
      for (const [name, [from, to]] of Object.entries(place)) {
        const text = readFileSync(join(secrets, name), 'utf8')
        expect(text).toContain(from)
        rmSync(join(secrets, name))
        writeFileSync(join(secrets, name), text.replace(from, to), { mode: 0o400 })
      }
      writeFileSync(join(secrets, 'store-url'), await sharedDatabase(), { mode: 0o400 })
      copyFileSync(join(ROOT, 'deploy/compose/nats.conf'), join(folder, 'nats.conf'))
      copyFileSync(join(secrets, 'nats-authorization'), join(folder, 'authorization.conf'))
      const nats = spawn(NATS_SERVER.file, ['-c', 'nats.conf', '-a', '127.0.0.1', '-p', String(natsPort)], {
        cwd: folder,
        stdio: 'ignore',
      })
      running.push(nats)
      const migration = startCommand([...(services.migrate?.command ?? [])], {
        isBuilt: true,
        environment: environmentOf('migrate'),
      })
      const { code, stderr } = await migration.result
      expect(code, stderr).toBe(0)
      await Promise.all(processes.map(([name]) => startService(name)))
    })

    afterAll(async () => {
      for (const one of running) {
        const child = 'child' in one ? one.child : one
        child.kill('SIGKILL')
      }
      await Promise.all([...started.values()].map(({ command }) => command.result))
      rmSync(folder, { recursive: true, force: true })
    })

    it('the cluster has eight processes that pass their health checks', () => {
      expect(processes).toHaveLength(8)
      for (const [name, { healthcheck }] of processes) {
        const [, file, ...words] = healthcheck?.test ?? []
        const here = words.map((word) => word.replace('127.0.0.1:8081', new URL(service(name).operator.url).host))
        expect(spawnSync(file as string, here).status, name).toBe(0)
      }
    })

    it('the cluster streams books from both gateways while the leading feed is stopped', async () => {
      const token = await newToken(service('api-1'))
      const readers = await Promise.all(
        ['gateway-1', 'gateway-2'].map((name) => SampleClient.connect({ wsUrl: service(name).ws, token })),
      )
      const more = async () => {
        const counts = readers.map(({ counts: { updates } }) => updates)
        await Promise.all(
          readers.map((reader, index) =>
            reader.until('updates', () => reader.counts.updates > (counts[index] as number) + 10),
          ),
        )
      }
      for (const reader of readers) await reader.subscribe({ type: 'market_data', params: { market: 'BTCUSD' } })
      await more()
      // Whichever of the two it is, the books continue.
      for (const name of ['feed-1', 'feed-2']) {
        const { command } = service(name)
        command.child.kill('SIGTERM')
        expect((await command.result).code).toBe(0)
        if (name === 'feed-1') rmSync(join(folder, name), { recursive: true })
        if (name === 'feed-1') await startService(name)
        await more()
      }
      expect(readers.flatMap(({ problems }) => problems)).toEqual([])
      expect(readers.map(({ closed }) => closed)).toEqual([undefined, undefined])
      for (const reader of readers) reader.terminate()
    })

    it.skipIf(!hasNginx)('the cluster is served under one address by its proxy (needs nginx)', async () => {
      const port = await claimPort()
      const hostOf = (_text: string, name: string) => new URL(service(name).http).host
      const file = readText('deploy/compose/nginx-cluster.conf')
        // Before its version 1.27.3, the parameter is not part of nginx. Addresses need none.
        .replace(/((?:gateway|api)-\d):8080 resolve/g, hostOf)
        .replace('listen 80;', `listen 127.0.0.1:${port};`)
      writeFileSync(join(folder, 'nginx.conf'), `pid nginx.pid; events {} http { access_log off;\n${file}\n}\n`)
      // Its workers run as another user.
      chmodSync(folder, 0o755)
      const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'nginx.log')]
      const checked = spawnSync('nginx', ['-t', ...args], { encoding: 'utf8' })
      expect(checked.status, checked.stderr).toBe(0)
      running.push(spawn('nginx', [...args, '-g', 'daemon off;'], { stdio: 'ignore' }))
      const http = `http://127.0.0.1:${port}`
      await expect.poll(async () => (await fetch(`${http}/v2/markets`).catch(() => undefined))?.status).toBe(401)
      const token = await newToken({ ...service('api-1'), http })
      const reader = await SampleClient.connect({ wsUrl: http.replace('http', 'ws'), token })
      await reader.subscribe({ type: 'market_data', params: { market: 'BTCUSD' } })
      await reader.until('a book', () => reader.counts.snapshots > 0)
      reader.terminate()
      const markets = await fetch(`${http}/v2/markets`, { headers: { authorization: `Bearer ${token}` } })
      expect(markets.status).toBe(200)
      // The processes of the API have no book. A gateway has one when it knows the client and follows the market.
      const headers = { authorization: `Bearer ${await newBooksToken()}` }
      const book = async () => (await fetch(`${http}/v2/markets/BTCUSD/order-book`, { headers })).status
      await expect.poll(book).toBe(200)
    })
  },
)

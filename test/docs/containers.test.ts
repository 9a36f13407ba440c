/**
 * The Dockerfile and the Compose files, executed outside a container as far as that is possible: the commands of the last
 * stage, its entry point as its user on a read-only file system, its health check, and the configuration of every service.
 * The long run also executes the stages that install packages and build (`image.long.ts`).
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningCommand, startProgram } from '../support/command-line.ts'
import { ensureBuilt } from '../support/running-service.ts'
import { SIMULATED_FLAGS } from '../support/simulated-markets.ts'
import { configOfContainer, ROOT, readStages, readText, readYaml } from './deployment-files.ts'
import { confined, type ExecutedStage, executeStage, lastOf } from './image-stages.ts'

interface ComposeService {
  readonly image: string
  readonly build?: string
  readonly hostname?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly secrets?: readonly (string | { readonly source: string })[]
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly healthcheck?: { readonly test?: readonly string[]; readonly retries?: number }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly stop_grace_period?: string
  readonly ulimits?: { readonly nofile: number }
  readonly sysctls?: Readonly<Record<string, string | number>>
  readonly read_only?: boolean
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, null>>
  readonly secrets?: Readonly<Record<string, { readonly file: string }>>
}

const COMPOSE_FILES = ['compose.yaml', 'deploy/compose/postgresql.yaml', 'deploy/compose/cluster.yaml']

const stages = readStages('Dockerfile')
const image = stages.at(-1) ?? []
const command = (name: string): string[] => JSON.parse(lastOf(image, name))
const healthCommand = (words: readonly string[]): string[] => words.slice(1)

const folder = mkdtempSync(join(tmpdir(), 'tidegate-image-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the Dockerfile', () => {
  it('the Dockerfile builds on tags of an LTS line of Node that the package supports, and on nothing else', () => {
    const bases = stages.map(([from]) => from?.words.split(' ')[0])
    expect(new Set(bases)).toEqual(new Set(['node:24-bookworm-slim']))
  })

  it('the Dockerfile copies only files that the ignore file lets into the build context, and all of them', () => {
    const lines = readText('.dockerignore')
      .split('\n')
      .filter((line) => /^[^#]/.test(line))
    expect(lines[0]).toBe('*')
    const allowed = lines.slice(1).map((line) => line.replace(/^!/, ''))
    const copied = stages.flat().flatMap(({ name, words }) => {
      return name === 'COPY' && !words.startsWith('--from') ? words.split(' ').slice(0, -1) : []
    })
    expect([...new Set(copied)].sort()).toEqual(allowed.sort())
  })

  it('the Dockerfile ends with a user that is not root, a volume for the data folder, and the signal of the drain', () => {
    expect(lastOf(image, 'USER')).toBe('1000:1000')
    expect(image).toContainEqual({ name: 'ENV', words: `TIDEGATE_DATA_DIR=${lastOf(image, 'VOLUME')}` })
    expect(lastOf(image, 'STOPSIGNAL')).toBe('SIGTERM')
    const { config } = validConfig({})
    expect(lastOf(image, 'EXPOSE')).toBe(String(config['http.port']))
    // The service's user can change no file of the program: nothing is given to it but the data folder.
    expect(image.filter(({ words }) => /chown|-o 1000/.test(words))).toHaveLength(1)
  })

  describe('executed', () => {
    let built: ExecutedStage
    let running: RunningCommand
    let environment: Record<string, string>
    let umask: number | undefined

    beforeAll(async () => {
      ensureBuilt()
      // A service that ran in this process has left its own, with which the image's user could read nothing.
      umask = process.umask(0o022)
      chmodSync(folder, 0o755)
      // What the stages before it make is here already: the bundle, and the packages.
      const made = { folder: join(folder, 'made'), workdir: '/', environment: {}, instructions: [] }
      const copies = image.filter(({ name, words }) => !(name === 'COPY' && words.startsWith('--from=')))
      const executed = process.getuid?.() === 0 ? copies : copies.filter(({ name }) => name !== 'RUN')
      built = executeStage(executed, { context: ROOT, folder: join(folder, 'image'), stages: { build: made } })
      running = startImage(built, { TIDEGATE_OPERATOR_PORT: '0' })
      const { operator } = JSON.parse(await running.line((line) => line.startsWith('{"ready"')))
      environment = { ...built.environment, TIDEGATE_OPERATOR_PORT: new URL(operator).port }
    })

    afterAll(async () => {
      if (umask !== undefined) process.umask(umask)
      running?.child.kill('SIGTERM')
      await running?.result
    })

    const health = (words: readonly string[], changed: Readonly<Record<string, string>> = {}) =>
      spawnSync(words[0] as string, words.slice(1), { env: { PATH: process.env.PATH, ...environment, ...changed } })
        .status

    it('the image starts as its user without writing outside its volume, and listens on all addresses', async () => {
      const { http } = JSON.parse(running.stdout().split('\n')[0] as string)
      expect(new URL(http).hostname).toBe('0.0.0.0')
    })

    it('the image is healthy while it runs, and not without a response', () => {
      const words = healthWords()
      expect(health(words)).toBe(0)
      expect(health(words, { TIDEGATE_OPERATOR_PORT: '9' })).toBe(1)
    })

    it('the image passes the checks of the Compose files too', () => {
      const services = COMPOSE_FILES.flatMap((path) => Object.values(readYaml<Compose>(path).services))
      // Each different one once: it starts two processes.
      const commands = new Set(
        services.flatMap(({ build, healthcheck }) =>
          build === undefined || healthcheck?.test === undefined ? [] : [JSON.stringify(healthcheck.test)],
        ),
      )
      expect(commands.size).toBeGreaterThan(0)
      // One probe that a busy machine answers late is no reason to send traffic elsewhere.
      const retries = services.flatMap(({ healthcheck }) =>
        healthcheck?.test?.join().includes('/readyz') ? [healthcheck.retries] : [],
      )
      expect(new Set(retries)).toEqual(new Set([3]))
      for (const command of commands) {
        const words = healthCommand(JSON.parse(command))
        expect(words.join(' ')).toContain('127.0.0.1:8081/readyz')
        const here = words.map((word) => word.replace(':8081', `:${environment.TIDEGATE_OPERATOR_PORT}`))
        expect(health(here)).toBe(0)
        expect(health(words.map((word) => word.replace(':8081', ':9')))).toBe(1)
      }
    })

    it('the image ends with 0 on the signal that a container is stopped with', async () => {
      running.child.kill(lastOf(image, 'STOPSIGNAL') as NodeJS.Signals)
      expect((await running.result).code).toBe(0)
    })
  })
})

function healthWords(): string[] {
  return JSON.parse(lastOf(image, 'HEALTHCHECK').split(' CMD ')[1] as string)
}

/** ENTRYPOINT and CMD as the user of the image, with its environment, simulated markets and free ports. */
function startImage(built: ExecutedStage, changed: Readonly<Record<string, string>>): RunningCommand {
  const words = [...command('ENTRYPOINT'), ...command('CMD')].map((word) =>
    word.replace('/opt/', `${built.folder}/opt/`),
  )
  const settings: Record<string, string> = { TIDEGATE_HTTP_PORT: '0', TIDEGATE_STREAM_DRAIN_SECONDS: '0' }
  for (const [key, value] of Object.entries(SIMULATED_FLAGS))
    settings[`TIDEGATE_${key.toUpperCase().replaceAll('.', '_')}`] = value
  const data = built.environment.TIDEGATE_DATA_DIR as string
  const bound = ['dist', 'node_modules'].map(
    (name) => [join(ROOT, name), join(built.folder, built.workdir, name)] as const,
  )
  const [file, ...args] = confined(words, lastOf(image, 'USER'), { writable: [data], bound }) as [string, ...string[]]
  return startProgram(file, args, {
    cwd: join(built.folder, built.workdir),
    env: { PATH: process.env.PATH, ...built.environment, ...settings, ...changed },
  })
}

function validConfig(environment: Readonly<Record<string, string>>) {
  const result = configOfContainer({ ...imageEnvironment(), ...environment }, environment.TIDEGATE_CONFIG, {
    '/etc/tidegate/tidegate.yaml': 'deploy/compose/config/tidegate.yaml',
  })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result
}

function imageEnvironment(): Record<string, string> {
  const lines = image.filter(({ name, words }) => name === 'ENV' && words.startsWith('TIDEGATE_'))
  return Object.fromEntries(lines.map(({ words }) => words.split('=') as [string, string]))
}

describe.each(COMPOSE_FILES)('%s', (path) => {
  const compose = readYaml<Compose>(path)
  const nodes = Object.entries(compose.services).filter(([, { build }]) => build !== undefined)
  const services = nodes.filter(([, { command: words }]) => words === undefined)

  it('the Compose file has valid configurations, without a variable that is not a setting', () => {
    expect(nodes.length).toBeGreaterThan(0)
    for (const [, { environment = {}, volumes = [] }] of nodes) {
      expect(validConfig(environment).warnings).toEqual([])
      // The folder of the file, because an editor replaces a file, of which a container then has the old content.
      const [config = ''] = volumes.filter((volume) => volume.endsWith(':/etc/tidegate:ro'))
      expect(join(path, '..', config.split(':')[0] as string)).toBe('deploy/compose/config')
      expect(environment.TIDEGATE_CONFIG).toBe('/etc/tidegate/tidegate.yaml')
    }
  })

  it('the Compose file gives every node a volume for its data, a stable host name, and the time and the files that it needs', () => {
    for (const [name, service] of services) {
      const { config } = validConfig(service.environment ?? {})
      const mounts = (service.volumes ?? []).map((volume) => volume.split(':'))
      const [volume = ''] = mounts.find(([, target]) => target === config.data_dir) ?? []
      expect(Object.keys(compose.volumes)).toContain(volume)
      expect(service.hostname).toBe(name)
      expect(service.read_only).toBe(true)
      const drainSeconds = config['http.drain_delay_seconds'] + config['stream.drain_seconds'] + 15
      expect(Number.parseInt(service.stop_grace_period ?? '', 10)).toBeGreaterThanOrEqual(drainSeconds)
      expect(service.ulimits?.nofile).toBeGreaterThanOrEqual(config['stream.connections_max'] + 8_192 + 512)
    }
  })

  it('the Compose file names volumes, secrets and services that it has, and publishes ports on loopback only', () => {
    const used = { volumes: new Set<string>(), secrets: new Set<string>() }
    for (const { volumes = [], secrets = [], ports = [], depends_on = {} } of Object.values(compose.services)) {
      for (const volume of volumes) if (!volume.startsWith('.')) used.volumes.add(volume.split(':')[0] as string)
      for (const secret of secrets) used.secrets.add(typeof secret === 'string' ? secret : secret.source)
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
      for (const name of Object.keys(depends_on)) expect(Object.keys(compose.services)).toContain(name)
    }
    expect([...used.volumes].sort()).toEqual(Object.keys(compose.volumes).sort())
    expect([...used.secrets].sort()).toEqual(Object.keys(compose.secrets ?? {}).sort())
  })

  it('the Compose file waits for a PostgreSQL that accepts connections, also while its first start creates the database', () => {
    const { healthcheck } = compose.services.postgres ?? {}
    if (path === 'compose.yaml') expect(compose.services.postgres).toBeUndefined()
    // The image's temporary server, at the socket, ends before the one that `migrate` can reach begins.
    else expect(healthcheck?.test?.join(' ')).toContain('pg_isready --host 127.0.0.1 ')
  })

  it('the Compose file sets the kernel as deploy/sysctl.conf does, as far as a container can', () => {
    const host = new Map(
      [...readText('deploy/sysctl.conf').matchAll(/^([\w.]+) = (.+)$/gm)].map(([, key, value]) => [key, value]),
    )
    for (const [, { sysctls = {} }] of services)
      for (const [key, value] of Object.entries(sysctls)) expect(host.get(key), key).toBe(String(value))
  })
})

/** The servers of each upstream of a file for nginx, as `host:port`. */
function upstreamsOf(path: string): Record<string, string[]> {
  const upstreams = [...readText(path).matchAll(/^upstream (\w+) {\n(.+?)^}/gms)]
  return Object.fromEntries(
    upstreams.map(([, name, text = '']) => [
      name as string,
      [...text.matchAll(/^ *server ([\w-]+):(\d+) /gm)].map(([, host, port]) => `${host}:${port}`),
    ]),
  )
}

it.each(['containers', 'kubernetes'])(
  'the secrets of %s.md are never readable by others, and never overwritten',
  (name) => {
    const blocks = [...readText(`docs/how-to/${name}.md`).matchAll(/(?:^ {4}.+\n)+/gm)].map(([block]) => block)
    const secret = blocks.filter((block) => block.includes('openssl rand'))
    expect(secret.length).toBeGreaterThan(0)
    for (const block of secret) expect(block).toMatch(/^ {4}umask 077; set -C\n/)
  },
)

it('the Compose files give their proxy as many sockets as descriptors allow, two for each stream', () => {
  for (const path of COMPOSE_FILES.slice(1)) {
    const { volumes, ulimits } = readYaml<Compose>(path).services.proxy ?? {}
    // The image's own file allows 1,024.
    expect(volumes).toContain('./nginx-main.conf:/etc/nginx/nginx.conf:ro')
    const [, sockets] = /^ *worker_connections (\d+);$/m.exec(readText('deploy/compose/nginx-main.conf')) ?? []
    expect(Number(sockets)).toBeGreaterThanOrEqual(32_768)
    expect(ulimits?.nofile).toBeGreaterThan(Number(sockets))
  }
})

it('the Compose files with a proxy close a listener at once, because nginx notices nothing before that', () => {
  for (const path of COMPOSE_FILES.slice(1))
    for (const [name, { build, environment = {} }] of Object.entries(readYaml<Compose>(path).services))
      if (build !== undefined) expect(validConfig(environment).config['http.drain_delay_seconds'], name).toBe(0)
})

it('the proxies of the Compose files ask for the address of each container again, which changes when it is started again', () => {
  for (const name of ['nginx.conf', 'nginx-cluster.conf']) {
    const text = readText(`deploy/compose/${name}`)
    expect(text).toMatch(/^resolver 127\.0\.0\.11 valid=1s/m)
    const upstreams = [...text.matchAll(/^upstream (\w+) {\n(.+?)^}/gms)]
    // The addresses are in the memory that the workers share.
    for (const [, upstream, lines] of upstreams) expect(lines).toContain(`zone ${upstream} `)
    const servers = text.match(/^ *server [\w-]+:\d+ .+$/gm) ?? []
    expect(servers.filter((line) => !line.includes(' resolve '))).toEqual([])
  }
  // The first line of versions with this parameter.
  for (const path of COMPOSE_FILES.slice(1))
    expect(readYaml<Compose>(path).services.proxy?.image).toMatch(/^nginx:1\.(2[89]|[3-9]\d)-/)
})

it('the proxy of the two-node setup forwards to both nodes', () => {
  const { services } = readYaml<Compose>('deploy/compose/postgresql.yaml')
  const { config } = validConfig({})
  expect(upstreamsOf('deploy/compose/nginx.conf')).toEqual({
    tidegate: ['node-1', 'node-2'].map((name) => `${name}:${config['http.port']}`),
  })
  expect(Object.keys(services.proxy?.depends_on ?? {})).toEqual(['node-1', 'node-2'])
})

it('the cluster has two processes of each role, and its proxy sends the stream and market data to gateways, all else to the API', () => {
  const { services } = readYaml<Compose>('deploy/compose/cluster.yaml')
  const roles = Object.entries(services).flatMap(([name, { environment }]) => {
    const role = environment?.TIDEGATE_ROLES
    return role === undefined ? [] : [[name, role] as const]
  })
  expect(roles).toEqual(
    ['feed', 'gateway', 'api', 'worker'].flatMap((role) => [1, 2].map((n) => [`${role}-${n}`, role])),
  )
  const { config } = validConfig({})
  const served = ['gateway', 'api'].map((role) => [1, 2].map((number) => `${role}-${number}:${config['http.port']}`))
  expect(Object.values(upstreamsOf('deploy/compose/nginx-cluster.conf'))).toEqual(served)
  const names = served.flat().map((server) => server.split(':')[0])
  expect(Object.keys(services.proxy?.depends_on ?? {})).toEqual(names)
  const places = [
    ...readText('deploy/compose/nginx-cluster.conf').matchAll(/location (.+) {[^}]+?proxy_pass http:\/\/(\w+);/g),
  ]
  // The gateways alone have books, trades, tickers and candles. The list of markets, `/v2/markets`, is the API's.
  expect(places.map(([, path, upstream]) => [path, upstream])).toEqual([
    ['= /', 'gateways'],
    ['~ ^/v2/markets/', 'gateways'],
    ['/', 'apis'],
  ])
})

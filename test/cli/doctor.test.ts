/**
 * What doctor reports about an installation: with the service running in a process of its own, stopped, on another
 * store, and with one fault after the other.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { generate } from 'selfsigned'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { registerDoctor } from '../../src/cli/doctor.ts'
import { addFeedFlags } from '../../src/cli/options/config-flags.ts'
import { nodeProblem } from '../../src/service/doctor/node-version.ts'
import { examineSigningKeys } from '../../src/service/doctor/store.ts'
import { type RunningCommand, runCommand, startCommand } from '../support/command-line.ts'
import { listedPair, startListingVenue } from '../support/listing-venue.ts'
import { hasPostgres, migratedDatabase, sharedDatabase } from '../support/postgres.ts'
import { market, startServiceInside } from '../support/running-service.ts'
import { SIMULATED_ARGS } from '../support/simulated-markets.ts'

const HOUR_MILLISECONDS = 3_600_000
const DAY_MILLISECONDS = 86_400_000
const ANY_PORTS = ['--http.port', '0', '--operator.port', '0']
/** With these, nothing about money is left to warn of. */
const REVIEWED = [
  ...['--review_above.deposits', '{USDC: 1000}', '--review_above.payments', '{USDC: 1000}'],
  ...['--conversion.par_assets', '[]'],
]

interface Finding {
  readonly verdict: string
  readonly name: string
  readonly detail: string
  readonly next?: string
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-doctor-'))
  // The variables of the test run are not part of the configuration.
  for (const name of Object.keys(process.env)) if (name.startsWith('TIDEGATE_')) vi.stubEnv(name, undefined)
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/** Runs the verb in this process. `error` is what the command line prints on stderr. */
async function doctor(...words: string[]) {
  let output = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += text
    return true
  })
  const program = new Command('tidegate').exitOverride().configureOutput({ writeErr: () => undefined })
  registerDoctor(program)
  for (const command of program.commands) addFeedFlags(command, words)
  const error = await program.parseAsync(['node', 'tidegate', 'doctor', '--json', ...words]).then(
    () => '',
    (thrown: Error) => thrown.message,
  )
  vi.restoreAllMocks()
  const { ok, findings } = JSON.parse(output) as { ok: boolean; findings: Finding[] }
  const named = (name: string) => findings.filter((finding) => finding.name === name)
  return { ok, error, findings, named, verdicts: findings.map(({ verdict, name }) => `${verdict} ${name}`) }
}

/** Of the Node.js that runs the tests. */
const NODE_VERDICT = nodeProblem() === undefined ? 'ok' : 'warn'

describe('a running service', () => {
  let home: string
  let service: RunningCommand
  let ports: string[]
  let recordings: string
  let ready: { readonly http: string; readonly operator: string; readonly ingest: string; readonly pid: number }
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'tidegate-doctor-service-'))
    recordings = join(home, 'recordings')
    service = startCommand([
      'serve',
      ...ANY_PORTS,
      ...['--ingest.port', '0', '--recording.dir', recordings],
      ...SIMULATED_ARGS,
      '--data_dir',
      home,
      '--stream.drain_seconds',
      '0',
    ])
    ready = JSON.parse(await service.line((line) => line.startsWith('{"ready"')))
    ports = ['--http.port', new URL(ready.http).port, '--operator.port', new URL(ready.operator).port]
    ports.push('--ingest.port', new URL(ready.ingest).port, '--recording.dir', recordings)
  })
  afterAll(async () => {
    service.child.kill('SIGTERM')
    await service.result
    rmSync(home, { recursive: true })
  })

  it('a running service passes every check: one aligned line each, exit code 0', async () => {
    const { code, stdout, stderr } = await runCommand(['doctor', '--data_dir', home, ...ports, ...REVIEWED])
    expect([code, stderr]).toEqual([0, ''])
    const lines = stdout.trimEnd().split('\n')
    const width = NODE_VERDICT.length + 2
    const well = (rest: string) => `${'ok'.padEnd(width)}${rest}`
    expect(lines.map((line) => line.slice(0, width + 16).trimEnd())).toEqual([
      ...[
        ...['configuration', 'data folder', 'operator token', 'encryption key', 'recordings', 'addresses', 'review'],
        'service',
        ...['store', 'signing key', 'readiness', 'market BTCUSD', 'market ETHUSD', 'market SOLUSD', 'ledger'],
        ...['operator port', 'public port', 'ingest port', 'bus'],
      ].map(well),
      `${NODE_VERDICT}  node`,
      well('clock'),
    ])
    expect(lines[7]).toBe(well(`service         process ${ready.pid} has ${home} open`))
    expect(lines[11]?.slice(width)).toMatch(/^market BTCUSD +live; simulated: its prices are invented$/)
    expect(lines[16]).toBe(well(`public port     ${ready.http}, answered by the service`))
    expect(lines[17]).toBe(well(`ingest port     ${ready.ingest}, answered by the service`))
  })

  it('a running service with other addresses than its configuration is reported; --operator-url finds it', async () => {
    const lost = await doctor('--data_dir', home, ...ANY_PORTS)
    expect(lost.error).toBe('checks failed: service')
    expect(lost.named('service')[0]?.detail).toContain(`process ${ready.pid} has ${home} open and does not answer`)
    const found = await doctor('--data_dir', home, ...ANY_PORTS, '--operator-url', ready.operator)
    expect(found.error).toBe('')
    expect(found.named('readiness')[0]?.detail).toBe('ready, 3 markets live')
  })

  it('a running service is distinguished from another program on its public port', async () => {
    const other = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    const { port } = await listening(other)
    const { error, named } = await doctor('--data_dir', home, ...ports, '--http.port', String(port))
    other.close()
    expect(error).toBe('checks failed: public port')
    expect(named('public port')[0]?.detail).toContain('answered by another program')
    // The public listener of the service is not its ingest listener.
    const swapped = await doctor(
      ...['--data_dir', home, ...ports, '--http.port', String(port)],
      ...['--ingest.port', new URL(ready.http).port],
    )
    expect(swapped.named('ingest port')[0]).toMatchObject({
      verdict: 'bad',
      detail: `${ready.http} is answered by another program`,
      next: 'stop that program, or change ingest.port',
    })
    const gone = await doctor('--data_dir', home, ...ports, '--http.port', String(port))
    expect(gone.named('public port')[0]?.detail).toContain('does not answer (ECONNREFUSED)')
  })

  it('a running service that refuses the operator token cannot be examined', async () => {
    vi.stubEnv('TIDEGATE_OPERATOR_TOKEN', 'another-token-than-its')
    const { named } = await doctor('--data_dir', home, ...ports)
    expect(named('service')[0]?.detail).toContain('invalid_token (401)')
    expect(named('service')[0]?.detail).not.toContain('another-token')
  })
})

describe('a running service with TLS', () => {
  it('a running service with TLS that still presents the previous certificate causes the advice to send SIGHUP', async () => {
    const paths = [join(folder, 'cert.pem'), join(folder, 'key.pem')] as const
    const renew = async () => {
      const { cert, privateKey } = await certificate(90)
      writeFileSync(paths[0], cert)
      writeFileSync(paths[1], privateKey, { mode: 0o600 })
    }
    await renew()
    const tls = {
      ...{ 'http.tls.cert_file': paths[0], 'http.tls.key_file': paths[1] },
      ...{ 'ingest.tls.cert_file': paths[0], 'ingest.tls.key_file': paths[1], 'ingest.tls.client_ca_file': paths[0] },
    }
    const serviceFlags = { ...tls, 'ingest.port': 0, 'stream.drain_seconds': 0 }
    const service = await startServiceInside(folder, [market('AAA', 2, 10)], serviceFlags)
    const flags = [
      ...['--data_dir', folder, '--http.port', new URL(service.http).port],
      ...['--ingest.port', new URL(service.ingest).port],
      ...['--operator.port', new URL(service.operator.url).port],
      ...Object.entries(tls).flatMap(([key, value]) => [`--${key}`, value]),
    ]
    const portsOf = async () => {
      const { named } = await doctor(...flags)
      return [...named('public port'), ...named('ingest port')]
    }
    expect(await portsOf()).toEqual([
      { verdict: 'ok', name: 'public port', detail: `${service.http}, answered by the service` },
      {
        verdict: 'ok',
        name: 'ingest port',
        detail: `${service.ingest}, has the service’s certificate and requires one from clients`,
      },
    ])
    await renew()
    expect(await portsOf()).toMatchObject(
      [service.http, service.ingest].map((url) => ({
        verdict: 'warn',
        detail: `${url} uses a different certificate than ${paths[0]}`,
        next: 'send SIGHUP to the service',
      })),
    )
    await service.stop()
  })
})

describe('a stopped service', () => {
  it('a stopped service that has never run passes, and the check creates nothing', async () => {
    const data = join(folder, 'data')
    const { ok, verdicts } = await doctor('--data_dir', data, ...ANY_PORTS, ...REVIEWED)
    expect(ok).toBe(true)
    expect(verdicts).toEqual([
      'ok configuration',
      'ok data folder',
      'ok operator token',
      'ok encryption key',
      'ok addresses',
      'ok review',
      'ok service',
      'ok store',
      'ok public port',
      'ok operator port',
      'ok bus',
      `${NODE_VERDICT} node`,
      'ok clock',
    ])
    expect(existsSync(data)).toBe(false)
  })

  it('a stopped service with an empty store folder gets no file in it', async () => {
    mkdirSync(join(folder, 'store'))
    expect((await doctor('--data_dir', folder, ...ANY_PORTS)).named('store')[0]?.detail).toContain('does not exist yet')
    expect(readdirSync(join(folder, 'store'))).toEqual([])
  })

  it('a stopped service has its embedded store opened and left unchanged, and the folder released', async () => {
    await runCommand(['migrate', '--data_dir', folder])
    const before = readdirSync(folder)
    const { ok, named, findings } = await doctor('--data_dir', folder, ...ANY_PORTS)
    expect(ok, JSON.stringify(findings)).toBe(true)
    expect(named('store')[0]?.detail).toBe(`embedded, ${join(folder, 'store')}, schema current`)
    expect(named('clock')).toEqual([{ verdict: 'ok', name: 'clock', detail: "within 1 s of the store's" }])
    expect(named('signing key')[0]?.detail).toBe('none yet: the first start makes it')
    expect(named('ledger')).toEqual([
      { verdict: 'ok', name: 'ledger', detail: '0 balances compared, each equal to the sum of its postings' },
    ])
    expect(readdirSync(folder)).toEqual(before)
  })

  it.skipIf(!hasPostgres)(
    'a stopped service has its PostgreSQL store examined without applying migrations (needs PostgreSQL)',
    async () => {
      vi.stubEnv('TIDEGATE_STORE_URL', await sharedDatabase())
      const fresh = await doctor('--data_dir', folder, ...ANY_PORTS)
      expect(fresh.error).toBe('checks failed: store')
      expect(fresh.named('store')[0]).toMatchObject({
        detail: expect.stringMatching(/^PostgreSQL.* migrations missing: 202611201230-audit, /),
        next: expect.stringMatching(/^tidegate migrate/),
      })
      expect((await doctor('--data_dir', folder, ...ANY_PORTS)).error).toBe('checks failed: store')
    },
  )

  it('a stopped service whose PostgreSQL is unreachable fails within seconds, without showing the password', async () => {
    // Port 1: no server listens there.
    vi.stubEnv('TIDEGATE_STORE_URL', 'postgres://tide:geheim@127.0.0.1:1/tide')
    const { error, named, findings } = await doctor('--data_dir', folder, ...ANY_PORTS)
    expect(error).toBe('checks failed: store')
    expect(named('store')[0]?.detail).toContain('PostgreSQL, 127.0.0.1:1/tide cannot be used')
    expect(JSON.stringify(findings)).not.toContain('geheim')
  })

  it('a stopped service whose port is held by another program fails, with the key to change', async () => {
    const other = createServer()
    const { port } = await listening(other)
    const another = createServer()
    const { port: ingestPort } = await listening(another)
    const held = ['--http.port', String(port), '--operator.port', '0', '--ingest.port', String(ingestPort)]
    const { error, named } = await doctor('--data_dir', folder, ...held)
    other.close()
    another.close()
    expect(error).toBe('checks failed: public port, ingest port')
    expect(named('ingest port')[0]?.next).toBe('stop that program, or change ingest.host, ingest.port')
    expect(named('public port')[0]).toMatchObject({
      detail: `127.0.0.1:${port} is held by another program`,
      next: 'stop that program, or change http.host, http.port',
    })
  })

  it('a stopped service whose host does not belong to this machine fails', async () => {
    const { named } = await doctor('--data_dir', folder, ...ANY_PORTS, '--operator.host', '192.0.2.1')
    expect(named('operator port')[0]?.detail).toContain('(EADDRNOTAVAIL)')
  })
})

describe('the check of files', () => {
  const token = () => join(folder, 'operator-token')

  it.each<[string, string, number, string, string]>([
    ['fine', 'x'.repeat(43), 0o600, 'ok', 'mode 600'],
    ['open to others', 'x'.repeat(43), 0o644, 'bad', 'open to others (mode 644)'],
    ['damaged', 'x y', 0o600, 'bad', 'is damaged'],
    ['empty', '', 0o600, 'bad', 'is damaged'],
  ])('the check of files reports an operator token that is %s', async (_what, text, mode, verdict, detail) => {
    writeFileSync(token(), text)
    chmodSync(token(), mode)
    const [finding] = (await doctor('--data_dir', folder, ...ANY_PORTS)).named('operator token')
    expect(finding?.verdict).toBe(verdict)
    expect(finding?.detail).toContain(detail)
    expect(statSync(token()).mode & 0o777).toBe(mode)
  })

  it.each<[string, string, number, string, string]>([
    ['fine', 'ab'.repeat(32), 0o600, 'ok', 'mode 600'],
    ['open to others', 'ab'.repeat(32), 0o640, 'bad', 'open to others (mode 640)'],
    ['damaged', 'ab', 0o600, 'bad', 'is damaged'],
  ])('the check of files reports an encryption key that is %s', async (_what, text, mode, verdict, detail) => {
    const path = join(folder, 'encryption-key')
    writeFileSync(path, text)
    chmodSync(path, mode)
    const [finding] = (await doctor('--data_dir', folder, ...ANY_PORTS)).named('encryption key')
    expect(finding?.verdict).toBe(verdict)
    expect(finding?.detail).toContain(detail)
  })

  const ISSUER = ['--operator.oidc.issuer', 'https://issuer.test', '--operator.oidc.client_id', 'tidegate']
  const ISSUER_FLAGS = [...ISSUER, '--operator.public_url', 'https://ops.test', '--http.trusted_proxies', '127.0.0.1']

  it.each<[string, string, number, string, string]>([
    ['fine', 'the secret\n', 0o600, 'ok', 'mode 600'],
    ['open to others', 'the secret', 0o644, 'warn', 'other users can read the client secret (mode 644)'],
    ['empty', '', 0o600, 'bad', 'does not contain one line of printable text'],
    ['several lines', 'the\nsecret', 0o600, 'bad', 'does not contain one line of printable text'],
  ])('the check of files reports an issuer secret that is %s', async (_what, text, mode, verdict, detail) => {
    const path = join(folder, 'issuer-secret')
    writeFileSync(path, text)
    chmodSync(path, mode)
    const flags = [...ISSUER_FLAGS, '--operator.oidc.client_secret_file', path]
    const [finding] = (await doctor('--data_dir', folder, ...ANY_PORTS, ...flags)).named('issuer secret')
    expect(finding?.verdict).toBe(verdict)
    expect(finding?.detail).toContain(detail)
  })

  it('the file check reports an issuer secret that is missing, or no regular file; none without an issuer', async () => {
    const found = async (...flags: string[]) =>
      (await doctor('--data_dir', folder, ...ANY_PORTS, ...flags)).named('issuer secret')
    for (const [path, reason] of [
      ['/nowhere/secret', 'cannot be read: ENOENT'],
      [folder, 'cannot be read: it is not a regular file'],
    ] as const) {
      const findings = await found(...ISSUER_FLAGS, '--operator.oidc.client_secret_file', path)
      expect(findings).toMatchObject([{ verdict: 'bad', detail: expect.stringContaining(`${path}, which ${reason}`) }])
    }
    expect(await found()).toEqual([])
  })

  it('the file check reports an encryption key from the configuration, and one that is missing where the store cannot have it', async () => {
    const found = async (...flags: string[]) =>
      (await doctor('--data_dir', folder, ...ANY_PORTS, ...flags)).named('encryption key')
    expect(await found('--keys.encryption_key', 'ab'.repeat(32))).toMatchObject([{ detail: 'from the configuration' }])
    const [finding] = await found('--store.url', 'postgres://127.0.0.1:1/tide')
    expect(finding).toMatchObject({ verdict: 'warn', next: expect.stringContaining('tidegate admin key encrypt') })
  })

  it('the file check passes a data folder that others may read, and fails one that they may write or whose store they may read', async () => {
    const found = async () => (await doctor('--data_dir', folder, ...ANY_PORTS)).named('data folder')[0]
    chmodSync(folder, 0o755)
    expect(await found()).toMatchObject({ verdict: 'ok' })
    mkdirSync(join(folder, 'store'))
    chmodSync(join(folder, 'store'), 0o755)
    expect(await found()).toMatchObject({
      verdict: 'warn',
      detail: `${join(folder, 'store')} can be read by other users (mode 755)`,
    })
    chmodSync(folder, 0o777)
    expect(await found()).toMatchObject({ verdict: 'bad', next: `chmod o-w ${folder}` })
  })

  it('the file check reports a folder of recordings that is missing, open to others, or cannot be used', async () => {
    const recordings = join(folder, 'recordings')
    const found = async (...flags: string[]) =>
      (await doctor('--data_dir', folder, ...ANY_PORTS, '--recording.dir', recordings, ...flags)).named('recordings')
    expect(await found()).toMatchObject([
      { verdict: 'ok', detail: expect.stringContaining(`${recordings}, does not exist yet: the service makes it, `) },
    ])
    expect(existsSync(recordings)).toBe(false)
    mkdirSync(recordings)
    chmodSync(recordings, 0o755)
    expect(await found()).toMatchObject([
      { verdict: 'warn', detail: expect.stringContaining('(mode 755)'), next: `chmod 700 ${recordings}` },
    ])
    rmSync(recordings, { recursive: true })
    writeFileSync(recordings, '')
    expect(await found()).toMatchObject([
      { verdict: 'bad', detail: expect.stringContaining('cannot be written (EEXIST)') },
    ])
  })

  it("the file check compares the free space with the need for the hours to keep, by the last day's largest hour", async () => {
    const recordings = join(folder, 'recordings')
    const hourNow = () => Math.floor(Date.now() / HOUR_MILLISECONDS)
    const found = async () =>
      (await doctor('--data_dir', folder, ...ANY_PORTS, '--recording.dir', recordings)).named('recordings')[0]
    let hour: number
    let results: unknown[]
    // Again where another hour has begun meanwhile: the files would be of other hours.
    do {
      hour = hourNow()
      const hourFile = (hoursAgo: number, bytes: number, suffix = '') => {
        const name = new Date((hour - hoursAgo) * HOUR_MILLISECONDS).toISOString().slice(0, 13)
        const path = join(recordings, `${name}${suffix}.recording`)
        writeFileSync(path, '')
        truncateSync(path, bytes)
      }
      rmSync(recordings, { recursive: true, force: true })
      mkdirSync(recordings, { mode: 0o700 })
      hourFile(2, 3e6)
      hourFile(2, 2e6, '-2')
      // Too long ago, and not complete. No larger, because of the limit of a file on ext4.
      hourFile(30, 1e13)
      hourFile(0, 1e13)
      results = [await found()]
      hourFile(3, 1e13)
      results.push(await found())
    } while (hour !== hourNow())
    expect(results).toMatchObject([
      {
        verdict: 'ok',
        detail: expect.stringContaining(
          '3 of 168 hours are kept. The others need 825 MB (the last day’s largest hour: 5 MB)',
        ),
      },
      {
        verdict: 'warn',
        next: 'free disk space, or decrease recording.keep_hours: on a full disk the recording stops',
      },
    ])
  })

  it('the file check reports a data folder that is a file', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const { error, named } = await doctor('--data_dir', file, ...ANY_PORTS)
    expect(error).toContain('data folder')
    expect(named('data folder')[0]?.detail).toBe(`${file} is not a folder`)
    expect(named('service')[0]?.detail).toContain('(ENOTDIR)')
  })

  it.each<[string, number, string, string]>([
    ['has long to live', 90, 'ok', '89 days left'],
    ['ends soon', 10, 'warn', 'expires in 9 days'],
    ['has ended', -1, 'warn', 'the certificate expired on'],
  ])('the check of files reports a certificate that %s', async (_what, days, verdict, detail) => {
    const { cert, privateKey } = await certificate(days)
    const [finding] = await certificateFindings(cert, privateKey)
    expect(finding?.verdict).toBe(verdict)
    expect(finding?.detail).toContain(detail)
  })

  it('the file check reports a certificate with the key of another, and a missing one', async () => {
    const { cert } = await certificate(90)
    const { privateKey } = await certificate(90)
    expect(await certificateFindings(cert, privateKey)).toMatchObject([
      { verdict: 'bad', detail: expect.stringContaining('is not the key for the certificate') },
    ])
    const missing = ['--http.tls.cert_file', '/nowhere/c.pem', '--http.tls.key_file', '/nowhere/k.pem']
    const { named } = await doctor('--data_dir', folder, ...ANY_PORTS, ...missing)
    expect(named('certificate')[0]?.detail).toContain('/nowhere/c.pem: cannot be read (ENOENT)')
  })

  async function certificateFindings(cert: string, key: string): Promise<Finding[]> {
    const paths = [join(folder, 'cert.pem'), join(folder, 'key.pem')] as const
    writeFileSync(paths[0], cert)
    writeFileSync(paths[1], key, { mode: 0o600 })
    const flags = ['--http.tls.cert_file', paths[0], '--http.tls.key_file', paths[1]]
    return (await doctor('--data_dir', folder, ...ANY_PORTS, ...flags)).named('certificate')
  }
})

describe('the configuration', () => {
  it('doctor reports a configuration with errors key by key, and examines nothing else', async () => {
    const { error, findings } = await doctor('--data_dir', folder, '--http.port', 'x', '--stream.ping_seconds', '-1')
    expect(error).toBe('checks failed: configuration')
    expect(findings.map(({ detail }) => detail.split(' ', 1)[0])).toEqual(['http.port', 'stream.ping_seconds'])
  })

  it('a configuration with an unknown variable causes a warning in doctor', async () => {
    vi.stubEnv('TIDEGATE_HTTP_PROT', '1')
    const { ok, named } = await doctor('--data_dir', folder, ...ANY_PORTS)
    expect(ok).toBe(true)
    expect(named('configuration')[1]).toMatchObject({ verdict: 'warn', detail: expect.stringContaining('HTTP_PROT') })
  })
})

it.skipIf(!hasPostgres)(
  'a running service whose roles move no money has no ledger, and doctor misses none (needs PostgreSQL)',
  async () => {
    const roles = '[feed, gateway]'
    const storeUrl = await migratedDatabase()
    const service = await startServiceInside(folder, [market('AAA', 2, 10)], {
      ...{ roles, 'store.url': storeUrl, 'stream.drain_seconds': 0 },
    })
    const { error, named, verdicts } = await doctor(
      ...['--data_dir', folder, '--roles', roles, '--store.url', storeUrl],
      ...['--http.port', new URL(service.http).port, '--operator.port', new URL(service.operator.url).port],
    )
    const metrics = await fetch(`${service.operator.url}/metrics`).then((answer) => answer.text())
    await service.stop()
    expect([error, named('ledger')]).toEqual(['', []])
    expect(verdicts).toContain('ok readiness')
    expect(metrics).toContain('tidegate_connections')
    // The ledger's upkeep, the converter and the workers register these.
    expect(metrics).not.toMatch(/tidegate_(ledger|desk|conver|orchestration|deliveries|deposit)/)
  },
)

describe('a lock of another host', () => {
  it('a lock of another host fails, with the command to take the folder over', async () => {
    const facts = {
      pid: 12,
      host: 'other',
      started: '',
      has_socket: true,
      nonce: '0190a000-0000-7000-8000-000000000000',
    }
    writeFileSync(join(folder, 'lock'), JSON.stringify(facts))
    const { error, named } = await doctor('--data_dir', folder, '--http.port', '0', '--operator.port', '1')
    expect(error).toContain('service')
    expect(named('service')[0]).toMatchObject({
      detail: expect.stringContaining(`process 12 on host other has ${folder} open and does not answer`),
      next: expect.stringContaining('--take-over'),
    })
  })
})

describe('the connection to the store', () => {
  it('a connection to the store that others could read causes a warning in doctor', async () => {
    // The address is reserved for documentation: no server answers.
    const url = 'postgres://tide:geheim@192.0.2.1/tide'
    const { named, findings } = await doctor('--data_dir', folder, ...ANY_PORTS, '--store.url', url)
    expect(named('store')[0]).toMatchObject({
      verdict: 'warn',
      detail: expect.stringContaining('store.url sets no sslmode'),
      next: 'add sslmode=verify-full to store.url',
    })
    expect(JSON.stringify(findings)).not.toContain('geheim')
  })
})

describe('the sources of the markets', () => {
  const market = (symbol: string, source: string) => ({
    symbol: `${symbol}USD`,
    base_asset: symbol,
    quote_asset: 'USD',
    price_decimals: 2,
    amount_decimals: 8,
    depth: 10,
    sources: [source],
  })

  it('market sources are checked against the answers of their venues; an unavailable venue causes a warning', async () => {
    const { url, close } = await startListingVenue([listedPair('BTC/USD')])
    const markets = ['BTC', 'XXX'].map((base) => market(base, `kraken:${base}/USD`))
    const flags = ['--data_dir', folder, ...ANY_PORTS, '--feeds.kraken.url', url, '--markets', JSON.stringify(markets)]
    const outcome = await doctor(...flags)
    close()
    expect(outcome.error).toBe('checks failed: sources')
    expect(outcome.named('sources')).toEqual([
      { verdict: 'ok', name: 'sources', detail: 'listed by their venues: 1' },
      {
        verdict: 'bad',
        name: 'sources',
        detail: 'markets[1].sources[0] is kraken:XXX/USD, which kraken does not list (from --markets)',
        key: 'markets[1].sources[0]',
        origin: '--markets',
        next: 'use one of the venue’s pairs, or correct the market’s decimals',
      },
    ])
    const away = await doctor(...flags)
    expect(away.ok).toBe(true)
    expect(away.named('sources')).toMatchObject([
      { verdict: 'warn', detail: expect.stringContaining('kraken could not be asked') },
    ])
  })
})

it('check-config and doctor report the same findings about one configuration', async () => {
  const file = join(folder, 'tidegate.yaml')
  const market = 'quote_asset: USD, price_decimals: 2, amount_decimals: 8, depth: 10'
  writeFileSync(join(folder, 'engine.mjs'), 'export const tidegate = 2')
  writeFileSync(
    file,
    `data_dir: '${folder}'
http: {port: 0, tls: {cert_file: /nowhere/c.pem, key_file: /nowhere/k.pem}}
operator: {port: 0, four_eyes: [deposits]}
bus: {url: 'nats://nats.example:4222', credentials_file: /nowhere/nats.creds}
store: {url: 'postgres://tide@192.0.2.1/tide'}
feeds: {engine: {kind: tidegate, url: 'ws://engine.example:1', token: secret}}
recording: {dir: '${join(file, 'below-a-file')}'}
markets:
  - {symbol: BTCUSD, base_asset: BTC, ${market}, sources: ['replay:/nowhere/at.all']}
  - {symbol: ETHUSD, base_asset: ETH, ${market}, sources: ['module:${folder}/engine.mjs:ETHUSD']}
`,
  )
  const { stdout } = await runCommand(['check-config', '--offline', '--json', '--config', file])
  const checked = (JSON.parse(stdout) as { findings: Finding[] }).findings
  const faults = checked.filter(({ verdict }) => verdict !== 'ok').map(({ verdict, name }) => `${verdict} ${name}`)
  expect(faults.toSorted()).toEqual([
    ...['bad bus', 'bad certificate', 'bad recordings', 'bad sources', 'bad sources'],
    ...['warn bank details', 'warn feeds', 'warn pegs', 'warn review', 'warn second person', 'warn store'],
  ])
  const { findings } = await doctor('--config', file)
  for (const finding of checked) expect(findings).toContainEqual(finding)
})

describe('signing keys', () => {
  const now = Date.UTC(2026, 10, 20)
  const signing = (days: number) => ({
    id: 'k',
    state: 'signing' as const,
    signs_from: new Date(now - days * DAY_MILLISECONDS).toISOString(),
  })

  it.each<[string, Parameters<typeof examineSigningKeys>[0], string, string]>([
    ['a young one', [signing(3)], 'ok', 'k, active for 3 days'],
    ['one that is due', [signing(97)], 'ok', 'k, active for 97 days'],
    ['one that should have been replaced', [signing(98)], 'warn', 'k, active for 98 days'],
    ['none that signs', [{ ...signing(3), state: 'revoked' }], 'bad', 'no active signing key: tokens cannot be issued'],
    ['none', [], 'ok', 'none yet: the first start makes it'],
  ])('%s', (_what, keys, verdict, detail) => {
    expect(examineSigningKeys(keys, now)).toMatchObject({ verdict, detail })
  })
})

async function listening(server: Server): Promise<AddressInfo> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address() as AddressInfo
}

async function certificate(days: number): Promise<{ readonly cert: string; readonly privateKey: string }> {
  const { cert, private: privateKey } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - 10 * DAY_MILLISECONDS),
    notAfterDate: new Date(Date.now() + days * DAY_MILLISECONDS),
  })
  return { cert, privateKey }
}

/**
 * The commands of docs/how-to/backup.md, executed on both stores: a service with an account, an address, a client and a
 * credited payment is backed up, another payment is lost, and the backup is restored elsewhere. The restored service
 * knows what was backed up, its ledger adds up, and reports of payments can be repeated.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { registerDoctor } from '../../src/cli/doctor.ts'
import { servedScopes } from '../../src/contract/scopes.ts'
import { createLog } from '../../src/platform/base/log.ts'
import { migrate } from '../../src/platform/store/migrate.ts'
import { openPostgres } from '../../src/platform/store/postgres.ts'
import { ALL_KEYS, accountPublicKey } from '../support/address-keys.ts'
import { runCommand } from '../support/command-run.ts'
import { hasPostgres, sharedDatabase } from '../support/postgres.ts'
import { type Flags, type ServiceInside, startServiceInside, temporaryFolder } from '../support/running-service.ts'
import { fetchToken } from '../support/sample-client.ts'
import { createSlowClock } from '../support/slow-clock.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Json = any

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/backup.md'), 'utf8')
const blocks = [...page.matchAll(/(?:^ {4}.+\n|^\n(?= {4}))+/gm)].map(([block]) => block.trim().split(/\n\s*/))

/** The commands of the block that contains a text, except those for the service, which the test itself does. */
function commandsWith(text: string): string[] {
  const block = blocks.find((lines) => lines.some((line) => line.includes(text)))
  if (block === undefined) throw new Error(`the page has no command with ${text}`)
  return block.filter((line) => !line.startsWith('systemctl '))
}

const folder = temporaryFolder()
const running = new Set<ServiceInside>()
/** Backups of both stores, beside the services' own folders. */
const places = (data: string) => ({
  '/var/lib/tidegate': data,
  '/backup': join(folder.path, 'backup'),
  '/safe': join(folder.path, 'safe'),
})

function execute(lines: readonly string[], data: string, variables: Readonly<Record<string, string>> = {}): void {
  for (const line of lines) {
    let command = line
    for (const [path, here] of Object.entries(places(data))) command = command.replaceAll(path, here)
    execFileSync('/bin/sh', ['-c', command], { env: { PATH: process.env.PATH, ...variables } })
  }
}

async function start(data: string, flags: Flags): Promise<ServiceInside> {
  mkdirSync(data, { recursive: true, mode: 0o700 })
  // The embedded store, unless a server is named.
  const all = { 'receipts.enabled': 'true', 'store.url': '', ...ALL_KEYS, ...flags }
  const service = await startServiceInside(data, [], all)
  running.add(service)
  return service
}

async function stop(service: ServiceInside): Promise<void> {
  running.delete(service)
  await service.stop()
}

afterEach(() => vi.restoreAllMocks())
afterAll(async () => {
  for (const service of [...running]) await stop(service)
  folder.remove()
})

for (const path of Object.values(places('')).slice(1)) mkdirSync(path, { recursive: true })

/** What a customer and the operator have at a service. */
class Stage {
  readonly service: ServiceInside
  readonly client: { readonly id: string; readonly secret: string }
  token = ''
  profileId = ''

  constructor(service: ServiceInside, client: Stage['client']) {
    this.service = service
    this.client = client
  }

  static async create(service: ServiceInside): Promise<Stage> {
    const scopes = servedScopes(false)
    const { id } = await service.operator.call<Json>('POST', '/customers', { name: 'backed up' })
    const client = await service.operator.call<Json>('POST', `/customers/${id}/clients`, { name: 'client', scopes })
    const stage = new Stage(service, { id: client.client_id, secret: client.client_secret })
    await stage.logIn()
    const body = { account: { identity_id: 'alice' }, create_profile: true }
    stage.profileId = (await stage.call('POST', '/v2/identity/accounts', body)).profile_id
    return stage
  }

  async logIn(): Promise<void> {
    const { id: clientId, secret: clientSecret } = this.client
    const scope = servedScopes(false).join(' ')
    this.token = await fetchToken({ authUrl: this.service.http, clientId, clientSecret, scope })
  }

  async call(method: string, path: string, body?: object): Promise<Json> {
    const response = await fetch(`${this.service.http}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    expect(response.status, `${method} ${path}: ${text}`).toBe(200)
    return JSON.parse(text)
  }

  async newAddress(): Promise<string> {
    const wanted = { profile_id: this.profileId, crypto_network: 'ETHEREUM' }
    return (await this.call('POST', '/v2/transfer/deposit-addresses', wanted)).address
  }

  report(number: number, address: string): Promise<Json> {
    return this.service.operator.call('POST', '/deposits', {
      source: 'custody',
      external_id: `payment ${number}`,
      asset: 'USDC',
      amount: '40.000001',
      crypto: { network: 'ETHEREUM', address, tx_hash: number.toString(16).padStart(64, '0'), tx_index: 0 },
      occurred_at: '2026-11-22T12:00:00Z',
    })
  }

  async balance(): Promise<string> {
    const { items } = await this.call('GET', `/v2/profiles/${this.profileId}/balances`)
    return items.find(({ asset }: Json) => asset === 'USDC')?.available
  }

  /** Everything that a restore must bring back. */
  async state(): Promise<Json> {
    const lists = ['/v2/identity/accounts', '/v2/transfer/deposit-addresses', '/v2/transfer/transfers']
    const receiptKeys = await fetch(`${this.service.http}/.well-known/tidegate-receipt-keys.json`)
    return {
      lists: await Promise.all(lists.map(async (path) => (await this.call('GET', path)).items)),
      balance: await this.balance(),
      receiptKeys: await receiptKeys.json(),
      audit: (await this.service.operator.call<Json>('GET', '/audit')).items.length,
    }
  }
}

async function ledgerVerdict({ operator, folder: data }: ServiceInside, flags: Flags): Promise<string[]> {
  let output = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += text
    return true
  })
  const words = Object.entries({ data_dir: data, ...ALL_KEYS, ...flags }).flatMap(([key, value]) => [
    `--${key}`,
    String(value),
  ])
  const run = runCommand(registerDoctor, ['doctor', '--json', '--operator-url', operator.url, ...words])
  await run.ended
  vi.restoreAllMocks()
  const { findings } = JSON.parse(output || run.stdout.text) as Json
  const named = (name: string) => findings.filter((finding: Json) => finding.name === name)
  return [...named('ledger'), ...named('encryption key')].map(({ verdict, name }) => `${verdict} ${name}`)
}

/** @param copy makes the backup, with the service stopped if it has to be; resolves to the service that runs after it */
async function backUpAndRestore(
  first: ServiceInside,
  copy: (service: ServiceInside) => Promise<ServiceInside>,
  restore: () => Promise<{ readonly service: ServiceInside; readonly flags: Flags }>,
): Promise<void> {
  const before = await Stage.create(first)
  const address = await before.newAddress()
  await before.report(1, address)
  const saved = await before.state()
  expect(saved.balance).toBe('40.000001')

  // Since the backup: a second address and a second payment.
  const after = new Stage(await copy(first), before.client)
  Object.assign(after, { token: before.token, profileId: before.profileId })
  const lostAddress = await after.newAddress()
  await after.report(2, address)
  await stop(after.service)

  const { service, flags } = await restore()
  const restored = new Stage(service, before.client)
  // The token of the time before the backup is still valid: the signing keys are those of the backup.
  Object.assign(restored, { token: before.token, profileId: before.profileId })
  expect(await restored.state()).toEqual(saved)
  await restored.logIn()
  expect(await ledgerVerdict(service, flags)).toEqual(['ok ledger', 'ok encryption key'])

  // With the key of a new account no address is given out twice.
  expect([address, lostAddress]).not.toContain(await restored.newAddress())
  // All payments are reported again, twice: the first is known, the second is credited once.
  for (const number of [1, 2, 1, 2]) await restored.report(number, address)
  expect(await restored.balance()).toBe('80.000002')
  expect(await ledgerVerdict(service, flags)).toEqual(['ok ledger', 'ok encryption key'])
  await stop(service)
}

/** As the page says: the extended public key of a new account. */
const NEW_ACCOUNT = { 'custody.evm.xpub': accountPublicKey(99) }

describe('the commands of docs/how-to/backup.md', () => {
  it('the commands of docs/how-to/backup.md restore an embedded store into an empty folder', async () => {
    const data = join(folder.path, 'embedded')
    const target = join(folder.path, 'restored')
    await backUpAndRestore(
      await start(data, {}),
      async (service) => {
        await stop(service)
        execute(commandsWith('tar --create'), data)
        return await start(data, {})
      },
      async () => {
        execute(commandsWith('tar --extract'), target)
        expect(existsSync(join(target, 'lock'))).toBe(false)
        return { service: await start(target, NEW_ACCOUNT), flags: NEW_ACCOUNT }
      },
    )
  })

  it('the commands of docs/how-to/backup.md do not bring back an embedded store without its encryption key', async () => {
    const target = join(folder.path, 'without-key')
    execute(
      commandsWith('tar --extract').filter((line) => !line.includes('encryption-key')),
      target,
    )
    await expect(start(target, {})).rejects.toThrow(/encryption-key is missing/)
  })

  it.skipIf(!hasPostgres)(
    'the commands of docs/how-to/backup.md restore PostgreSQL into an empty database (needs PostgreSQL)',
    async () => {
      const [database, target] = [await sharedDatabase(), await sharedDatabase()]
      const log = createLog('error')
      const options = { connectionsMax: 2, log, clock: createSlowClock(), random: Math.random }
      const db = openPostgres({ url: database, ...options })
      await migrate(db, log)
      await db.close()
      const key = { 'keys.encryption_key': Buffer.alloc(32, 5).toString('base64') }
      const variables = { DATABASE: database, NEW_DATABASE: target }
      const data = join(folder.path, 'postgres')
      await backUpAndRestore(
        await start(data, { 'store.url': database, ...key }),
        async (service) => {
          execute(commandsWith('pg_dump --format'), data, variables)
          return service
        },
        async () => {
          execute([...commandsWith('pg_restore --exit'), ...commandsWith('psql --quiet')], data, variables)
          const flags = { 'store.url': target, ...key, ...NEW_ACCOUNT }
          return { service: await start(join(folder.path, 'postgres-restored'), flags), flags }
        },
      )
    },
  )
})

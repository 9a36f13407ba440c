import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { EncryptionKey } from '../../src/access/clients/encryption-key.ts'
import { matchesSecret } from '../../src/access/clients/secrets.ts'
import { registerAdmin } from '../../src/cli/admin/admin.ts'
import { loadCredentials } from '../../src/cli/options/stream-credentials.ts'
import { type OperatorFixture, openOperatorFixture } from '../support/auth-fixtures.ts'

const STREAM = 'exchange:read_aggregated_marketdata_stream'

let side: OperatorFixture
let folder: string
beforeAll(async () => {
  side = await openOperatorFixture()
})
afterAll(() => side?.close())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-admin-'))
  writeFileSync(join(folder, 'operator-token'), `${side.token}\n`)
})
afterEach(() => {
  rmSync(folder, { recursive: true })
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/** Runs a verb as the command line does; its error is what the command line prints. */
async function run(...words: string[]): Promise<string> {
  let output = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += text
    return true
  })
  const program = new Command('tidegate').exitOverride().configureOutput({ writeErr: () => undefined })
  registerAdmin(program)
  await program.parseAsync(['node', 'tidegate', 'admin', ...words])
  return output
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
async function admin(...words: string[]): Promise<any> {
  return JSON.parse(await run(...words, '--operator-url', side.url, '--data_dir', folder))
}

describe('tidegate admin key encrypt', () => {
  it('tidegate admin key encrypt needs an encryption key on the node that it calls', async () => {
    await expect(admin('key', 'encrypt')).rejects.toThrow(/^invalid_state \(409\): keys\.encryption_key is not set/)
  })

  it('tidegate admin key encrypt encrypts the signing keys and the pepper, once, and leaves an audit row', async () => {
    const key = EncryptionKey.parse('0123456789abcdef'.repeat(4)) as EncryptionKey
    const own = await openOperatorFixture(key)
    try {
      const where = ['--operator-url', own.url, '--operator-token-file', join(folder, 'own-token')]
      writeFileSync(join(folder, 'own-token'), own.token)
      const encrypt = async () => JSON.parse(await run('key', 'encrypt', ...where))
      const pepper = Buffer.from(own.directory.authority?.pepper ?? [])
      expect(await encrypt()).toEqual({ encryption_key_id: key.id, signing_keys: 1, receipt_keys: 0, pepper: true })
      expect(await encrypt()).toEqual({ encryption_key_id: key.id, signing_keys: 0, receipt_keys: 0, pepper: false })
      expect(Buffer.from(own.directory.authority?.pepper ?? [])).toEqual(pepper)
      const { items } = JSON.parse(await run('audit', 'list', ...where))
      expect(items).toMatchObject([{ actor: 'operator', action: 'signing_key.encrypt', subject: key.id }])
      // A secret created afterwards is hashed with the same pepper.
      const customer = JSON.parse(await run('customer', 'create', 'sealed', ...where))
      const words = ['client', 'create', customer.id, 'feed', '--scope', STREAM, ...where]
      const { client_id, client_secret } = JSON.parse(await run(...words))
      expect(matchesSecret(pepper, client_secret, own.directory.secretHashes(client_id))).toBe(true)
    } finally {
      await own.close()
    }
  })
})

describe('tidegate admin', () => {
  it('tidegate admin makes every call of the operator API and prints the response', async () => {
    const customer = await admin('customer', 'create', 'acme', '--streaming')
    expect(customer).toMatchObject({ name: 'acme', enabled: true, streaming: true })
    expect(await admin('customer', 'update', customer.id, '--disable', '--streaming', 'off')).toMatchObject({
      enabled: false,
      streaming: false,
    })
    expect(await admin('customer', 'update', customer.id, '--enable')).toMatchObject({
      enabled: true,
      streaming: false,
    })
    expect((await admin('customer', 'list', '--limit', '1')).items).toHaveLength(1)

    const client = await admin('client', 'create', customer.id, 'feed', '--scope', STREAM, 'identity:read_account')
    expect(client).toMatchObject({ scopes: [STREAM, 'identity:read_account'], client_secret: expect.any(String) })
    const id = client.client_id
    expect(await admin('client', 'update', id, '--scope', STREAM)).toMatchObject({ scopes: [STREAM], enabled: true })
    expect(await admin('client', 'update', id, '--no-scopes', '--disable')).toMatchObject({
      scopes: [],
      enabled: false,
    })
    expect((await admin('client', 'list', customer.id)).items).toMatchObject([{ client_id: id }])

    const secret = await admin('secret', 'create', id)
    expect(secret.client_secret).toMatch(/^tgs_/)
    expect((await admin('secret', 'delete', id, secret.secret_id)).secrets).toEqual(client.secrets)
    const audit = await admin('audit', 'list', '--order', 'ASC')
    expect(audit.items.map(({ action }: { action: string }) => action)).toEqual([
      'customer.create',
      'customer.update',
      'customer.update',
      'client.create',
      'client.update',
      'client.update',
      'secret.create',
      'secret.delete',
    ])
    const page = await admin('audit', 'list', '--limit', '4')
    expect((await admin('audit', 'list', '--page-cursor', page.next_page_cursor)).items).toHaveLength(4)
  })

  it('tidegate admin prints a list as a table without control sequences on a terminal, and as JSON with --json', async () => {
    const { id } = await admin('customer', 'create', 'ring\u001b[2Jbell\u0007', '--streaming')
    const { isTTY } = process.stdout
    process.stdout.isTTY = true
    const where = ['--operator-url', side.url, '--data_dir', folder]
    const lines = (await run('customer', 'list', '--limit', '1', ...where)).split('\n')
    expect(lines[0]).toMatch(/^id {36}name {11}enabled {2}streaming {2}plan {7}created at$/)
    expect(lines[1]?.startsWith(`${id}  ring?[2Jbell?  true     true       unlimited  2`)).toBe(true)
    expect(lines[3]).toMatch(/^more: --page-cursor \S+$/)
    expect(await run('audit', 'list', '--subject', 'nothing', ...where)).toBe('(none)\n')
    expect(JSON.parse(await run('customer', 'list', '--json', ...where)).items[0].id).toBe(id)
    // A record is printed as one line per member.
    const record = (await run('customer', 'show', id, ...where)).split('\n')
    expect(record.slice(0, 4)).toEqual([
      `id                 ${id}`,
      'name               ring?[2Jbell?',
      'enabled            true',
      'streaming          true',
    ])
    expect(JSON.parse(await run('customer', 'show', id, '--json', ...where)).id).toBe(id)
    process.stdout.isTTY = isTTY
  })

  it('tidegate admin reports a refusal in one line', async () => {
    await admin('customer', 'create', 'twice')
    await expect(admin('customer', 'create', 'twice')).rejects.toThrow(
      /^already_exists \(409\): name: .*"name":"twice"/,
    )
    const unknown = admin('customer', 'update', '01999999-0000-7000-8000-000000000000', '--enable')
    await expect(unknown).rejects.toThrow(/^not_found \(404\): /)
    await expect(admin('customer', 'update', 'twice')).rejects.toThrow('body: must have at least 1 members')
    await expect(admin('customer', 'update', 'twice', '--enable', '--disable')).rejects.toThrow(/exclude each other/)
    await expect(admin('customer', 'update', 'x', '--streaming', 'maybe')).rejects.toThrow(/on or off/)
    await expect(admin('client', 'create', 'x', 'y')).rejects.toThrow(/--scope/)
  })
})

describe('names', () => {
  it('names of customers and clients are accepted in place of ids', async () => {
    const first = await admin('customer', 'create', 'first & only', '--streaming')
    const second = await admin('customer', 'create', 'second')
    const feed = await admin('client', 'create', 'first & only', 'quotes', '--scope', STREAM)
    expect(feed.customer_id).toBe(first.id)
    expect((await admin('customer', 'show', 'second')).id).toBe(second.id)
    expect((await admin('client', 'show', 'quotes')).client_id).toBe(feed.client_id)
    expect((await admin('client', 'update', 'quotes', '--disable')).enabled).toBe(false)
    expect((await admin('client', 'list', 'second')).items).toEqual([])
    expect((await admin('client', 'list', 'first & only', '--name', 'other')).items).toEqual([])
    expect((await admin('customer', 'list', '--name', 'second')).items).toMatchObject([{ id: second.id }])

    const other = await admin('client', 'create', second.id, 'quotes', '--scope', STREAM)
    await expect(admin('secret', 'create', 'quotes')).rejects.toThrow(
      `several clients are named 'quotes': use CUSTOMER/quotes or the id: ${other.client_id} for customer ${second.id}, ${feed.client_id} for customer ${first.id}`,
    )
    expect((await admin('secret', 'create', 'second/quotes')).client_id).toBe(other.client_id)
    expect((await admin('client', 'find', 'quotes')).items).toHaveLength(2)
  })

  it('unknown names of customers and clients are errors that name the verb to list them', async () => {
    await expect(admin('customer', 'show', '../clients')).rejects.toThrow(
      "there is no customer named '../clients': tidegate admin customer list shows all",
    )
    await expect(admin('client', 'show', 'nothing')).rejects.toThrow(/^there is no client named 'nothing'/)
    await expect(admin('client', 'show', 'twice/nothing')).rejects.toThrow(/^there is no client named 'twice\/nothing'/)
    await expect(admin('client', 'show', 'nowhere/feed')).rejects.toThrow(/^there is no customer named 'nowhere'/)
  })
})

describe('client --publish-markets', () => {
  it('client --publish-markets names the markets of a new client, and replaces those of another', async () => {
    await admin('customer', 'create', 'The exchange')
    const scope = ['--scope', 'exchange:publish_marketdata']
    const made = await admin(
      'client',
      'create',
      'The exchange',
      'engine',
      ...scope,
      '--publish-markets',
      'BTCUSD,ETHUSD',
    )
    expect(made).toMatchObject({ scopes: [scope[1]], publish_markets: ['BTCUSD', 'ETHUSD'] })
    const update = (markets: string) => admin('client', 'update', 'engine', '--publish-markets', markets)
    expect(await update('SOLUSD')).toMatchObject({ publish_markets: ['SOLUSD'] })
    await expect(update('sol/usd')).rejects.toThrow(/^invalid_request.*publish_markets/)
    expect(await admin('client', 'update', 'engine', '--disable')).toMatchObject({ publish_markets: ['SOLUSD'] })
    expect(await update('')).toMatchObject({ publish_markets: [] })
  })
})

describe('client create --credentials', () => {
  const create = (name: string, ...more: string[]) =>
    admin('client', 'create', 'keeper', name, '--scope', STREAM, '--credentials', join(folder, 'new.json'), ...more)

  it('client create --credentials writes the owner-only file that watch and verify read, and prints no secret', async () => {
    await admin('customer', 'create', 'keeper')
    const shown = await create('kept', '--url', 'https://api.example.com/')
    const path = join(folder, 'new.json')
    expect(shown).toMatchObject({ name: 'kept', credentials: path })
    expect(shown.client_secret).toBeUndefined()
    const written = JSON.parse(readFileSync(path, 'utf8'))
    expect(written).toEqual({
      client_id: shown.client_id,
      client_secret: expect.stringMatching(/^tgs_/),
      scopes: [STREAM],
      base_url: 'https://api.example.com',
      auth_url: 'https://api.example.com',
      ws_url: 'wss://api.example.com',
    })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(await loadCredentials({ credentials: path }, {})).toMatchObject({ ws_url: 'wss://api.example.com' })

    // A second call changes neither the file nor the customer.
    await expect(create('other')).rejects.toThrow(`${path} exists: name another file, or delete it`)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(written)
    expect((await admin('client', 'list', 'keeper', '--name', 'other')).items).toEqual([])
  })

  it('client create --credentials takes the address from the configuration, and leaves no file when nothing was created', async () => {
    vi.stubEnv('TIDEGATE_HTTP_HOST', '0.0.0.0')
    const first = await create('configured')
    expect(JSON.parse(readFileSync(first.credentials, 'utf8'))).toMatchObject({ ws_url: 'ws://127.0.0.1:8080' })
    rmSync(first.credentials)
    vi.stubEnv('TIDEGATE_STREAM_PUBLIC_URL', 'wss://stream.example.com/')
    const second = await create('streaming')
    expect(JSON.parse(readFileSync(second.credentials, 'utf8'))).toMatchObject({
      base_url: 'http://127.0.0.1:8080',
      ws_url: 'wss://stream.example.com',
    })
    rmSync(second.credentials)
    await expect(create('configured')).rejects.toThrow(/^already_exists/)
    expect(existsSync(first.credentials)).toBe(false)
    vi.stubEnv('TIDEGATE_HTTP_PORT', '0')
    await expect(create('unplaced')).rejects.toThrow('http.port is 0, so --url is required')
    await expect(admin('client', 'create', 'keeper', 'x', '--scope', STREAM, '--url', 'http://x')).rejects.toThrow(
      '--url is stored with the credentials',
    )
  })
})

describe('the configuration file', () => {
  it('the configuration file is the one that TIDEGATE_CONFIG names, unless --config is given', async () => {
    const path = join(folder, 'tidegate.yaml')
    writeFileSync(path, `operator: {port: ${new URL(side.url).port}}\ndata_dir: ${folder}\n`)
    vi.stubEnv('TIDEGATE_CONFIG', path)
    expect(JSON.parse(await run('customer', 'list', '--limit', '1')).items).toHaveLength(1)
    await expect(run('customer', 'list', '--config', join(folder, 'missing.yaml'))).rejects.toThrow('missing.yaml')
    vi.stubEnv('TIDEGATE_CONFIG', '')
    await expect(run('customer', 'list', '--data_dir', join(folder, 'nowhere'))).rejects.toThrow('no operator token')
  })
})

describe('the operator token', () => {
  it('the operator token is read from a named file, or the environment, or the data folder, in this order', async () => {
    const url = ['--operator-url', side.url]
    const named = join(folder, 'named')
    writeFileSync(named, side.token)
    vi.stubEnv('TIDEGATE_OPERATOR_TOKEN', 'wrong-token-of-the-environment')
    await expect(run('customer', 'list', ...url, '--data_dir', folder)).rejects.toThrow(/^invalid_token \(401\)/)
    await run('customer', 'list', ...url, '--operator-token-file', named)
    vi.stubEnv('TIDEGATE_OPERATOR_TOKEN', side.token)
    await run('customer', 'list', ...url, '--data_dir', join(folder, 'nowhere'))
  })

  it('a missing or damaged operator token is reported by its path and never printed', async () => {
    const missing = run('audit', 'list', '--operator-url', side.url, '--data_dir', join(folder, 'nowhere'))
    await expect(missing).rejects.toThrow(/^no operator token at .*nowhere\/operator-token \(ENOENT\)/)
    writeFileSync(join(folder, 'operator-token'), 'two words')
    const failure = await admin('audit', 'list').catch((error: Error) => error.message)
    expect(failure).toContain('does not contain a token')
    expect(failure).not.toContain('words')
  })

  it('the operator token cannot be given as a flag', async () => {
    await expect(run('audit', 'list', '--operator.token', side.token)).rejects.toThrow(/unknown option/)
  })
})

describe('the address of the operator API', () => {
  it("the operator API's address is the configured one", async () => {
    vi.stubEnv('TIDEGATE_OPERATOR_PORT', new URL(side.url).port)
    await run('customer', 'list', '--data_dir', folder)
    vi.stubEnv('TIDEGATE_OPERATOR_PORT', '0')
    await expect(run('customer', 'list', '--data_dir', folder)).rejects.toThrow('operator.port is 0')
  })

  it("the operator API's address is named when no service answers there", async () => {
    const gone = run('customer', 'list', '--operator-url', 'http://127.0.0.1:9', '--data_dir', folder)
    await expect(gone).rejects.toThrow('the operator API at http://127.0.0.1:9 does not answer')
    const wrong = run('customer', 'list', '--operator-url', 'ftp://x', '--data_dir', folder)
    await expect(wrong).rejects.toThrow('is not an http address')
  })
})

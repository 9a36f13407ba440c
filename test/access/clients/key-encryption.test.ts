/** Signing keys and the pepper at rest: what the store contains, who can read it, and when it becomes encrypted. */
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readAuthority, replaceKeys } from '../../../src/access/clients/authority.ts'
import { createSecret, ensureClient } from '../../../src/access/clients/clients.ts'
import { ensureCustomer } from '../../../src/access/clients/customers.ts'
import { Directory } from '../../../src/access/clients/directory.ts'
import { DirectoryLoader } from '../../../src/access/clients/directory-loader.ts'
import { EncryptionKey, EncryptionKeyProblem } from '../../../src/access/clients/encryption-key.ts'
import { encryptKeys, readEncryptionKeyId } from '../../../src/access/clients/key-encryption.ts'
import { matchesSecret } from '../../../src/access/clients/secrets.ts'
import { keepSigningKeys, revokeSigningKey, rotateSigningKeys } from '../../../src/access/clients/signing-keys.ts'
import type { AuthTables } from '../../../src/access/clients/tables.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { listAudit } from '../../../src/platform/store/audit.ts'
import type { Db, Transaction } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { examineEncryption } from '../../../src/service/doctor/store.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openTestStore } from '../../support/test-store.ts'
import { itemsOf } from '../../support/text-page.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const { log, lines } = captureLog()
const HOUR_MILLISECONDS = 3_600_000

function newKey(): EncryptionKey {
  return EncryptionKey.parse(randomBytes(32).toString('base64')) as EncryptionKey
}

describe('the encryption key', () => {
  it('the encryption key decrypts what it encrypted, for the same record only', () => {
    const key = newKey()
    const text = key.encrypt(Buffer.from('secret'), 'table.column.1')
    expect(text).not.toContain(Buffer.from('secret').toString('base64url'))
    expect(key.decrypt(text, 'table.column.1').toString()).toBe('secret')
    expect(key.encrypt(Buffer.from('secret'), 'table.column.1')).not.toBe(text)
    expect(() => key.decrypt(text, 'table.column.2')).toThrow('table.column.2 was changed')
    expect(() => newKey().decrypt(text, 'table.column.1')).toThrow(EncryptionKeyProblem)
    expect(() => key.decrypt('tg2.x', 'table.column.1')).toThrow('has a format this version cannot decrypt')
  })

  it('the encryption key rejects a ciphertext in which any one bit was changed', () => {
    const key = newKey()
    const [version, id, ...parts] = key.encrypt(Buffer.from('secret'), 'row').split('.') as [
      string,
      string,
      ...string[],
    ]
    for (const [index, part] of parts.entries()) {
      const bytes = Buffer.from(part, 'base64url')
      bytes[0] = (bytes[0] as number) ^ 1
      const changed = [version, id, ...parts.with(index, bytes.toString('base64url'))].join('.')
      expect(() => key.decrypt(changed, 'row'), `part ${index}`).toThrow('row was changed')
    }
  })

  it('the encryption key is read from hexadecimal digits or base64, and from nothing else', () => {
    const bytes = randomBytes(32)
    const ids = (['hex', 'base64', 'base64url'] as const).map((form) => EncryptionKey.parse(bytes.toString(form))?.id)
    expect(new Set(ids)).toEqual(new Set([ids[0]]))
    expect(ids[0]).toMatch(/^[0-9a-f]{16}$/)
    for (const text of [
      '',
      'x',
      'g'.repeat(64),
      '0'.repeat(63),
      `${'A'.repeat(43)}!`,
      randomBytes(31).toString('base64'),
    ]) {
      expect(EncryptionKey.parse(text), text).toBeUndefined()
    }
  })
})

describe('a store', () => {
  let db: Db
  const loaders: DirectoryLoader[] = []
  // Later than the store's clock, which is real, so that the first key of a store already signs.
  const clock = new VirtualClock(Date.now() + HOUR_MILLISECONDS)
  beforeAll(async () => {
    db = await openTestStore({ log })
  })
  afterAll(() => db?.close())
  beforeEach(async () => {
    lines.length = 0
    await sql`truncate authority, signing_keys, client_secrets, clients, customers cascade`.execute(db.tables())
  })
  afterEach(async () => {
    for (const loader of loaders.splice(0)) await loader.stop()
  })

  const now = () => clock.wallInstant().milliseconds
  const write = <Result>(work: (transaction: Transaction<AuthTables>) => Promise<Result>) => db.transaction(work)
  const rotate = (key?: EncryptionKey) => write((transaction) => rotateSigningKeys(transaction, 'test', now(), key))
  const encrypt = (key: EncryptionKey) => write((transaction) => encryptKeys(transaction, 'test', key))

  /** What a reader of a dump of the store sees. */
  async function stored() {
    const tables = db.tables<AuthTables>()
    const { pepper } = await tables.selectFrom('authority').select('pepper').executeTakeFirstOrThrow()
    const rows = await tables.selectFrom('signing_keys').select('private_jwk').orderBy('signs_from').execute()
    const keys = rows.map(({ private_jwk: jwk }) => (jwk === null ? 'ended' : 'd' in jwk ? 'plain' : 'encrypted'))
    return { pepper: pepper.length === 32 ? 'plain' : 'encrypted', keys }
  }

  /** A node that has loaded its directory, or has failed to load it. */
  async function node(encryptionKey?: EncryptionKey) {
    const directory = new Directory()
    const loader = new DirectoryLoader({ db, directory, clock, log, publicUrl: '', encryptionKey })
    loaders.push(loader)
    await loader.refresh()
    return { directory, loader }
  }

  async function newClient(key?: EncryptionKey) {
    return await write(async (transaction) => {
      const { customer } = await ensureCustomer(transaction, 'test', { name: 'acme', streaming: true })
      const wanted = { name: 'feed', scopes: [STREAM_SCOPE] }
      const { client, secret } = await ensureClient(transaction, 'test', customer.id, wanted, key)
      return { clientId: client.client_id, secret: secret?.client_secret ?? '' }
    })
  }

  const accepts = (
    { directory }: { directory: Directory },
    { clientId, secret }: { clientId: string; secret: string },
  ) => matchesSecret(directory.authority?.pepper ?? new Uint8Array(), secret, directory.secretHashes(clientId))

  const privateParts = ({ directory }: { directory: Directory }) =>
    directory.keys.map(({ privateKey }) => privateKey.export({ format: 'jwk' }).d)

  it('a store created by a node with a key is encrypted from the start and contains no usable key', async () => {
    const key = newKey()
    const first = await node(key)
    await rotate(key)
    expect(await stored()).toEqual({ pepper: 'encrypted', keys: ['encrypted', 'encrypted'] })
    expect(await readEncryptionKeyId(db)).toBe(key.id)
    const client = await newClient(key)
    await first.loader.refresh()
    expect(accepts(first, client)).toBe(true)
    const second = await node(key)
    expect(accepts(second, client)).toBe(true)
    expect(privateParts(second)).toEqual(privateParts(first))
    expect(privateParts(second)).toHaveLength(2)
  })

  it('an existing store stays unencrypted until the operator encrypts it, including keys created meanwhile', async () => {
    const old = await node()
    const client = await newClient()
    const key = newKey()
    const upgraded = await node(key)
    await rotate(key)
    expect(await stored()).toEqual({ pepper: 'plain', keys: ['plain', 'plain'] })
    await old.loader.refresh()
    expect(old.directory.keys).toHaveLength(2)
    expect(accepts(upgraded, client)).toBe(true)
    expect(await examineEncryption(db, key)).toMatchObject([{ verdict: 'warn', next: 'tidegate admin key encrypt' }])

    expect(await encrypt(key)).toEqual({ encryption_key_id: key.id, signing_keys: 2, receipt_keys: 0, pepper: true })
    expect(await stored()).toEqual({ pepper: 'encrypted', keys: ['encrypted', 'encrypted'] })
    await upgraded.loader.refresh()
    expect(accepts(upgraded, client)).toBe(true)
    expect(privateParts(upgraded)).toEqual(privateParts(old))
    expect(await examineEncryption(db, key)).toEqual([])
    // From now on every new key is encrypted, whichever code path creates it.
    clock.advance(40 * 24 * HOUR_MILLISECONDS)
    await write((transaction) => keepSigningKeys(transaction, now(), 24 * HOUR_MILLISECONDS, key))
    expect((await stored()).keys).toEqual(['ended', 'encrypted', 'encrypted'])
    const items = itemsOf(await listAudit(db, { limit: 100, order: 'DESC' }, { subject: key.id }))
    expect(items.filter(({ action }) => action === 'signing_key.encrypt')).toMatchObject([
      { subject: key.id, detail: { signing_keys: 2, receipt_keys: 0, pepper: true } },
    ])
  })

  it('a store is encrypted once: repeating it changes nothing, except for keys that a node of an earlier version created', async () => {
    const key = newKey()
    await node()
    await encrypt(key)
    expect(await encrypt(key)).toEqual({ encryption_key_id: key.id, signing_keys: 0, receipt_keys: 0, pepper: false })
    const id = '0190a000-0000-7000-8000-000000000000'
    const jwk = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' }
    await db
      .tables<AuthTables>()
      .insertInto('signing_keys')
      .values({ id, private_jwk: jwk, signs_from: '2030-01-01T00:00:00Z' })
      .execute()
    expect((await stored()).keys).toEqual(['encrypted', 'plain'])
    expect(await encrypt(key)).toEqual({ encryption_key_id: key.id, signing_keys: 1, receipt_keys: 0, pepper: false })
    expect((await stored()).keys).toEqual(['encrypted', 'encrypted'])
    const items = itemsOf(await listAudit(db, { limit: 100, order: 'DESC' }, { subject: key.id }))
    expect(items.filter(({ action }) => action === 'signing_key.encrypt')).toHaveLength(2)
  })

  it('an encrypted store is unusable for a node without the key or with another key, which changes nothing', async () => {
    const key = newKey()
    const without = await node()
    const client = await newClient()
    await without.loader.refresh()
    await encrypt(key)
    // The directory is reloaded in full at most once a second.
    clock.advance(1_000)
    await without.loader.refresh()
    expect(lines.at(-1)).toContain('keys.encryption_key is not set, and the signing keys in the store are encrypted')
    expect(accepts(without, client)).toBe(true)
    await expect(readAuthority(db, '')).rejects.toThrow(EncryptionKeyProblem)
    const other = newKey()
    await expect(readAuthority(db, '', other)).rejects.toThrow(
      `keys.encryption_key has the id ${other.id}, and the signing keys in the store are encrypted with the key ${key.id}`,
    )
    await expect(rotate()).rejects.toThrow(EncryptionKeyProblem)
    await expect(rotate(other)).rejects.toThrow(EncryptionKeyProblem)
    await expect(encrypt(other)).rejects.toThrow(EncryptionKeyProblem)
    const newSecret = write((transaction) => createSecret(transaction, 'test', client.clientId))
    await expect(newSecret).rejects.toThrow(EncryptionKeyProblem)
    expect((await stored()).keys).toEqual(['encrypted'])
    expect(await examineEncryption(db, undefined)).toMatchObject([{ verdict: 'bad', name: 'encryption key' }])
    expect((await examineEncryption(db, other))[0]?.detail).toContain(`needs the key ${key.id}`)
  })

  it('a store encrypts the key that replaces a revoked one', async () => {
    const key = newKey()
    const { directory } = await node(key)
    const id = directory.keys[0]?.keyId as string
    await write((transaction) => revokeSigningKey(transaction, 'test', id, now(), key))
    expect((await stored()).keys.sort()).toEqual(['encrypted', 'ended'])
  })

  it.each([
    ['with another key', newKey()],
    ['without one', undefined],
  ])(
    'a store whose key is lost gets new keys %s: every token and secret ends, and clients get new secrets',
    async (_, next) => {
      const lost = newKey()
      const lostId = (await node(lost)).directory.keys[0]?.keyId
      const client = await newClient(lost)
      const replaced = await write((transaction) => replaceKeys(transaction, 'test', now(), next))
      expect(replaced).toEqual({ signingKeys: 1, secrets: 1 })
      const after = await node(next)
      expect(accepts(after, client)).toBe(false)
      expect(after.directory.keys).toHaveLength(1)
      expect(after.directory.keys[0]?.signsFromMilliseconds).toBe(now())
      expect(after.directory.keys[0]?.keyId).not.toBe(lostId)
      const made = await write((transaction) => createSecret(transaction, 'test', client.clientId, next))
      await after.loader.refresh()
      expect(accepts(after, { ...client, secret: made.client_secret })).toBe(true)
      expect((await stored()).pepper).toBe(next === undefined ? 'plain' : 'encrypted')
    },
  )

  it('a store without any keys has nothing to encrypt', async () => {
    expect(await write((transaction) => replaceKeys(transaction, 'test', now(), newKey()))).toEqual({
      signingKeys: 0,
      secrets: 0,
    })
    expect(await readEncryptionKeyId(db)).toBeUndefined()
  })
})

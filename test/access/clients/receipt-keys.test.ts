/** The keys of receipts in the store and in the directory, and that neither tokens nor receipts pass as the other. */
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { signAccessToken } from '../../../src/access/clients/access-token.ts'
import { replaceKeys } from '../../../src/access/clients/authority.ts'
import type { Directory } from '../../../src/access/clients/directory.ts'
import { EncryptionKey } from '../../../src/access/clients/encryption-key.ts'
import { encryptKeys } from '../../../src/access/clients/key-encryption.ts'
import { createOutsideIssuer } from '../../../src/access/clients/outside-issuer.ts'
import {
  ensureReceiptKey,
  listReceiptKeys,
  readReceiptKeys,
  rotateReceiptKey,
} from '../../../src/access/clients/receipt-keys.ts'
import type { AuthTables } from '../../../src/access/clients/tables.ts'
import { createTokenVerifier } from '../../../src/access/clients/token-verifier.ts'
import { readReceiptKeys as readKeySet, readReceipt } from '../../../src/conformance/judge/receipts/receipt-proof.ts'
import { listAudit } from '../../../src/platform/store/audit.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { AuthNode, write } from '../../support/auth-node.ts'
import { captureLog } from '../../support/captured-log.ts'
import { OUTSIDE_AUDIENCE, OutsideIssuer } from '../../support/outside-issuer.ts'
import { signJws, signReceipt } from '../../support/receipts.ts'
import { openTestStore } from '../../support/test-store.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

const PATH = '/.well-known/tidegate-receipt-keys.json'
const CLAIMS = {
  market: 'BTCUSD',
  depth: 10,
  price_decimals: 2,
  amount_decimals: 8,
  cursor: 'KbYAR8_u.3',
  time: '2026-01-01T00:00:00.001000000Z',
  book: 'A'.repeat(43),
  updates: { after: 'KbYAR8_u.1', count: 2, sha256: 'B'.repeat(43) },
  executions: { after: 'f3xqPz1a.0', count: 0, sha256: 'C'.repeat(43) },
}

const { log } = captureLog()
const newKey = () => EncryptionKey.parse(randomBytes(32).toString('hex')) as EncryptionKey

let db: Db
let clock: NodeClock
const nodes: AuthNode[] = []
beforeAll(async () => {
  db = await openTestStore({ log })
})
afterAll(() => db?.close())
beforeEach(async () => {
  clock = new NodeClock(Date.now() + 3_600_000)
  await sql`truncate authority, signing_keys, receipt_keys, clients, customers cascade`.execute(db.tables())
})
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.close()
})

async function openNode(options: Partial<Parameters<typeof AuthNode.open>[0]> = {}): Promise<AuthNode> {
  const node = await AuthNode.open({ db, clock, log, ...options })
  nodes.push(node)
  return node
}

const ensure = (key?: EncryptionKey) => write(db, (transaction) => ensureReceiptKey(transaction, key))
const rotate = (key?: EncryptionKey) => write(db, (transaction) => rotateReceiptKey(transaction, 'test', key))
const signing = (directory: Directory) => directory.receiptSigningKey as NonNullable<Directory['receiptSigningKey']>

/** The private parts as a reader of a dump of the store sees them, the oldest first. */
async function stored(): Promise<string[]> {
  const query = db.tables<AuthTables>().selectFrom('receipt_keys').select('private_jwk').orderBy('created_at')
  const rows = await query.orderBy('id').execute()
  return rows.map(({ private_jwk: jwk }) => (jwk === null ? 'ended' : 'd' in jwk ? 'plain' : 'encrypted'))
}

describe('keys of receipts', () => {
  it('receipt keys are created once, and published without their private parts, and only when there are any', async () => {
    const [one, two] = [await openNode(), await openNode()]
    expect((await fetch(one.url + PATH)).status).toBe(404)
    await Promise.all([ensure(), ensure(), ensure()])
    await one.loader.refresh()
    await two.loader.refresh()
    const { keyId } = signing(one.directory)
    expect(signing(two.directory).keyId).toBe(keyId)
    const response = await fetch(one.url + PATH)
    expect(response.headers.get('content-type')).toBe('application/jwk-set+json; charset=utf-8')
    const text = await response.text()
    expect(JSON.parse(text)).toEqual({
      keys: [
        { kty: 'EC', crv: 'P-256', x: expect.any(String), y: expect.any(String), kid: keyId, alg: 'ES256', use: 'sig' },
      ],
    })
    expect(await (await fetch(two.url + PATH)).text()).toBe(text)
    expect(await (await fetch(`${one.url}/.well-known/jwks.json`)).text()).not.toContain(keyId)
    const audit = await listAudit(db, { limit: 10, order: 'DESC' }, {})
    expect(JSON.stringify(audit)).toContain('receipt_key.create')
  })

  it('receipt keys follow each other: the next one signs at once, and the public part of every key stays', async () => {
    const node = await openNode()
    await ensure()
    await node.loader.refresh()
    const first = signing(node.directory)
    const second = await rotate()
    const third = await rotate()
    await node.loader.refresh()
    expect(node.directory.receiptKeys.map(({ keyId }) => keyId)).toEqual([first.keyId, second.id, third.id])
    expect(signing(node.directory).keyId).toBe(third.id)
    expect(await stored()).toEqual(['ended', 'ended', 'plain'])
    const { items } = await listReceiptKeys(db, { limit: 10, order: 'ASC' })
    expect(items.map(({ id, state }) => [id, state])).toEqual([
      [first.keyId, 'ended'],
      [second.id, 'ended'],
      [third.id, 'signing'],
    ])
    const set = readKeySet(await (await fetch(node.url + PATH)).json())
    const old = signReceipt({ ...first, issuer: 'x', privateKey: first.privateKey as never }, CLAIMS)
    expect(readReceipt(old, set as NonNullable<typeof set>)).toMatchObject({ ok: true })
  })

  it('receipt keys are encrypted in an encrypted store, with the others on request, and end when they are replaced', async () => {
    await openNode()
    const first = await rotate()
    const key = newKey()
    expect(await write(db, (transaction) => encryptKeys(transaction, 'test', key))).toMatchObject({ receipt_keys: 1 })
    expect(await stored()).toEqual(['encrypted'])
    expect((await readReceiptKeys(db, key))[0]?.privateKey?.asymmetricKeyType).toBe('ec')
    await expect(readReceiptKeys(db, newKey())).rejects.toThrow('encryption_key')
    await rotate(key)
    expect(await stored()).toEqual(['ended', 'encrypted'])
    await write(db, (transaction) => replaceKeys(transaction, 'test', Date.now(), undefined))
    expect(await stored()).toEqual(['ended', 'ended'])
    await ensure()
    expect(await stored()).toEqual(['ended', 'ended', 'plain'])
    expect((await readReceiptKeys(db))[0]?.keyId).toBe(first.id)
  })
})

describe('a receipt', () => {
  it('a receipt is not accepted as a token by REST or stream, nor is a token signed by the receipt key', async () => {
    const node = await openNode()
    await ensure()
    await node.loader.refresh()
    const { authority } = node.directory
    const receiptKey = signing(node.directory)
    const issuer = authority?.issuer as string
    const privateKey = receiptKey.privateKey as NonNullable<typeof receiptKey.privateKey>
    const receipt = signReceipt({ ...receiptKey, issuer, privateKey }, CLAIMS)
    const [tokenKey] = node.directory.keys
    const now = Math.floor(clock.wallInstant().milliseconds / 1000)
    const newToken = { clientId: 'c', customerId: 'c', scopes: ['a:b'], issuedAtSeconds: now, lifetimeSeconds: 60 }
    const token = await signAccessToken(authority as never, tokenKey as never, newToken)
    const verifier = createTokenVerifier({ directory: node.directory, clock })
    expect(await verifier.verify(token)).toMatchObject({ ok: true })
    const claims = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as object
    const typ = 'at+jwt'
    const forged = [
      receipt,
      signJws({ alg: 'ES256', typ, kid: receiptKey.keyId }, claims, privateKey),
      signJws({ alg: 'ES256', typ, kid: tokenKey?.keyId }, claims, privateKey),
      signJws(
        { alg: 'ES256', typ: 'tidegate-receipt-2+jws', kid: tokenKey?.keyId },
        claims,
        tokenKey?.privateKey as never,
      ),
      signJws({ alg: 'ES256', typ, kid: tokenKey?.keyId }, { iss: issuer, ...CLAIMS }, tokenKey?.privateKey as never),
    ]
    for (const text of forged) {
      expect(await verifier.verify(text)).toMatchObject({ ok: false })
      expect(await node.status(text)).toBe(401)
      const revoked = await fetch(`${node.url}/oauth2/revoke`, {
        method: 'POST',
        body: new URLSearchParams({ token: text }),
      })
      expect(revoked.status).toBe(401)
    }
  })

  it('a receipt is not accepted as a token where an outside issuer is trusted, whatever key and type it names', async () => {
    const outside = await OutsideIssuer.start([{ name: 'known', claims: { customer_id: 'acme' } }], 'a:b')
    const node = await openNode({
      verifierOf: (directory) => {
        const claims = { client: 'client_id', customer: 'customer_id', scope: 'scope' }
        const settings = { issuer: outside.url, audience: OUTSIDE_AUDIENCE, jwksUrl: outside.jwksUrl, claims }
        const issuer = createOutsideIssuer({ ...settings, directory, clock, log })
        return createTokenVerifier({ directory, clock, issuer })
      },
    })
    await ensure()
    await node.loader.refresh()
    const key = signing(node.directory)
    const privateKey = key.privateKey as NonNullable<typeof key.privateKey>
    const exp = Math.floor(clock.wallInstant().milliseconds / 1000) + 600
    const claims = { ...CLAIMS, iss: outside.url, aud: OUTSIDE_AUDIENCE, exp, client_id: 'known', customer_id: 'acme' }
    for (const kid of [key.keyId, 'outside-1']) {
      for (const typ of ['at+jwt', 'tidegate-receipt-2+jws']) {
        expect(await node.status(signJws({ alg: 'ES256', typ, kid }, claims, privateKey)), `${kid} ${typ}`).toBe(401)
      }
    }
    // The keys of receipts are served whoever issues the tokens.
    expect((await fetch(node.url + PATH)).status).toBe(200)
    await outside.close()
  })
})

describe('a token', () => {
  it('a token is not accepted as a receipt, also with the id of the receipt key', async () => {
    const node = await openNode()
    await ensure()
    await node.loader.refresh()
    const set = readKeySet(await (await fetch(node.url + PATH)).json()) as NonNullable<ReturnType<typeof readKeySet>>
    const tokenKey = node.directory.keys[0] as Directory['keys'][number]
    const key = signing(node.directory)
    const now = Math.floor(clock.wallInstant().milliseconds / 1000)
    const newToken = { clientId: 'c', customerId: 'c', scopes: ['a:b'], issuedAtSeconds: now, lifetimeSeconds: 60 }
    const token = await signAccessToken(node.directory.authority as never, tokenKey, newToken)
    const payload = { iss: 'x', ...CLAIMS }
    const typ = 'tidegate-receipt-2+jws'
    const faults = [
      token,
      signJws({ alg: 'ES256', typ, kid: tokenKey.keyId }, payload, tokenKey.privateKey),
      signJws({ alg: 'ES256', typ, kid: key.keyId }, payload, tokenKey.privateKey),
      signJws({ alg: 'ES256', typ: 'at+jwt', kid: key.keyId }, payload, key.privateKey as never),
      signJws({ alg: 'ES256', typ, kid: key.keyId }, payload, key.privateKey as never),
    ].map((text) => {
      const reading = readReceipt(text, set)
      return reading.ok ? 'ok' : reading.fault
    })
    expect(faults).toEqual(['receipt-type', 'key-unknown', 'signature-wrong', 'receipt-type', 'ok'])
  })
})

/** Two directories connected by a link: the second one has everything of the first but its secrets. */
import { generateKeyPairSync } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { signAccessToken } from '../../../src/access/clients/access-token.ts'
import { Directory } from '../../../src/access/clients/directory.ts'
import { DirectoryExport, DirectoryImport } from '../../../src/access/clients/directory-link.ts'
import type { ClientRecord, DirectoryContent, SigningKey } from '../../../src/access/clients/directory-records.ts'
import { streamRefusal } from '../../../src/access/clients/stream-access.ts'
import { createTokenVerifier } from '../../../src/access/clients/token-verifier.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const PEPPER = Buffer.from('a pepper that stays in its process')
const HASH = Buffer.from('a hash that stays in its process')

const key: SigningKey = {
  keyId: 'key',
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  signsFromMilliseconds: 0,
  signsUntilMilliseconds: undefined,
}
const authority = { issuer: 'https://books.example', audience: 'books', pepper: PEPPER }
const customer = { id: 'customer', name: 'A customer', enabled: true, streaming: true }
const client: ClientRecord = {
  clientId: 'client',
  customerId: 'customer',
  name: 'A client',
  scopes: new Set([STREAM_SCOPE]),
  publishMarkets: new Set(['BTCUSD']),
  enabled: true,
}
const content: DirectoryContent = {
  customers: [customer],
  clients: [client],
  plans: [{ name: 'basic', depthMax: 10 }],
  secrets: [{ clientId: 'client', hash: HASH }],
  authority,
  keys: [key],
  revokedKeyIds: ['another key'],
  receiptKeys: [{ keyId: 'receipts', ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) }],
  revokedTokens: [{ tokenId: 'revoked', clientId: 'client', expiresAtMilliseconds: 1_000 }],
}

let clock: VirtualClock
let first: Directory
let second: Directory
let sent: Buffer[]
let isStale: boolean
let sending: DirectoryExport
let receiving: DirectoryImport

beforeEach(() => {
  clock = new VirtualClock()
  first = new Directory()
  second = new Directory()
  sent = []
  isStale = false
  sending = new DirectoryExport({ directory: first, clock, isStale: () => isStale, send: (bytes) => sent.push(bytes) })
  receiving = new DirectoryImport({ directory: second, clock, staleSeconds: 60 })
})

function deliver(): void {
  for (const bytes of sent.splice(0)) receiving.receive(bytes)
}

const withoutSecrets = ({ secrets: _, receiptKeys: __, authority: ___, keys: ____, ...rest }: DirectoryContent) => rest

const ids = { tokenId: 'token', keyId: 'key', clientId: 'client', customerId: 'customer', issuedAtSeconds: 10 }

test('a directory that is loaded and then changed is the same at the other end of a link', () => {
  expect(sending.snapshot).toBeUndefined()
  first.replace(content)
  deliver()
  expect(second.loaded).toBe(true)
  expect(withoutSecrets(second.content)).toEqual(withoutSecrets(content))
  first.apply({
    customers: { ids: ['customer', 'new'], records: [customer, { ...customer, id: 'new', name: 'Another' }] },
    clients: { ids: ['client'], records: [], secrets: [] },
    revokedTokens: { ids: ['revoked'], records: [] },
  })
  first.replace({ ...content, customers: [{ ...customer, enabled: false }] })
  deliver()
  expect(withoutSecrets(second.content)).toEqual(withoutSecrets(first.content))
  expect(second.customer('customer')?.enabled).toBe(false)
})

test('a directory at the other end of a link verifies tokens, and reports which ones a change affects', async () => {
  first.replace(content)
  deliver()
  const milliseconds = clock.wallInstant().milliseconds
  const issuedAtSeconds = Math.floor(milliseconds / 1000)
  const scopes = [STREAM_SCOPE]
  const text = await signAccessToken(authority, key, { ...ids, scopes, issuedAtSeconds, lifetimeSeconds: 3_600 })
  const verdict = await createTokenVerifier({ directory: second, clock }).verify(text)
  if (!verdict.ok) throw new Error(verdict.reason)
  expect(streamRefusal(second, verdict.token)).toBeUndefined()
  const affected: unknown[] = []
  second.onChange(({ customerIds, clientIds }) => affected.push([...customerIds, ...clientIds]))
  first.apply({ customers: { ids: ['customer'], records: [{ ...customer, streaming: false }] } })
  deliver()
  expect(affected).toEqual([['customer']])
  expect(streamRefusal(second, verdict.token)).toBe('not-allowed')
  first.apply({ keys: { keys: [], revokedKeyIds: ['key'], receiptKeys: [] } })
  deliver()
  expect(second.isRevoked(verdict.token)).toBe(true)
  expect(() =>
    signAccessToken(authority, second.keys[0] as SigningKey, { ...ids, scopes, lifetimeSeconds: 1 }),
  ).toThrow()
})

test('a directory is sent without a secret', () => {
  first.replace(content)
  first.apply({ clients: { ids: ['client'], records: [client], secrets: [{ clientId: 'client', hash: HASH }] } })
  first.apply({ keys: { keys: [key], revokedKeyIds: [], receiptKeys: content.receiptKeys ?? [] } })
  const bytes = Buffer.concat([...sent, sending.snapshot as Buffer])
  const scalars = [key, ...(content.receiptKeys ?? [])].map(({ privateKey }) =>
    Buffer.from(privateKey?.export({ format: 'jwk' }).d as string, 'base64url'),
  )
  for (const secret of [PEPPER, HASH, ...scalars]) expect(bytes.includes(secret)).toBe(false)
  expect(bytes.includes(key.publicKey.export({ format: 'der', type: 'spki' }))).toBe(true)
})

test('a directory whose change was lost is noticed at the next change, and at the next second', () => {
  first.replace(content)
  deliver()
  first.apply({ customers: { ids: ['customer'], records: [] } })
  sent = []
  clock.advance(1_000)
  expect(() => deliver()).toThrow('directory changes 2 to 2 are missing')
  first.apply({ customers: { ids: [], records: [] } })
  expect(() => deliver()).toThrow('directory changes 2 to 2 are missing')
})

test('a directory is stale while its sender is, and when nothing confirms it for so long', () => {
  first.replace(content)
  clock.advance(1_000)
  deliver()
  expect(receiving.isStale).toBe(false)
  isStale = true
  clock.advance(1_000)
  deliver()
  expect(receiving.isStale).toBe(true)
  isStale = false
  clock.advance(1_000)
  deliver()
  expect(receiving.isStale).toBe(false)
  sending.stop()
  clock.advance(59_999)
  expect(receiving.isStale).toBe(false)
  clock.advance(1)
  expect(receiving.isStale).toBe(true)
})

test('the second directory has the plans, and follows a change of one', () => {
  const planned = { ...customer, plan: 'basic' }
  const token = { ...client, tokenId: '', keyId: 'key', issuedAtSeconds: 0 }
  first.replace({ ...content, customers: [planned], plans: [{ name: 'basic', markets: new Set(['BTCUSD']) }] })
  first.apply({ plans: { ids: ['basic'], records: [{ name: 'basic', depthMax: 10 }] } })
  for (const bytes of sent) receiving.receive(bytes)
  expect(second.plansOf(token)).toEqual([
    { plan: { name: 'basic', depthMax: 10 }, holder: 'customer', holderId: 'customer' },
  ])
})

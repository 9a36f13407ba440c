/**
 * What generic OAuth clients see: discovery, grant and revocation through openid-client, and the metadata documents.
 */
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changeClient, createSecret, deleteSecret, ensureClient } from '../../../src/access/clients/clients.ts'
import { ensureCustomer } from '../../../src/access/clients/customers.ts'
import { Directory } from '../../../src/access/clients/directory.ts'
import { registerWellKnownRoutes } from '../../../src/access/clients/well-known-routes.ts'
import { SCOPES, STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { listenOnFreePort } from '../../support/auth-fixtures.ts'
import { AuthNode, write } from '../../support/auth-node.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { openTemporaryStore } from '../../support/test-store.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

interface Document {
  readonly code?: string
  readonly keys: readonly (JsonWebKey & { readonly kid: string })[]
}

const silent = createLog('silent')
let db: Db
let proxy: ReturnType<typeof createServer>
let node: AuthNode
/** The address that customers use; a proxy there forwards everything to the node. */
let publicUrl: string
let clientId: string
let clientSecret: string

beforeAll(async () => {
  db = await openTemporaryStore(silent, createSlowClock())
  await migrate(db, silent)
  proxy = createServer((request, response) => {
    const { method, headers, url: path } = request
    const onward = httpRequest(node.url + path, { method: method as string, headers }, (answer) => {
      response.writeHead(answer.statusCode as number, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  publicUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  node = await AuthNode.open({ db, clock: new NodeClock(Date.now()), publicUrl })
  await write(db, async (transaction) => {
    const { customer } = await ensureCustomer(transaction, 'test', { name: 'acme', streaming: true })
    const made = await ensureClient(transaction, 'test', customer.id, { name: 'feed', scopes: [STREAM_SCOPE] })
    clientId = made.client.client_id
    clientSecret = made.secret?.client_secret as string
  })
  await node.until((directory) => directory.secretHashes(clientId).length === 1)
})
afterAll(async () => {
  proxy.closeAllConnections()
  proxy.close()
  await node?.close()
  await db?.close()
})

const METHODS = [
  ['client_secret_basic', openid.ClientSecretBasic],
  ['client_secret_post', openid.ClientSecretPost],
] as const

function discover(authentication: openid.ClientAuth, id = clientId): Promise<openid.Configuration> {
  const options: openid.DiscoveryRequestOptions = { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] }
  return openid.discovery(new URL(publicUrl), id, undefined, authentication, options)
}

const payloadOf = (token: string) => JSON.parse(atob(token.split('.')[1] as string)) as Record<string, unknown>

describe.each(METHODS)('openid-client with %s', (method, authenticationOf) => {
  it('openid-client discovers the service, gets a token that opens the stream, and revokes it', async () => {
    const configuration = await discover(authenticationOf(clientSecret))
    const metadata = configuration.serverMetadata()
    expect(metadata.token_endpoint_auth_methods_supported).toContain(method)
    const grant = await openid.clientCredentialsGrant(configuration, { scope: STREAM_SCOPE })
    expect(grant).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: STREAM_SCOPE })
    expect(payloadOf(grant.access_token)).toMatchObject({ iss: metadata.issuer, client_id: clientId })
    const { closed } = await node.stream(grant.access_token)
    await openid.tokenRevocation(configuration, grant.access_token)
    expect(await closed).toBe(4001)
    expect(await node.status(grant.access_token)).toBe(401)
    await openid.tokenRevocation(configuration, 'never issued')
  })

  it.each<[string, number, () => Promise<unknown>]>([
    ['invalid_client', 401, async () => grant(authenticationOf('wrong'), { scope: STREAM_SCOPE })],
    [
      'invalid_client',
      401,
      async () => grant(authenticationOf(clientSecret), { scope: STREAM_SCOPE }, `${method} unknown`),
    ],
    ['invalid_scope', 400, async () => grant(authenticationOf(clientSecret), { scope: 'openid' })],
    ['invalid_scope', 400, async () => grant(authenticationOf(clientSecret), {})],
    ['invalid_scope', 400, async () => grant(authenticationOf(clientSecret), { scope: 'identity:write_account' })],
    [
      'unsupported_grant_type',
      400,
      async () => openid.refreshTokenGrant(await discover(authenticationOf(clientSecret)), 'x'),
    ],
    [
      'invalid_request',
      400,
      async () => {
        const twice = new URLSearchParams({ scope: STREAM_SCOPE })
        twice.append('scope', STREAM_SCOPE)
        return grant(authenticationOf(clientSecret), twice)
      },
    ],
    ['invalid_client', 401, async () => openid.tokenRevocation(await discover(authenticationOf('wrong')), 'x')],
  ])('reads the error %s (%s)', async (code, status, ask) => {
    const error = await ask().then(
      () => expect.unreachable('it was granted'),
      (thrown: unknown) => thrown as openid.ResponseBodyError | openid.WWWAuthenticateChallengeError,
    )
    expect(error.status).toBe(status)
    // With HTTP Basic the library reports a 401 by its challenge.
    if (error instanceof openid.WWWAuthenticateChallengeError) {
      expect([code, method, error.cause[0]?.scheme]).toEqual(['invalid_client', 'client_secret_basic', 'basic'])
    } else {
      expect(error).toMatchObject({ error: code, error_description: expect.stringMatching(/./) })
    }
  })

  async function grant(authentication: openid.ClientAuth, form: Record<string, string> | URLSearchParams, id?: string) {
    return openid.clientCredentialsGrant(await discover(authentication, id), form)
  }
})

describe('the rotation of a secret', () => {
  it('rotating a secret always leaves the client one secret that works, and ends no token', async () => {
    const second = await write(db, (transaction) => createSecret(transaction, 'test', clientId))
    await node.until((directory) => directory.secretHashes(clientId).length === 2)
    const grant = async (secret: string) =>
      openid.clientCredentialsGrant(await discover(openid.ClientSecretPost(secret)), { scope: STREAM_SCOPE })
    const early = await grant(clientSecret)
    await grant(second.client_secret)
    const [first] = (await write(db, (transaction) => changeClient(transaction, 'test', clientId, { enabled: true })))
      .secrets
    await write(db, (transaction) => deleteSecret(transaction, 'test', clientId, first?.id as string))
    await node.until((directory) => directory.secretHashes(clientId).length === 1)
    await expect(grant(clientSecret)).rejects.toMatchObject({ error: 'invalid_client' })
    await grant(second.client_secret)
    expect(await node.status(early.access_token)).toBe(426)
    clientSecret = second.client_secret
  })
})

describe('the metadata documents', () => {
  const document = async (name: string, base = publicUrl) => {
    const response = await fetch(`${base}/.well-known/${name}`)
    return { headers: response.headers, status: response.status, body: (await response.json()) as Document }
  }

  it('the metadata documents name every endpoint under the configured public address', async () => {
    const { headers, body } = await document('oauth-authorization-server')
    expect(headers.get('cache-control')).toBe('public, max-age=300')
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    const methods = ['client_secret_basic', 'client_secret_post']
    expect(body).toEqual({
      issuer: publicUrl,
      token_endpoint: `${publicUrl}/oauth2/token`,
      revocation_endpoint: `${publicUrl}/oauth2/revoke`,
      jwks_uri: `${publicUrl}/.well-known/jwks.json`,
      scopes_supported: Object.keys(SCOPES),
      response_types_supported: [],
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
    })
  })

  it('the metadata documents name the requested address when none is configured, for that request only', async () => {
    const other = await AuthNode.open({ db, clock: new NodeClock(Date.now()) })
    const { headers, body } = await document('oauth-authorization-server', other.url)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toMatchObject({ issuer: publicUrl, token_endpoint: `${other.url}/oauth2/token` })
    await other.close()
  })

  it('the metadata documents contain the public members of every live key and nothing else, and verify a token', async () => {
    const { headers, body } = await document('jwks.json')
    expect(headers.get('cache-control')).toBe('public, max-age=300')
    expect(body.keys).toHaveLength(node.directory.keys.length)
    for (const key of body.keys) expect(Object.keys(key)).toEqual(['kty', 'crv', 'x', 'y', 'kid', 'alg', 'use'])
    const token = await node.token({ client_id: clientId, client_secret: clientSecret }, STREAM_SCOPE)
    const [header, payload, signature] = token.split('.') as [string, string, string]
    const { kid, typ } = JSON.parse(atob(header)) as { kid: string; typ: string }
    expect(typ).toBe('at+jwt')
    const key = createPublicKey({ key: body.keys.find((jwk) => jwk.kid === kid) as JsonWebKey, format: 'jwk' })
    const signed = Buffer.from(`${header}.${payload}`)
    expect(verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))).toBe(true)
  })

  it('the metadata documents are 503 until the directory is loaded', async () => {
    const app = createHttpServer({
      listener: 'public',
      log: silent,
      metrics: createMetricsRegistry(),
      headerBytesMax: 16_384,
      requestMilliseconds: 30_000,
      translate: () => undefined,
    })
    registerWellKnownRoutes(app, { directory: new Directory(), publicUrl: '', scopes: [] })
    const url = await listenOnFreePort(app)
    for (const name of ['jwks.json', 'oauth-authorization-server']) {
      const { status, headers, body } = await document(name, url)
      expect([status, headers.get('retry-after'), body.code]).toEqual([503, '1', 'unavailable'])
    }
    await app.close()
  })
})

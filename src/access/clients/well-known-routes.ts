/**
 * The token issuer's public keys (RFC 7517) and metadata (RFC 8414). Both come from the directory and are 503 until it
 * is loaded. They never contain a private part.
 */
import type { KeyObject } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Scope } from '../../contract/scopes.ts'
import { Problem } from '../../platform/http/problem.ts'
import { ALGORITHM } from './access-token.ts'
import type { Directory } from './directory.ts'
import type { Authority } from './directory-records.ts'
import { REVOCATION_PATH, TOKEN_PATH } from './token-endpoint/token-routes.ts'

export interface WellKnownOptions {
  readonly directory: Directory
  /** The public address. Empty: the address that received the request. */
  readonly publicUrl: string
  /** The served operations' scopes. */
  readonly scopes: readonly Scope[]
}

interface PublishedKey {
  readonly keyId: string
  readonly publicKey: KeyObject
}

const JWKS_PATH = '/.well-known/jwks.json'
const METADATA_PATH = '/.well-known/oauth-authorization-server'
/** A fraction of a key's publication time before it signs. */
const CACHE = 'public, max-age=300'

export function registerWellKnownRoutes(
  app: FastifyInstance,
  { directory, publicUrl, scopes }: WellKnownOptions,
): void {
  app.get(JWKS_PATH, async (_request, reply) => {
    return sendKeySet(reply, directory, directory.keys)
  })
  app.get(METADATA_PATH, async (request, reply) => {
    const { issuer } = authorityOf(directory)
    // A document with the request's own address must not be cached.
    reply.header('cache-control', publicUrl === '' ? 'no-store' : CACHE)
    return metadataOf(issuer, publicUrl === '' ? addressOf(request) : publicUrl, scopes)
  })
}

/** Answers with a JWK Set for the public parts of `keys`, or 503 while the directory is not loaded. */
export function sendKeySet(reply: FastifyReply, directory: Directory, keys: readonly PublishedKey[]): string {
  authorityOf(directory)
  reply.header('cache-control', CACHE).type('application/jwk-set+json; charset=utf-8')
  return JSON.stringify({ keys: keys.map(publicJwk) })
}

function authorityOf(directory: Directory): Authority {
  if (directory.authority !== undefined) return directory.authority
  throw new Problem('unavailable', 'the signing keys are not loaded yet', { headers: { 'retry-after': '1' } })
}

/** Members are selected one by one, so a key's private part cannot be published. */
function publicJwk({ keyId, publicKey }: PublishedKey): object {
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' })
  return { kty, crv, x, y, kid: keyId, alg: ALGORITHM, use: 'sig' }
}

/** RFC 8414 section 2. There is no authorization endpoint, so there are no response types. */
function metadataOf(issuer: string, url: string, scopes: readonly Scope[]): object {
  const methods = ['client_secret_basic', 'client_secret_post']
  return {
    issuer,
    token_endpoint: url + TOKEN_PATH,
    revocation_endpoint: url + REVOCATION_PATH,
    jwks_uri: url + JWKS_PATH,
    scopes_supported: scopes,
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: methods,
  }
}

function addressOf({ protocol, host }: FastifyRequest): string {
  return `${protocol}://${host}`
}

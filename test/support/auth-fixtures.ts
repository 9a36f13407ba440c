/**
 * Fixtures for authentication tests: signing keys, a listener on a free port, and the operator API on its own store.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { readAuthority } from '../../src/access/clients/authority.ts'
import { Directory } from '../../src/access/clients/directory.ts'
import { DirectoryLoader } from '../../src/access/clients/directory-loader.ts'
import type { Authority, SigningKey } from '../../src/access/clients/directory-records.ts'
import type { EncryptionKey } from '../../src/access/clients/encryption-key.ts'
import { registerAuthOperatorRoutes } from '../../src/access/clients/operator-routes.ts'
import { servedScopes } from '../../src/contract/scopes.ts'
import { type Clock, createSystemClock } from '../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { createOperatorListener } from '../../src/service/listeners/operator-listener.ts'
import { captureLog } from './captured-log.ts'
import { operatorAccess } from './operator-access.ts'
import { openTestStore } from './test-store.ts'

export function newSigningKey(keyId: string): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { keyId, privateKey, publicKey, signsFromMilliseconds: 0, signsUntilMilliseconds: undefined }
}

export function newAuthority(): Authority {
  return { issuer: 'https://issuer.test', audience: 'https://audience.test', pepper: randomBytes(32) }
}

export async function listenOnFreePort(app: FastifyInstance): Promise<string> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

export interface OperatorFixture {
  readonly db: Db
  readonly clock: Clock
  readonly directory: Directory
  readonly loader: DirectoryLoader
  readonly url: string
  readonly token: string
  readonly lines: readonly string[]
  close(): Promise<void>
}

/** The address that customers use. */
export const PUBLIC_URL = 'https://api.example.com'
export const STREAM_URL = 'wss://stream.example.com'

/**
 * Starts the operator listener on its own store.
 * @param encryptionKey the key for a node that received it after the store had been created without one
 */
export async function openOperatorFixture(encryptionKey?: EncryptionKey): Promise<OperatorFixture> {
  const { log, lines } = captureLog()
  const clock = createSystemClock()
  const db = await openTestStore({ log })
  const directory = new Directory()
  if (encryptionKey !== undefined) await readAuthority(db, '')
  const loader = new DirectoryLoader({ db, directory, clock, log, publicUrl: '', encryptionKey })
  await loader.refresh()
  const refreshDirectory = () => loader.refresh()
  const token = randomBytes(32).toString('base64url')
  const listener = await createOperatorListener({
    host: '127.0.0.1',
    port: 0,
    token,
    log,
    metrics: createMetricsRegistry(),
    clock,
    allowedHosts: () => [],
    ...operatorAccess(db, clock),
    onGuess: () => undefined,
    readiness: () => ({ ready: directory.loaded, checks: [] }),
    modules: [
      (app) =>
        registerAuthOperatorRoutes(app, {
          db,
          clock,
          issuesTokens: true,
          scopes: servedScopes(true, true),
          encryptionKey,
          publicUrl: () => PUBLIC_URL,
          streamUrl: () => STREAM_URL,
          refreshDirectory,
        }),
    ],
  })
  return {
    db,
    clock,
    directory,
    loader,
    url: listener.url,
    token,
    lines,
    async close() {
      await listener.close()
      await loader.stop()
      await db.close()
    },
  }
}

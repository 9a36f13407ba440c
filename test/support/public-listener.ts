/** The public listener with a gateway that responds as a test specifies, and an empty directory. */
import { expect } from 'vitest'
import { Directory } from '../../src/access/clients/directory.ts'
import { servedScopes } from '../../src/contract/scopes.ts'
import { createSystemClock } from '../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import type { Db } from '../../src/platform/store/db.ts'
import {
  createPublicListener,
  type PublicListener,
  type PublicListenerOptions,
} from '../../src/service/listeners/public-listener.ts'
import { captureLog } from './captured-log.ts'

export function openPublicListener(options: Partial<PublicListenerOptions> = {}): Promise<PublicListener> {
  const never = () => expect.unreachable('nothing here reads the store')
  return createPublicListener({
    host: '127.0.0.1',
    port: 0,
    trustedProxies: [],
    corsOrigins: [],
    issuesTokens: true,
    publicUrl: '',
    modules: [],
    headerBytesMax: 16_384,
    unfinishedBytesMax: 67_108_864,
    tokenSeconds: 3600,
    scopes: servedScopes(true, true),
    tokenRatePerSecond: 1_000,
    directory: new Directory(),
    db: new Proxy({} as Db, { get: never }),
    refreshDirectory: never,
    gateway: { check: async () => undefined, upgrade: (_request, socket) => socket.end('HTTP/1.1 101 x\r\n\r\n') },
    log: captureLog().log,
    metrics: createMetricsRegistry(),
    clock: createSystemClock(),
    ...options,
  })
}

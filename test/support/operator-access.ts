/** The operator listener's parts that concern people, for tests whose operator holds the single token. */
import { Access } from '../../src/access/operators/access.ts'
import { LoginAttempts } from '../../src/access/operators/login-attempts.ts'
import { Passwords } from '../../src/access/operators/passwords.ts'
import type { Clock } from '../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import type { Db } from '../../src/platform/store/db.ts'

/** Setup links that no test opens. */
export const NO_LINKS = {
  linkAddress: (token: string) => `http://127.0.0.1/console/#setup=${token}`,
  renewFirstLink: async () => ({ token: 'none', expiresAt: new Date(0).toISOString(), file: 'none' }),
}

export function operatorAccess(db: Db, clock: Clock) {
  const channel = { publicUrl: '', isTrustedProxy: () => false }
  const nothing = () => undefined
  return {
    db,
    channel,
    trustedProxies: [],
    fourEyes: () => [],
    linkAddress: NO_LINKS.linkAddress,
    access: new Access({
      db,
      clock,
      channel,
      passwords: new Passwords(),
      attempts: new LoginAttempts({
        clock,
        metrics: createMetricsRegistry(),
        onFailedLogin: nothing,
        recordFailures: async () => undefined,
      }),
      encryptionKey: undefined,
      onFirstAdmin: nothing,
    }),
  }
}

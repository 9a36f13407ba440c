import { defineConfig } from 'vitest/config'
import { FAST_STORE_STARTS, wasBuiltForThisRun } from './test/support/command-line.ts'
import { findPostgresPrograms } from './test/support/postgres-programs.ts'

/** Set by `npm run test:long`: long counts in the ordinary files, and the files that are nothing but long. */
const long = process.env.TIDEGATE_LONG === '1'

/** What stands on a store is proved on each of its engines; everything else runs once, with the embedded one. */
const ON_EACH_ENGINE = [
  'test/accounts/**/*.test.ts',
  'test/auth/directory-*.test.ts',
  'test/auth/key-encryption.test.ts',
  'test/auth/operator-routes.test.ts',
  'test/channel/commit-times.test.ts',
  'test/deposit-instructions/*.test.ts',
  'test/description/fuzz.test.ts',
  'test/end-to-end/**/*.test.ts',
  'test/rest/creation-order.test.ts',
  'test/rest/foreign-locks.test.ts',
  'test/rest/isolation.test.ts',
  'test/rest/page-bytes.test.ts',
  'test/rest/paging.test.ts',
  'test/rules/rule-approval.test.ts',
  'test/rules/rule-quotas.test.ts',
  'test/rules/rules.test.ts',
  'test/store/creation-time.test.ts',
]

/** Half a minute each on two cores. */
const ABOUT_STREAMS_ALONE = ['test/end-to-end/paused-reader.test.ts', 'test/end-to-end/recorded-venues.test.ts']

const BUILT_THREADS = new URL('test/support/built-thread.ts', import.meta.url).pathname
const hasPostgres = findPostgresPrograms() !== undefined

export default defineConfig({
  test: {
    globalSetup: ['test/support/store-template-setup.ts', 'test/support/postgres-setup.ts'],
    pool: 'forks',
    execArgv: FAST_STORE_STARTS,
    // `npm test` has compiled the sources: threads then start from there, without a loader of their own.
    alias: wasBuiltForThisRun ? [{ find: /^.*\/base\/thread\.ts$/, replacement: BUILT_THREADS }] : [],
    maxWorkers: 2,
    // Only to end what hangs: far above what the slowest takes where five processes share a core.
    testTimeout: long ? 3_600_000 : 300_000,
    hookTimeout: 300_000,
    // Ten seconds, the default, may pass before the shared PostgreSQL has stopped; the run would end without it.
    teardownTimeout: 120_000,
    // Of `expect.poll`; one second, the default, is less than a busy machine may stand still.
    expect: { poll: { timeout: 45_000, interval: 20 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'embedded',
          include: ['test/**/*.test.ts', ...(long ? ['test/**/*.long.ts'] : [])],
          provide: { engine: 'embedded' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: hasPostgres ? ON_EACH_ENGINE : [],
          // The first starts servers of its own; the others are about streams, which no store slows: on both in the long run.
          exclude: ['test/end-to-end/store-outage.test.ts', ...(long ? [] : ABOUT_STREAMS_ALONE)],
          provide: { engine: 'postgres' },
        },
      },
    ],
  },
})

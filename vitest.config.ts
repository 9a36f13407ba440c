import { defineConfig } from 'vitest/config'
import { FAST_STORE_STARTS, wasBuiltForThisRun } from './test/support/command-line.ts'
import { findPostgresPrograms } from './test/support/postgres-programs.ts'
import { ISOLATED_FILES, LongestFirst, suitesWithStore } from './test/support/test-runs.ts'

/** Set by `npm run test:long`: long counts in the ordinary files, and the files that are nothing but long. */
const long = process.env.TIDEGATE_LONG === '1'

/**
 * What an engine of the store could do differently, and the way of money from its report to its delivery: on each engine
 * in the whole run too. Its other suites with a store run on PostgreSQL where it is installed, which takes a third of the
 * embedded store's processor time and serves callers at the same moment. The long run has every suite on each.
 */
const ON_EACH_ENGINE = [
  'test/access/clients/directory-loader.test.ts',
  'test/access/clients/directory-nodes.test.ts',
  'test/access/clients/key-encryption.test.ts',
  'test/access/events/events.test.ts',
  'test/access/webhook-endpoints/endpoints.test.ts',
  'test/end-to-end/orchestration-story.test.ts',
  'test/money/controls/gates.test.ts',
  'test/money/controls/store-identity.test.ts',
  'test/money/deposits/crediting.test.ts',
  'test/money/ledger/entries.test.ts',
  'test/money/orchestrations/pricing/price.test.ts',
  'test/money/orchestrations/start.test.ts',
  'test/platform/store/creation-time.test.ts',
  'test/service/doctor/decimals-check.test.ts',
  'test/streaming/candles/candles.test.ts',
  'test/streaming/markets/commit-times.test.ts',
  'test/streaming/markets/feed-lease-table.test.ts',
]

/** Left to the long run whole: what costs most beside what other suites prove already in the ordinary one. */
const IN_THE_LONG_RUN_ALONE = [
  'test/cli/stalled-log.test.ts',
  'test/end-to-end/{cut-off-gateway,recorded-venues,service-life}.test.ts',
  'test/examples/torture.test.ts',
  'test/hostile/{hostile-clients,hostile-peers,token-guessing,without-token}.test.ts',
]

/** Minutes each in the long run, and no suite tests an engine: on PostgreSQL alone there too. */
const LONG_ON_ONE_ENGINE = [
  'test/money/controls/movements.test.ts',
  'test/money/deposits/right-state.test.ts',
  'test/money/destinations/stolen-secret.test.ts',
  'test/rest/{creation-order,hostile-bodies,isolation}.test.ts',
  'test/service/api-docs/fuzz.test.ts',
  'test/end-to-end/{paused-reader,publication-kills,real-input,recorded-venues,relay-chain,simulator-stream,store-outage}.test.ts',
]

/** In the whole run, files share processes; a single file is one of the project `embedded` wherever it stands. */
const isSharing = wasBuiltForThisRun
/** Of the whole run; named on the command line, such a file runs. */
const left = isSharing && !long ? IN_THE_LONG_RUN_ALONE : []
const withStore = suitesWithStore()
const withoutStore = ON_EACH_ENGINE.find((path) => !withStore.includes(path))
if (withoutStore !== undefined) throw new Error(`${withoutStore} has no store`)
const hasPostgres = findPostgresPrograms() !== undefined
const all = ['test/**/*.test.ts']
const BUILT_THREADS = new URL('test/support/built-thread.ts', import.meta.url).pathname
const TEMPLATE_ON_DEMAND = new URL('test/support/template-on-demand.ts', import.meta.url).pathname
/** Of a process of tests, which makes much garbage: fewer collections save a twentieth of its processor time. */
const FEW_COLLECTIONS = ['--max-semi-space-size=64']

export default defineConfig({
  test: {
    globalSetup: 'test/support/postgres-setup.ts',
    setupFiles: ['test/support/validated-answers.ts'],
    pool: 'forks',
    execArgv: [...FAST_STORE_STARTS, ...FEW_COLLECTIONS],
    // `npm test` has built the program: threads then start from there, without a loader of their own.
    alias: wasBuiltForThisRun
      ? [{ find: /^.*\/base\/thread\.ts$/, replacement: BUILT_THREADS }]
      : [{ find: /^\.\/store-template\.ts$/, replacement: TEMPLATE_ON_DEMAND }],
    // Two more than the two cores that a run is meant for: many files wait for seconds.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Only to end what hangs: far above what the slowest takes where five processes share a core.
    testTimeout: long ? 3_600_000 : 300_000,
    hookTimeout: long ? 3_600_000 : 300_000,
    // Ten seconds, the default, may pass before the shared PostgreSQL has stopped; the run would end without it.
    teardownTimeout: 120_000,
    // The issuer's warnings that it is one of tests.
    onConsoleLog: (text) => !text.startsWith('oidc-provider '),
    // Of `expect.poll`; one second, the default, is less than a busy machine may stand still.
    expect: { poll: { timeout: 45_000, interval: 20 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'embedded',
          include: [...(isSharing ? ISOLATED_FILES : all), ...(long ? ['test/**/*.long.ts'] : [])],
          exclude: left,
          provide: { engine: 'embedded' },
        },
      },
      {
        extends: true,
        test: {
          name: 'sharing a process',
          include: isSharing ? (hasPostgres && !long ? ON_EACH_ENGINE : all) : [],
          exclude: [...ISOLATED_FILES, ...(hasPostgres && long ? LONG_ON_ONE_ENGINE : []), ...left],
          // The long counts of one file leave memory behind that costs the next one processor time.
          isolate: long,
          provide: { engine: 'embedded' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          // One project for the whole run's files with a store and without: a process is reused for files of one project.
          include: hasPostgres ? (isSharing && !long ? all : withStore) : [],
          exclude: [...ISOLATED_FILES, ...left],
          isolate: !isSharing || long,
          provide: { engine: 'postgres' },
        },
      },
    ],
  },
})

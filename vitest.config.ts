import { defineConfig } from 'vitest/config'
import { FAST_STORE_STARTS, wasBuiltForThisRun } from './test/support/command-line.ts'
import { findPostgresPrograms } from './test/support/postgres-programs.ts'
import { ISOLATED_FILES, LongestFirst } from './test/support/test-runs.ts'

/** Set by `npm run test:long`: long counts in the ordinary files, and the files that are nothing but long. */
const long = process.env.TIDEGATE_LONG === '1'

/**
 * What an engine of the store could do differently is tested on each: types, locks, losses of the store, the way of money
 * from its report to its delivery.
 */
const ON_EACH_ENGINE = [
  'test/service/doctor/decimals-check.test.ts',
  'test/access/clients/{directory-loader,directory-nodes,key-encryption}.test.ts',
  'test/access/events/events.test.ts',
  'test/access/metering/usage.test.ts',
  'test/access/webhook-endpoints/*.test.ts',
  'test/money/controls/{gates,store-identity}.test.ts',
  'test/money/deposits/crediting.test.ts',
  'test/end-to-end/{key-encryption,orchestration-story}.test.ts',
  'test/money/ledger/{entries,ledger}.test.ts',
  'test/streaming/gateway/events.test.ts',
  'test/streaming/candles/{candles,replayed-day}.test.ts',
  'test/streaming/markets/{commit-times,feed-lease-table}.test.ts',
  'test/money/orchestrations/start.test.ts',
  'test/money/orchestrations/pricing/price.test.ts',
  'test/platform/store/creation-time.test.ts',
]

/**
 * Callers at the same moment, which the embedded store's one session serves in turn: on PostgreSQL where it is installed,
 * and in the long run on each.
 */
const ON_POSTGRES_ALONE = [
  'test/money/controls/movements.test.ts',
  'test/money/accounts/{account-changes,lists,quota-migration,quotas,review-notes,routes,whole-or-nothing}.test.ts',
  'test/access/clients/{customer-search,directory-changes}.test.ts',
  'test/money/destinations/{gate,migration,registration}.test.ts',
  'test/money/deliveries/{manual,unknown-attempts,webhook-sender}.test.ts',
  'test/money/deposit-instructions/{allocation,fiat-instructions,listing,pool-metrics,pool-reserve}.test.ts',
  'test/money/deposits/{bank-references,correct,identity,operator-actions,repayments,right-state}.test.ts',
  'test/access/operators/{four-eyes,lock-order,openid-faults,openid-login,roles,sessions,stream}.test.ts',
  'test/money/orchestrations/{cancel,convert,kills,lock-order,orchestrations,runner,simulation,versions}.test.ts',
  'test/rest/{creation-order,foreign-locks}.test.ts',
  'test/money/limits/{concurrent,limits,oracle}.test.ts',
  'test/money/rules/{rule-quotas,rules}.test.ts',
  'test/money/screening/*.test.ts',
  'test/money/transfers/*.test.ts',
]

/**
 * Anything else with a store could run on either. In the whole run these are on PostgreSQL, which takes a third of the
 * processor time of the embedded store; in the long run on each.
 */
const FASTER_ON_POSTGRES = [
  'test/money/accounts/{model,operator-routes,profiles,validation}.test.ts',
  'test/money/destinations/{operator-routes,stolen-secret}.test.ts',
  'test/adapters/fix-end-to-end.test.ts',
  'test/service/listeners/operator-api.test.ts',
  'test/access/clients/{oauth-clients,operator-routes,outside-issuer,receipt-keys,token-routes}.test.ts',
  'test/money/deposit-instructions/routes.test.ts',
  'test/money/deposits/sandbox.test.ts',
  'test/service/api-docs/{fuzz,openapi}.test.ts',
  'test/end-to-end/!(key-encryption|orchestration-story|store-outage).test.ts',
  'test/streaming/gateway/{market-routes,operator-routes}.test.ts',
  'test/rest/{hostile-bodies,isolation,page-bytes,paging,request-schemas}.test.ts',
  'test/money/rules/{rule-approval,rule-validation}.test.ts',
]

/** Left to the long run whole: what costs most beside what other suites prove already in the ordinary one. */
const IN_THE_LONG_RUN_ALONE = [
  'test/cli/stalled-log.test.ts',
  'test/end-to-end/{cut-off-gateway,recorded-venues,service-life}.test.ts',
  'test/examples/torture.test.ts',
  'test/hostile/{hostile-clients,hostile-peers,token-guessing,without-token}.test.ts',
]

/** Of these, minutes each in the long run, and no suite tests an engine: on PostgreSQL alone there too. */
const LONG_ON_ONE_ENGINE = [
  'test/money/controls/movements.test.ts',
  'test/money/destinations/stolen-secret.test.ts',
  'test/end-to-end/{paused-reader,publication-kills,real-input,recorded-venues,relay-chain,simulator-stream}.test.ts',
]

/** In the whole run, files share processes; a single file is one of the project `embedded` wherever it stands. */
const isSharing = wasBuiltForThisRun
/** Of the whole run; named on the command line, such a file runs. */
const left = isSharing && !long ? IN_THE_LONG_RUN_ALONE : []
const onPostgres = [...ON_EACH_ENGINE, ...ON_POSTGRES_ALONE, ...(isSharing ? FASTER_ON_POSTGRES : [])]
const BUILT_THREADS = new URL('test/support/built-thread.ts', import.meta.url).pathname
const TEMPLATE_ON_DEMAND = new URL('test/support/template-on-demand.ts', import.meta.url).pathname
/** Of a process of tests, which makes much garbage: fewer collections save a twentieth of its processor time. */
const FEW_COLLECTIONS = ['--max-semi-space-size=64']
const hasPostgres = findPostgresPrograms() !== undefined

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
          include: [...(isSharing ? ISOLATED_FILES : ['test/**/*.test.ts']), ...(long ? ['test/**/*.long.ts'] : [])],
          exclude: left,
          provide: { engine: 'embedded' },
        },
      },
      {
        extends: true,
        test: {
          name: 'sharing a process',
          include: isSharing ? ['test/**/*.test.ts'] : [],
          exclude: [
            ...ISOLATED_FILES,
            ...(hasPostgres ? (long ? LONG_ON_ONE_ENGINE : [...ON_POSTGRES_ALONE, ...FASTER_ON_POSTGRES]) : []),
            ...left,
          ],
          // The long counts of one file leave memory behind that costs the next one processor time.
          isolate: long,
          provide: { engine: 'embedded' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: hasPostgres ? onPostgres : [],
          exclude: left,
          isolate: !isSharing || long,
          provide: { engine: 'postgres' },
        },
      },
    ],
  },
})

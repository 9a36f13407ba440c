/** The parts whose mutants `npm run faults` samples, each with the test files that may catch them. */

export interface Core {
  readonly name: string
  /** Folders and files. */
  readonly sources: readonly string[]
  /** Folders and files; a mutant runs those that reach it, the file of the same name first. */
  readonly tests: readonly string[]
}

export const CORES: readonly Core[] = [
  {
    name: 'book engine',
    sources: ['src/streaming/market', 'src/streaming/sequencing'],
    tests: [
      'test/streaming/market',
      'test/streaming/sequencing',
      'test/streaming/gateway/extended-simulation.test.ts',
      'test/streaming/gateway/golden.test.ts',
      'test/streaming/gateway/publication.test.ts',
      'test/streaming/gateway/receipts.test.ts',
      'test/streaming/links/market-proofs.test.ts',
    ],
  },
  {
    name: 'fan-out',
    sources: ['src/streaming/gateway'],
    tests: ['test/streaming/gateway', 'test/simulation/simulation.test.ts'],
  },
  {
    name: 'money',
    sources: ['src/money/ledger', 'src/money/deposits', 'src/money/orchestrations', 'src/money/rules'],
    tests: ['test/money/ledger', 'test/money/deposits', 'test/money/orchestrations', 'test/money/rules'],
  },
  {
    name: 'access',
    sources: ['src/access/clients', 'src/access/operators'],
    tests: ['test/access', 'test/money/accounts/routes.test.ts', 'test/rest'],
  },
]

/** Their texts describe an interface and decide nothing, or run in another process than the tests. */
export const WITHOUT_MUTANTS =
  /(?:^|\/)(?:schemas|entry-schemas|metrics|gateway-process(?:es)?|supervised-process)\.ts$/

/** They test other processes, in which there is no mutant. */
export const WITHOUT_USE = /\/(?:gateway-processes|kills)\.test\.ts$/

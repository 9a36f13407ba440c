/**
 * How `npm test` runs the test files: which of them share a process, and which begin first. A single file run with vitest
 * needs neither.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Suites whose files change nothing that a process has once (test/structure looks for that). A few processes run them
 * all, so that what they import is loaded a few times instead of two hundred times.
 */
export const SHARING_FOLDERS = [
  'auth',
  'base',
  'channel',
  'config',
  'controls',
  'deliveries',
  'deposits',
  'description',
  'feed',
  'gateway',
  'http',
  'ledger',
  'market',
  'markets',
  'orchestrations',
  'rest',
  'rules',
  'transfers',
]

/** Half a minute each on two cores, and mostly waiting: begun last, one would run alone. */
const FIRST = [
  'test/examples/examples.test.ts',
  'test/hostile/hostile-peers.test.ts',
  'test/examples/torture.test.ts',
  'test/end-to-end/service-life.test.ts',
  'test/cli/service.test.ts',
  'test/store/embedded.test.ts',
  'test/power-loss/power-loss.test.ts',
  'test/end-to-end/paused-reader.test.ts',
  'test/end-to-end/store-outage.test.ts',
  'test/store/embedded-resources.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = FIRST.findIndex((path) => moduleId.endsWith(path))
      return found === -1 ? FIRST.length : found
    }
    return (await super.sort(files)).sort((left, right) => place(left) - place(right))
  }
}

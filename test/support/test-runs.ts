/**
 * How `npm test` runs the test files: which of them share a process, and which begin first. A single file run with vitest
 * needs neither.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Suites of pure logic, whose files change nothing that a process has once (test/structure looks for that). Two processes
 * run them all, so that what they import is loaded twice instead of a hundred times.
 */
export const SHARING_FOLDERS = ['base', 'channel', 'feed', 'gateway', 'market']

/** Half a minute each on two cores, and mostly waiting: begun last, one would run alone. */
const FIRST = [
  'test/examples/examples.test.ts',
  'test/rest/list-plans.test.ts',
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

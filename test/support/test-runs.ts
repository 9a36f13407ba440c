/**
 * How the test files are run: which of them have a store, which share a process in `npm test`, and which it starts
 * first. In the long run each has its own process, and scripts/long-plan.mjs has the order.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that replace a module, measure the whole process, collect its garbage often, or mostly start other programs.
 * All others share a few processes, so their imports are loaded a few times instead of three hundred times. They must
 * restore the process's global state (test/structure checks that).
 */
export const ISOLATED_FILES = [
  'test/streaming/links/nats-connection.test.ts',
  'test/console/*.test.ts',
  'test/examples/*.test.ts',
  'test/cli/full-disk.test.ts',
  'test/streaming/gateway/frame-path.test.ts',
  'test/hostile/*.test.ts',
  'test/power-loss/*.test.ts',
  'test/platform/store/data-lock.test.ts',
  'test/platform/store/durable-files.test.ts',
  'test/platform/store/embedded-engine.test.ts',
  'test/platform/store/exhausted-resources.test.ts',
  'test/platform/store/embedded.test.ts',
  'test/service/keys/private-file.test.ts',
]

/** In the long run these need a quiet machine: they limit memory, or the time that a step may take. */
export const ALONE_FILES = [
  'test/client/soak.long.ts',
  'test/end-to-end/paused-reader.test.ts',
  'test/end-to-end/wanted-markets.long.ts',
  'test/hostile/hostile-clients.test.ts',
  'test/hostile/hostile-peers.test.ts',
]

/** They take at least a quarter of a minute on two cores, mostly waiting. Started last, one of them would run alone. */
const FIRST = [
  'test/examples/examples.test.ts',
  'test/platform/store/embedded.test.ts',
  'test/power-loss/power-loss.test.ts',
  'test/platform/store/exhausted-resources.test.ts',
  'test/end-to-end/cluster.test.ts',
  'test/end-to-end/nats.test.ts',
  'test/end-to-end/relay-chain.test.ts',
  'test/end-to-end/paused-reader.test.ts',
  'test/end-to-end/store-outage.test.ts',
  'test/cli/service.test.ts',
  'test/streaming/links/link-nats.test.ts',
]

const ROOT = join(import.meta.dirname, '../..')
const TEST_STORE = 'test/support/test-store.ts'

/** The suites whose imports lead to a test's store: it has the engine that their project names. */
export function suitesWithStore(): string[] {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join('test', path))
  const importsOf = new Map(
    files.map((path) => {
      const imports = readFileSync(join(ROOT, path), 'utf8').matchAll(/ from '(\.[^']+)'/g)
      return [path, [...imports].map(([, relative]) => join(dirname(path), relative as string))]
    }),
  )
  const found = new Set([TEST_STORE])
  for (let count = 0; count < found.size; ) {
    count = found.size
    for (const [path, imports] of importsOf) if (imports.some((each) => found.has(each))) found.add(path)
  }
  return [...found].filter((path) => path.endsWith('.test.ts')).sort()
}

/** Their order in a run: a process is reused only for files in the same project, and the last one's are mostly short. */
const PROJECTS = ['embedded', 'sharing a process', 'postgres']

/** One project after the other, and in each the longest files first, in `npm test`. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    if (process.env.TIDEGATE_LONG === '1') return files
    const place = ({ project, moduleId }: TestSpecification): number => {
      const found = FIRST.findIndex((path) => moduleId.endsWith(path))
      return PROJECTS.indexOf(project.name) * (FIRST.length + 1) + (found === -1 ? FIRST.length : found)
    }
    return (await super.sort(files)).sort((left, right) => place(left) - place(right))
  }
}

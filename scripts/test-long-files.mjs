/**
 * Part of `npm run test:long`: runs the test files in one vitest process, those that need a quiet machine alone. It
 * receives the run's earlier outcomes from its parent and sends the plan. Its reporter sends each outcome.
 */
import { join } from 'node:path'
import { register } from 'tsx/esm/api'
import { createVitest } from 'vitest/node'
import { keyOf, planOf } from './long-plan.mjs'
import { ROOT } from './setup.mjs'

register()
const { ALONE_FILES } = await import('../test/support/test-runs.ts')
const { files, outcomes, seconds } = await new Promise((resolve) => process.once('message', resolve))
const reporter = join(ROOT, 'scripts/test-reporter.mjs')
const vitest = await createVitest('test', { root: ROOT, watch: false, reporters: [reporter] })
await vitest.standalone()
const specifications = new Map(
  (await vitest.globTestSpecifications(files)).map((specification) => {
    const path = specification.moduleId.slice(ROOT.length + 1)
    const file = { project: specification.project.name, path, isAlone: ALONE_FILES.includes(path) }
    return [keyOf(file), { specification, file }]
  }),
)
const plan = planOf(
  [...specifications.values()].map(({ file }) => file),
  outcomes,
  seconds,
)
process.send({ plan })
let errors = 0
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await vitest.cancelCurrentRun('keyboard-input')
    await vitest.close()
    process.exit(1)
  })
}
// One run each for those that need a quiet machine: the projects have workers of their own, which no setting here limits.
for (const group of [plan.together, ...plan.alone.map((file) => [file])]) {
  if (group.length === 0) continue
  const { unhandledErrors } = await vitest.runTestSpecifications(
    group.map((file) => specifications.get(keyOf(file)).specification),
  )
  errors += unhandledErrors.length
}
await vitest.close()
process.exitCode = errors > 0 ? 1 : process.exitCode
process.disconnect()

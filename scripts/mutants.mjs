/**
 * The second part of `npm run faults`: mutants of the cores (test/faults/cores.ts), chosen by a seed, each run against
 * the tests that reach it until one fails. One vitest process runs all of them: a mutant replaces the text of its module
 * on the way to the tests, so no file changes and nothing starts again but the test files' own processes.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fail, ROOT } from './setup.mjs'

/** Processor time that a test file may take with a mutant: beyond its time without one, and as a multiple. */
const MARGIN_MILLISECONDS = 20_000
const MARGIN_FACTOR = 4
/** To run all of a core's test files without a mutant. */
const LEARNING_MILLISECONDS = 600_000
/** A test or hook that waits for what a mutant prevents. */
const WAITING_MILLISECONDS = 60_000
const WORKERS = 2
/** Of the second batch of test files, after the nearest one. */
const CHEAP_MILLISECONDS = 5_000

/**
 * @param count how many mutants, divided equally among the cores
 * @param note receives a line per mutant
 * @param show receives the current step
 * @returns one entry per mutant: its core and place, the line before and after, and `caught`, `survived` or `equivalent`
 */
export async function runMutants({ seed, count, note, show }) {
  const { CORES, WITHOUT_MUTANTS, WITHOUT_USE } = await import('../test/faults/cores.ts')
  const { mutantsOf } = await import('../test/faults/mutants.ts')
  const { Random } = await import('../test/support/random.ts')
  const tests = await startTests()
  const results = []
  for (const [place, { name, sources, tests: paths }] of CORES.entries()) {
    const files = filesOf(sources, (file) => file.endsWith('.ts') && !WITHOUT_MUTANTS.test(file))
    const share = Math.floor(count / CORES.length) + (place < count % CORES.length ? 1 : 0)
    const all = files.flatMap((file) => mutantsOf(file, textOf(file)))
    const sample = chooseFrom(all, share, new Random(seed + place))
    if (sample.length === 0) continue
    show(`${name}: tests without a mutant`)
    const known = await tests.learn(
      filesOf(paths, (file) => file.endsWith('.test.ts') && !WITHOUT_USE.test(file)),
      sample,
    )
    for (const [number, mutant] of sample.entries()) {
      show(`${name}: mutant ${number + 1} of ${sample.length}`)
      const reaching = known.filter(({ reached }) => reached.has(number))
      const result = { core: name, ...(await resultOf(mutant, reaching, tests)) }
      results.push(result)
      note(
        `${result.result}: ${result.file}:${result.line} ${result.operator}, ${result.seconds} s, ${result.caughtBy ?? result.after}`,
      )
    }
  }
  await tests.close()
  return results
}

async function resultOf(mutant, reaching, tests) {
  const { EQUIVALENTS } = await import('../test/faults/equivalents.ts')
  const { withMutant } = await import('../test/faults/mutants.ts')
  const { file, line, operator, start, end } = mutant
  const before = textOf(file)
  const after = withMutant(before, mutant)
  const [from, to] = [before.lastIndexOf('\n', start) + 1, before.indexOf('\n', end)]
  const flat = (text) => text.replaceAll(/\s+/g, ' ').trim()
  const changed = {
    before: flat(before.slice(from, to)),
    after: flat(after.slice(from, to + after.length - before.length)),
  }
  const found = { file, line, operator, ...changed, files: reaching.length, seconds: 0 }
  const equivalent = EQUIVALENTS.find(
    (each) => each.file === file && before.replace(each.text, () => each.replacement) === after,
  )
  if (equivalent !== undefined) return { ...found, result: 'equivalent', reason: equivalent.reason }
  const began = performance.now()
  const caughtBy = await tests.firstFailure(nearestFirst(reaching, file), file, after)
  const seconds = Math.round((performance.now() - began) / 1_000)
  return { ...found, seconds, result: caughtBy === undefined ? 'survived' : 'caught', caughtBy: caughtBy ?? null }
}

function textOf(file) {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** The score of each core, and the survivors. */
export function mutantReport(results, seed) {
  if (results.length === 0) return []
  const lines = []
  for (const name of [...new Set(results.map(({ core }) => core))])
    lines.push(
      scoreLine(
        name,
        results.filter(({ core }) => core === name),
      ),
    )
  lines.push(scoreLine('all', results))
  const survivors = results.filter(({ result }) => result === 'survived')
  for (const { file, line, operator, before, after, files } of survivors)
    lines.push(
      `survived: ${file}:${line} ${operator}, ${files === 0 ? 'reached by no test' : `${files} test files`}`,
      `  - ${before}`,
      `  + ${after}`,
    )
  return [...lines, `seed ${seed}`]
}

function scoreLine(name, results) {
  const of = (wanted) => results.filter(({ result }) => result === wanted).length
  const [caught, survived, equivalent] = ['caught', 'survived', 'equivalent'].map(of)
  const score = caught + survived === 0 ? 0 : Math.round((100 * caught) / (caught + survived))
  return `${name.padEnd(12)} ${results.length} mutants, ${caught} caught, ${survived} survived, ${equivalent} equivalent: ${score} %`
}

function chooseFrom(mutants, count, random) {
  const left = [...mutants]
  const chosen = []
  while (chosen.length < count && left.length > 0) chosen.push(...left.splice(random.integer(left.length), 1))
  return chosen
}

function filesOf(paths, isWanted) {
  return paths.flatMap((path) => {
    if (!statSync(join(ROOT, path)).isDirectory()) return [path]
    return readdirSync(join(ROOT, path), { recursive: true })
      .map((name) => join(path, name))
      .filter(isWanted)
      .sort()
  })
}

/** The file with the same name, then the cheapest. */
function nearestFirst(known, file) {
  const rank = ({ file: test, milliseconds }) =>
    basename(test) === `${basename(file, '.ts')}.test.ts` ? -1 : milliseconds
  return [...known].sort((left, right) => rank(left) - rank(right))
}

/** One vitest process, whose tests get the texts in `changed` in place of the source files' own. */
async function startTests() {
  process.env.TESTS_ARE_BUILT = '1'
  const { withReports } = await import('../test/faults/mutants.ts')
  const { vitest, changed, ended } = await startVitest()
  const run = async (specifications, texts, { milliseconds, bail }) => {
    for (const [file, text] of texts) changed.set(file, text)
    for (const file of changed.keys()) vitest.invalidateFile(join(ROOT, file))
    vitest.provide('mutantMilliseconds', milliseconds)
    vitest.config.bail = bail
    ended.length = 0
    const { unhandledErrors } = await vitest.runTestSpecifications(specifications)
    for (const file of changed.keys()) vitest.invalidateFile(join(ROOT, file))
    changed.clear()
    return { modules: [...ended], hasError: unhandledErrors.length > 0 }
  }
  return {
    /** The given test files' processor time, and which of the mutants each reaches. All have to pass. */
    async learn(files, sample) {
      const texts = [...new Set(sample.map(({ file }) => file))].map((file) => {
        const numbered = sample
          .map((mutant, number) => ({ mutant, number }))
          .filter(({ mutant }) => mutant.file === file)
        return [file, withReports(textOf(file), numbered, 'globalThis.reportMutant')]
      })
      const found = await vitest.globTestSpecifications(files)
      // A suite for both engines runs on one, PostgreSQL, the last.
      const specifications = [...new Map(found.map((each) => [each.moduleId, each])).values()]
      const { modules, hasError } = await run(specifications, texts, { milliseconds: LEARNING_MILLISECONDS, bail: 0 })
      const failed = modules.find((module) => !module.ok())
      if (failed !== undefined) fail(`${failed.relativeModuleId} fails without a mutant: ${failures([failed])[0]}`)
      if (hasError || modules.length < specifications.length) fail('tests ended early without a mutant')
      return modules.map((module) => {
        const metas = [...module.children.allTests()].map((test) => test.meta())
        return {
          file: module.relativeModuleId,
          specification: specifications.find(({ moduleId }) => moduleId === module.moduleId),
          milliseconds: Math.max(0, ...metas.map(({ processorMilliseconds = 0 }) => processorMilliseconds)),
          reached: new Set(metas.flatMap(({ reached = [] }) => reached)),
        }
      })
    },
    /** The name of the first test to fail, undefined when all pass. */
    async firstFailure(known, file, text) {
      for (const batch of batches(known)) {
        const milliseconds = Math.max(...batch.map((each) => each.milliseconds)) * MARGIN_FACTOR + MARGIN_MILLISECONDS
        const specifications = batch.map(({ specification }) => specification)
        const { modules, hasError } = await run(specifications, [[file, text]], { milliseconds, bail: 1 })
        const [first] = failures(modules)
        if (first !== undefined || hasError) return first ?? 'the end of a process that does not end'
      }
      return undefined
    },
    close: () => vitest.close(),
  }
}

/** `vitest.config.ts` with a plugin that replaces texts. */
async function startVitest() {
  const { createVitest } = await import('vitest/node')
  const { default: config } = await import('../vitest.config.ts')
  const { projects, setupFiles, globalSetup, ...shared } = config.test
  const changed = new Map()
  // The result of a run has earlier runs' modules too.
  const ended = []
  const reporter = { onTestModuleEnd: (module) => void ended.push(module) }
  const replacing = { name: 'mutants', enforce: 'pre', transform: (_, id) => changed.get(id.slice(ROOT.length + 1)) }
  const projectOf = ({ test }) => {
    const own = {
      isolate: true,
      testTimeout: WAITING_MILLISECONDS,
      hookTimeout: WAITING_MILLISECONDS,
      setupFiles: [...setupFiles, 'test/faults/mutant-setup.ts'],
    }
    return { root: ROOT, plugins: [replacing], test: { ...shared, ...test, ...own } }
  }
  const options = {
    config: false,
    root: ROOT,
    watch: false,
    reporters: [reporter],
    maxWorkers: WORKERS,
    teardownTimeout: 10_000,
  }
  const vitest = await createVitest('test', options, { test: { globalSetup, projects: projects.map(projectOf) } })
  await vitest.standalone()
  return { vitest, changed, ended }
}

function batches(known) {
  const [nearest, ...others] = known
  if (nearest === undefined) return []
  let milliseconds = 0
  const cheap = others.filter((each) => {
    milliseconds += each.milliseconds
    return milliseconds <= CHEAP_MILLISECONDS
  })
  return [[nearest], cheap, others.slice(cheap.length)].filter((batch) => batch.length > 0)
}

function failures(modules) {
  return modules.flatMap((module) => {
    const names = [...module.children.allTests('failed')].map(({ fullName }) => fullName)
    return names.length === 0 && !module.ok() ? [`${module.relativeModuleId} outside of its tests`] : names
  })
}

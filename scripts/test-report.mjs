/**
 * The summary of a test run in addition to vitest's output: counts, failures, skipped suites with the missing program,
 * and the seconds of each folder with its budget (`test/budgets.json`). Only computes text; exceeding a budget is
 * reported but fails nothing, because the machine may be busy.
 */
import { relative } from 'node:path'

const SLOWEST_COUNT = 10

/**
 * Counts tests; skipped ones are grouped under the outermost describe that names the missing program.
 * @param files `testResults` of vitest's JSON report
 * @param root folder to which paths are relative
 */
export function summarise(files, root) {
  const summary = { passed: 0, failures: [], skipped: new Map(), times: [] }
  for (const file of files) {
    const path = relative(root, file.name)
    summary.times.push({ path, seconds: (file.endTime - file.startTime) / 1000 })
    const failedBefore = summary.failures.length
    for (const test of file.assertionResults) {
      if (test.status === 'passed') summary.passed++
      else if (test.status === 'failed') summary.failures.push(`${path}: ${test.fullName}`)
      else {
        const name = `${path}: ${test.ancestorTitles[0] ?? test.title}`
        summary.skipped.set(name, (summary.skipped.get(name) ?? 0) + 1)
      }
    }
    if (file.status === 'failed' && summary.failures.length === failedBefore)
      summary.failures.push(`${path}: does not load`)
  }
  return summary
}

/**
 * Returns lines about the time of the run: seconds per folder of test/ with its budget, and the slowest files.
 * @param times paths of files with their seconds; a file that ran on two engines is listed twice
 * @param budgets allowed seconds per folder, none for a folder that is not named; undefined without budgets
 */
export function timeReport(times, budgets) {
  const folders = new Map()
  for (const { path, seconds } of times) {
    const folder = path.split('/')[1] ?? ''
    folders.set(folder, (folders.get(folder) ?? 0) + seconds)
  }
  const longestFirst = (left, right) => right[1] - left[1]
  const number = (seconds) => seconds.toFixed(1).padStart(8)
  const sum = (values) => values.reduce((total, value) => total + value, 0)
  const line = (name, seconds, allowed) => {
    if (budgets === undefined) return `${number(seconds)}  ${name}`
    const excess = seconds > allowed ? `  over its budget by ${(seconds - allowed).toFixed(1)}` : ''
    return `${number(seconds)} ${number(allowed)}  ${name}${excess}`
  }
  const lines = [`seconds per folder${budgets === undefined ? '' : ', used and allowed'}:`]
  for (const [folder, seconds] of [...folders].sort(longestFirst)) {
    lines.push(line(folder, seconds, budgets?.[folder] ?? 0))
  }
  lines.push(line('in all', sum([...folders.values()]), sum(Object.values(budgets ?? {}))))
  if (times.length <= SLOWEST_COUNT) return lines
  lines.push('seconds of the slowest files:')
  const files = times.map(({ path, seconds }) => [path, seconds]).sort(longestFirst)
  for (const [path, seconds] of files.slice(0, SLOWEST_COUNT)) lines.push(`${number(seconds)}  ${path}`)
  return lines
}

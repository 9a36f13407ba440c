/**
 * A test run's texts: the progress line, the summary with the programs that skipped tests need, and for the details
 * file the seconds per folder with its budget (`test/budgets.json`). Only computes text. Exceeding a budget fails
 * nothing, because the machine may be busy.
 */

const SLOWEST_COUNT = 10
/** In the names of tests skipped because a program is missing: `(needs curl)`. */
const NEEDS = /\(needs ([^)]+)\)/g

/**
 * Adds up the outcomes of test files. A file that ran on two engines has two.
 * @param files as scripts/test-reporter.mjs sends them
 */
export function summarise(files) {
  const summary = { passed: 0, failures: [], skipped: [], times: [] }
  for (const { path, seconds, passed, failed, skipped } of files) {
    summary.passed += passed
    summary.failures.push(...failed.map((name) => `${path}: ${name}`))
    summary.skipped.push(...skipped.map((name) => `${path}: ${name}`))
    summary.times.push({ path, seconds })
  }
  return summary
}

/** A run's last line, which is sufficient alone. */
export function summaryLine({ passed, failures, skipped }) {
  const needs = [...new Set(skipped.flatMap((name) => [...name.matchAll(NEEDS)].map(([, program]) => program)))].sort()
  const count = (number) => number.toLocaleString('en-US')
  return [
    `${count(passed)} passed`,
    ...(failures.length > 0 ? [`${count(failures.length)} failed`] : []),
    `${count(skipped.length)} skipped${needs.length > 0 ? ` (needs: ${needs.join(', ')})` : ''}`,
  ].join(', ')
}

/**
 * @param files the outcomes so far
 * @param count how many test files there are, undefined until the first begins
 */
export function progressText(files, count, seconds) {
  if (count === undefined) return `starting the tests, ${seconds} s`
  const { passed, failures } = summarise(files)
  const failed = failures.length > 0 ? `, ${failures.length} failed` : ''
  return `testing: ${files.length} of ${count} files, ${passed.toLocaleString('en-US')} passed${failed}, ${seconds} s`
}

/**
 * Returns lines about the run's time: seconds per folder in test/ with its budget, and the slowest files.
 * @param times paths of files with their seconds, where a file that ran on two engines is listed twice
 * @param budgets allowed seconds per folder, none for a folder without an entry, or undefined without budgets
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

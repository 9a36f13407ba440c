/**
 * What `npm run test:long` runs, in which order, for how long, and its report. Only computes. A run's state has its
 * facts and one outcome per test file and engine, as scripts/test-reporter.mjs sends it.
 */
import { summarise, summaryLine } from './test-report.mjs'

/** Test files at the same time, as in `vitest.config.ts`; recorded seconds were measured so. */
const FILES_AT_ONCE = 4
/** A file without recorded seconds. */
const UNKNOWN_SECONDS = 2

/** More of one kind of test than fits into the two hours: `--longer NAME`. Other values are given as the variable. */
export const LONGER = {
  chain: { TIDEGATE_CHAIN_MINUTES: '10' },
  cluster: { TIDEGATE_CLUSTER_MINUTES: '60' },
  gates: { TIDEGATE_MOVEMENTS: '10000', TIDEGATE_ORDERS: '10000' },
  gateways: { TIDEGATE_GATEWAY_FAULTS: '40' },
  kills: { TIDEGATE_KILLS: '200' },
  outages: { TIDEGATE_OUTAGES: '20' },
  'power-loss': { TIDEGATE_POWER_LOSS_RUNS: '5' },
  screening: { TIDEGATE_SCREENING_MINUTES: '10' },
  simulation: { TIDEGATE_SIMULATION_MINUTES: '60' },
  soak: { TIDEGATE_SOAK_MINUTES: '60' },
}

/** The environment variables of `--longer`, or the name that is none. */
export function longerVariables(names) {
  const unknown = names.find((name) => !Object.hasOwn(LONGER, name))
  if (unknown !== undefined) return { unknown }
  return { variables: Object.assign({}, ...names.map((name) => LONGER[name])) }
}

export const keyOf = ({ project, path }) => `${path} (${project})`

/**
 * @param files `{ project, path, isAlone }` of every test file and engine
 * @param outcomes those of an interrupted run; the files that passed there are left out
 */
export function planOf(files, outcomes, seconds) {
  const passed = new Set(outcomes.filter(({ failed }) => failed.length === 0).map(keyOf))
  const left = files.filter((file) => !passed.has(keyOf(file)))
  const longestFirst = (one, other) => secondsOf(other, seconds) - secondsOf(one, seconds)
  return {
    together: left.filter(({ isAlone }) => !isAlone).sort(longestFirst),
    alone: left.filter(({ isAlone }) => isAlone).sort(longestFirst),
  }
}

/** The seconds that the files take which have no outcome yet. */
export function secondsLeft({ together, alone }, outcomes, seconds) {
  const ended = new Set(outcomes.map(keyOf))
  const left = (files) => files.filter((file) => !ended.has(keyOf(file))).map((file) => secondsOf(file, seconds))
  const sum = (values) => values.reduce((total, value) => total + value, 0)
  const first = left(together)
  return Math.max(sum(first) / FILES_AT_ONCE, ...first, 0) + sum(left(alone))
}

function secondsOf(file, seconds) {
  return seconds[keyOf(file)] ?? seconds[file.path] ?? UNKNOWN_SECONDS
}

export function longProgressText(plan, outcomes, seconds, passedSeconds) {
  const count = plan.together.length + plan.alone.length
  const { passed, failures } = summarise(outcomes)
  const failed = failures.length > 0 ? `, ${failures.length} failed` : ''
  const left = `about ${Math.ceil(secondsLeft(plan, outcomes, seconds) / 60)} min left`
  return `testing: ${outcomes.length} of ${count} files, ${passed.toLocaleString('en-US')} passed${failed}, ${Math.round(passedSeconds / 60)} min, ${left}`
}

/**
 * @param state the run: `seed`, `commit`, `machine`, `longer`, `began`, `checks` and `outcomes`, those of a continued run
 * included
 */
export function longReport({ seed, commit, machine, longer, began, ended, checks, outcomes }) {
  const { passed, failures, skipped } = summarise(outcomes)
  const line = (outcome) => {
    const result = outcome.failed.length > 0 ? 'FAILED' : outcome.passed === 0 ? 'skipped' : 'passed'
    return `${result.padEnd(8)}${outcome.seconds.toFixed(1).padStart(8)} s  ${keyOf(outcome)}, ${outcome.passed} tests`
  }
  return [
    `npm run test:long -- --seed ${seed}${longer.map((name) => ` --longer ${name}`).join('')}`,
    `commit   ${commit}`,
    `machine  ${machine}`,
    `began    ${began.join(', ')}`,
    `ended    ${ended}`,
    summaryLine({ passed, failures: [...checks, ...failures], skipped }),
    '',
    ...checks.map((name) => `FAILED            ${name}`),
    ...[...outcomes].sort((one, other) => other.seconds - one.seconds).map(line),
    ...section('failed tests', failures),
    ...section('skipped tests, each with its reason in brackets or in its file', skipped),
  ]
}

function section(title, lines) {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines]
}

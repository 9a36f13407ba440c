/** The long run's order, estimate, continuation and report, with made-up outcomes. */
import { describe, expect, it } from 'vitest'
import { longerVariables, longProgressText, longReport, planOf, secondsLeft } from '../../scripts/long-plan.mjs'

const [slow, quick, twice, alone] = [
  { project: 'embedded', path: 'test/slow.test.ts', isAlone: false },
  { project: 'embedded', path: 'test/quick.test.ts', isAlone: false },
  { project: 'postgres', path: 'test/quick.test.ts', isAlone: false },
  { project: 'embedded', path: 'test/alone.long.ts', isAlone: true },
] as const
const FILES = [quick, alone, slow, twice]
const SECONDS = { 'test/slow.test.ts': 400, 'test/quick.test.ts (postgres)': 40, 'test/alone.long.ts': 600 }

const outcome = (
  { project, path }: { readonly project: string; readonly path: string },
  failed: readonly string[] = [],
) => ({ project, path, seconds: 12.34, passed: 3, failed, skipped: [] })

describe('the plan of the long run', () => {
  it('the plan of the long run has the longest files first, and those that need a quiet machine apart', () => {
    expect(planOf(FILES, [], SECONDS)).toEqual({ together: [slow, twice, quick], alone: [alone] })
  })

  it('a continued long run leaves out what passed, on its engine alone, and repeats what failed', () => {
    const outcomes = [outcome(slow, ['a test']), outcome(quick), outcome(alone)]
    expect(planOf(FILES, outcomes, SECONDS)).toEqual({ together: [slow, twice], alone: [] })
  })

  it('the estimate counts four files at once, no less than the longest, and the others one by one', () => {
    const plan = planOf(FILES, [], SECONDS)
    expect(secondsLeft(plan, [], SECONDS)).toBe(1_000)
    expect(secondsLeft(plan, [outcome(slow)], SECONDS)).toBe(640)
    expect(
      secondsLeft(
        plan,
        FILES.map((file) => outcome(file)),
        SECONDS,
      ),
    ).toBe(0)
    const many = Array.from({ length: 8 }, (_, index) => ({ ...slow, path: `test/${index}.test.ts` }))
    expect(secondsLeft(planOf(many, [], {}), [], {})).toBe(4)
  })

  it('the progress line of the long run has the files, the failures and the minutes left', () => {
    const plan = planOf(FILES, [], SECONDS)
    expect(longProgressText(plan, [outcome(slow, ['a test'])], SECONDS, 90)).toBe(
      'testing: 1 of 4 files, 3 passed, 1 failed, 2 min, about 11 min left',
    )
  })
})

it('the report of a long run repeats its command, and has every file, failure and skipped test', () => {
  const skipped = { ...outcome(quick), passed: 0, skipped: ['reads Parquet (needs Python with pandas)'] }
  const report = longReport({
    seed: 7,
    commit: 'abc',
    machine: '2 cores',
    longer: ['soak'],
    began: ['10:00', '11:00'],
    ended: '12:00',
    checks: ['linter: biome check'],
    outcomes: [skipped, { ...outcome(slow, ['a > b']), seconds: 100 }],
  })
  expect(report).toEqual([
    'npm run test:long -- --seed 7 --longer soak',
    'commit   abc',
    'machine  2 cores',
    'began    10:00, 11:00',
    'ended    12:00',
    '3 passed, 2 failed, 1 skipped (needs: Python with pandas)',
    '',
    'FAILED            linter: biome check',
    'FAILED     100.0 s  test/slow.test.ts (embedded), 3 tests',
    'skipped     12.3 s  test/quick.test.ts (embedded), 0 tests',
    '',
    'failed tests:',
    'test/slow.test.ts: a > b',
    '',
    'skipped tests, each with its reason in brackets or in its file:',
    'test/quick.test.ts: reads Parquet (needs Python with pandas)',
  ])
})

it('a longer kind of test sets its variables, and an unknown one is named', () => {
  expect(longerVariables(['soak', 'cluster'])).toEqual({
    variables: { TIDEGATE_SOAK_MINUTES: '60', TIDEGATE_CLUSTER_MINUTES: '60' },
  })
  expect(longerVariables(['soak', 'nap'])).toEqual({ unknown: 'nap' })
})

/** The output of `npm test`: its progress line, its last line, and the time of each folder with its budget. */
import { expect, it } from 'vitest'
import { progressText, summarise, summaryLine, timeReport } from '../../scripts/test-report.mjs'

const ONE = {
  path: 'test/platform/store/one.test.ts',
  seconds: 2.5,
  passed: 1_200,
  failed: [],
  skipped: ['a server (needs PostgreSQL) > c', 'a server (needs PostgreSQL) > d', 'a page (needs Chromium)', 'long'],
}
const TWO = { ...ONE, path: 'test/service/two.test.ts', passed: 0, failed: ['e > f'], skipped: [] }

it('the last line counts tests, and names each program that skipped tests need once', () => {
  expect(summaryLine(summarise([ONE]))).toBe('1,200 passed, 4 skipped (needs: Chromium, PostgreSQL)')
  expect(summaryLine(summarise([ONE, TWO]))).toBe('1,200 passed, 1 failed, 4 skipped (needs: Chromium, PostgreSQL)')
})

it('the summary names failed tests and skipped ones with their files, and has the time of each file', () => {
  const { failures, skipped, times } = summarise([ONE, TWO])
  expect(failures).toEqual(['test/service/two.test.ts: e > f'])
  expect(skipped[0]).toBe('test/platform/store/one.test.ts: a server (needs PostgreSQL) > c')
  expect(times).toEqual([
    { path: ONE.path, seconds: 2.5 },
    { path: TWO.path, seconds: 2.5 },
  ])
})

it('the progress line shows files and tests, and failures when there are some', () => {
  expect(progressText([], undefined, 1)).toBe('starting the tests, 1 s')
  expect(progressText([ONE], 476, 90)).toBe('testing: 1 of 476 files, 1,200 passed, 90 s')
  expect(progressText([ONE, TWO], 476, 91)).toBe('testing: 2 of 476 files, 1,200 passed, 1 failed, 91 s')
})

it('the summary shows the time of each folder with its budget, and names the folders that exceed it', () => {
  const times = [
    { path: 'test/platform/store/one.test.ts', seconds: 2.5 },
    { path: 'test/platform/store/one.test.ts', seconds: 4 },
    { path: 'test/service/two.test.ts', seconds: 1 },
    { path: 'test/new/three.test.ts', seconds: 0.5 },
  ]
  expect(timeReport(times, { platform: 6, service: 10 })).toEqual([
    'seconds per folder, used and allowed:',
    '     6.5      6.0  platform  over its budget by 0.5',
    '     1.0     10.0  service',
    '     0.5      0.0  new  over its budget by 0.5',
    '     8.0     16.0  in all',
  ])
})

it('the summary names the ten slowest of many files', () => {
  const times = Array.from({ length: 12 }, (_, index) => ({ path: `test/service/${index}.test.ts`, seconds: index }))
  const lines = timeReport(times, undefined)
  expect(lines.slice(0, 2)).toEqual(['seconds per folder:', '    66.0  service'])
  const first = lines.indexOf('seconds of the slowest files:') + 1
  expect(lines.slice(first)).toHaveLength(10)
  expect(lines[first]).toBe('    11.0  test/service/11.test.ts')
})

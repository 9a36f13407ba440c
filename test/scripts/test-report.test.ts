/** The summary at the end of `npm test`: counts, missing programs, and the time of each folder with its budget. */
import { expect, it } from 'vitest'
import { summarise, timeReport } from '../../scripts/test-report.mjs'

const ONE = {
  name: '/root/test/platform/store/one.test.ts',
  status: 'passed',
  startTime: 1_000,
  endTime: 3_500,
  assertionResults: [
    { status: 'passed', fullName: 'a b', ancestorTitles: ['a'], title: 'b' },
    { status: 'skipped', fullName: 'needs a server c', ancestorTitles: ['needs a server'], title: 'c' },
    { status: 'skipped', fullName: 'needs a server d', ancestorTitles: ['needs a server'], title: 'd' },
  ],
}

it('the summary counts passed tests, and names those that failed, did not load or were skipped', () => {
  const failed = { status: 'failed', fullName: 'e f', ancestorTitles: ['e'], title: 'f' }
  const summary = summarise(
    [
      ONE,
      { ...ONE, name: '/root/test/service/two.test.ts', status: 'failed', assertionResults: [failed] },
      { ...ONE, name: '/root/test/service/three.test.ts', status: 'failed', assertionResults: [] },
    ],
    '/root',
  )
  expect(summary.passed).toBe(1)
  expect(summary.failures).toEqual(['test/service/two.test.ts: e f', 'test/service/three.test.ts: does not load'])
  expect([...summary.skipped]).toEqual([['test/platform/store/one.test.ts: needs a server', 2]])
  expect(summary.times[0]).toEqual({ path: 'test/platform/store/one.test.ts', seconds: 2.5 })
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

/** The table of shared pools in docs/reference/limits.md is the one in the code. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { SHARED_POOLS } from '../../src/platform/base/shared-pool.ts'

it('the page about limits lists every shared pool of the code with its size, unit and holder', () => {
  const text = readFileSync('docs/reference/limits.md', 'utf8')
  const section = text.slice(text.indexOf('## Shared pools'), text.indexOf('## One connection without a token'))
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, name = '', size = '', unit, holder]) => {
      const setting = /^`([^`]+)`/.exec(size)?.[1]
      return [name.replaceAll('`', ''), { size: setting ?? Number(size.replaceAll(',', '')), unit, holder }]
    })
  expect(Object.fromEntries(rows)).toEqual(SHARED_POOLS)
})

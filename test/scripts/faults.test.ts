/** The planted faults: every entry can still be planted, and its suite exists. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FAULTS } from '../faults/faults.ts'
import { ROOT } from '../structure/source-tree.ts'

it('every planted fault has its own name, its text exactly once in its file, and a suite that exists', () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length)
  const unfit = FAULTS.filter(({ file, text, replacement, suite }) => {
    const count = readFileSync(join(ROOT, file), 'utf8').split(text).length - 1
    return count !== 1 || replacement === text || !existsSync(join(ROOT, suite))
  })
  expect(unfit.map(({ name }) => name)).toEqual([])
})

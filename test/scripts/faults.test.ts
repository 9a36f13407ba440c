/** The planted faults: every entry can still be planted, and its suite exists. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Edit } from '../faults/fault.ts'
import { editsOf, FAULTS } from '../faults/faults.ts'
import { ROOT } from '../structure/source-tree.ts'

it('every planted fault has its own name, its text exactly once in its file, and a suite that exists', () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length)
  const isFit = ({ file, text, replacement }: Edit) =>
    replacement !== text && readFileSync(join(ROOT, file), 'utf8').split(text).length === 2
  const unfit = FAULTS.filter((fault) => !editsOf(fault).every(isFit) || !existsSync(join(ROOT, fault.suite)))
  expect(unfit.map(({ name }) => name)).toEqual([])
})

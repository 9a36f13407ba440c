/** What every run of vitest loads before the first test: it decides how long a test of pure code takes. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from './source-tree.ts'

const STATIC_IMPORT = /^(?:import|export) (?!type )(?:[^'"]*? from )?'(\.[^']+)'/gm

it('no source and no store is loaded before the first test of a run', () => {
  const config = readFileSync(join(ROOT, 'vitest.config.ts'), 'utf8')
  const setups = [...config.matchAll(/(?:globalSetup|setupFiles): \[?'([^\]\n]+)'\]?,/g)].map(
    ([, path]) => path as string,
  )
  expect(setups).toHaveLength(2)
  const loaded = new Set(['vitest.config.ts', ...setups])
  // A set grows while it is read.
  for (const path of loaded) {
    const text = readFileSync(join(ROOT, path), 'utf8')
    for (const [, target] of text.matchAll(STATIC_IMPORT)) loaded.add(join(path, '..', target as string))
  }
  expect([...loaded].filter((path) => !/^(vitest\.config\.ts|scripts\/|test\/support\/)/.test(path))).toEqual([])
  expect([...loaded]).not.toContain('test/support/postgres.ts')
})

it('no test prints in an ordinary run: seeds and figures are for `note`', () => {
  const printing = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .filter((path) => /^[^'"`\n]*(?<![\w.])console\.\w+\(/m.test(readFileSync(join(ROOT, 'test', path), 'utf8')))
  expect(printing).toEqual([])
})

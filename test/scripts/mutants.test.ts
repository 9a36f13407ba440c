/** The mutants of `npm run faults`: what each operator changes, and where a mutant reports that it is reached. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { CORES } from '../faults/cores.ts'
import { EQUIVALENTS } from '../faults/equivalents.ts'
import { mutantsOf, withMutant, withReports } from '../faults/mutants.ts'
import { ROOT } from '../structure/source-tree.ts'

const changesOf = (text: string) => mutantsOf('a.ts', text).map((mutant) => [mutant.operator, withMutant(text, mutant)])

it.each([
  [
    'const isLess = a < b',
    [
      ['comparison', 'const isLess = a >= b'],
      ['boundary', 'const isLess = a <= b'],
    ],
  ],
  ['const sum = a + b', [['arithmetic', 'const sum = a - b']]],
  ["const text = 'a' + b", []],
  ['const both = a && b', [['negation', 'const both = a || b']]],
  ['const not = !a', [['negation', 'const not = a']]],
  [
    'if (isOpen) f()',
    [
      ['negation', 'if (!(isOpen)) f()'],
      ['removed statement', 'if (isOpen) ;'],
    ],
  ],
  [
    'f(a, b, c)',
    [
      ['removed statement', ';'],
      ['swapped arguments', 'f(b, a, c)'],
    ],
  ],
  ['const limit: 5 | 6 = 5n', [['constant', 'const limit: 5 | 6 = 6n']]],
  ['this.#log.info(text)', []],
])('the mutants of %s are those of the classic operators', (text, changes) => {
  expect(changesOf(text)).toEqual(changes)
})

it('every mutant of a function reports that it is reached, and the function returns what it did', () => {
  const text = `const count = (limit) => {
  let sum = 0
  for (let count = 0; count < limit; count++) if (count % 2 === 1) sum += count
  else sum -= 1
  const twice = (value) => value * 2
  return twice(sum)
}`
  const numbered = mutantsOf('a.ts', text).map((mutant, number) => ({ mutant, number }))
  const reached = new Set<number>()
  const evaluate = (code: string) =>
    new Function('report', `${code}; return count`)((number: number) => reached.add(number))
  expect(evaluate(withReports(text, numbered, 'report'))(5)).toBe(evaluate(text)(5))
  expect([...reached].sort((left, right) => left - right)).toEqual(numbered.map(({ number }) => number))
})

it('every equivalent mutant is one of its file, with a reason', () => {
  const lost = EQUIVALENTS.filter(({ file, text, replacement, reason }) => {
    const source = readFileSync(join(ROOT, file), 'utf8')
    const changed = source.replace(text, () => replacement)
    return (
      reason === '' ||
      source.split(text).length !== 2 ||
      !mutantsOf(file, source).some((mutant) => withMutant(source, mutant) === changed)
    )
  })
  expect(lost).toEqual([])
})

it('every file and folder of a core exists', () => {
  const paths = CORES.flatMap(({ sources, tests }) => [...sources, ...tests])
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

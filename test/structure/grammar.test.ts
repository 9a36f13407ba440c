/**
 * The limits on sentences: "of", "that" and semicolons per 1,000 words, in the comments of each area, in the pages of each
 * folder of the documentation, and in errors and help texts. Genitive chains, relative clauses and semicolons make sentences
 * that have to be read twice; a natural sentence counts more than a figure.
 */
import { expect, it } from 'vitest'
import { type Counts, countComments, countPage, countTexts, GOALS, type Measure, noCounts, rateOf } from './grammar.ts'
import { productTexts, readSourceTree } from './source-tree.ts'

/** Fewer words say nothing about how sentences are made. */
const WORDS_MIN = 300

/** `src/streaming`, `packages/client`, `docs/how-to`, or `pages` for those at the top. */
function subjectOf(path: string): string | undefined {
  if (/^[A-Z]+\.md$/.test(path)) return path === 'CHANGELOG.md' ? undefined : 'pages'
  const [top, folder] = path.split('/') as [string, string | undefined]
  if (!['src', 'packages', 'docs'].includes(top) || !/\.(tsx?|mjs|md)$/.test(path)) return undefined
  if (/migrations\/\d|\/build\/|\/dist\/|node_modules/.test(path)) return undefined
  return folder === undefined || folder.includes('.') ? top : `${top}/${folder}`
}

function countsOfProduct(): Map<string, Counts> {
  const subjects = new Map<string, Counts>()
  const of = (subject: string) => {
    const counts = subjects.get(subject) ?? noCounts()
    subjects.set(subject, counts)
    return counts
  }
  for (const [path, text] of productTexts()) {
    const subject = subjectOf(path)
    if (subject === undefined) continue
    if (path.endsWith('.md')) countPage(of(subject), text)
    else countComments(of(subject), text)
  }
  countTexts(of('texts of src'), readSourceTree())
  for (const [subject, { words }] of subjects) if (words < WORDS_MIN) subjects.delete(subject)
  return subjects
}

it('every area and folder of pages stays within the goals per 1,000 words', () => {
  const measured = [...countsOfProduct()].flatMap(([subject, counts]) =>
    (Object.keys(GOALS) as Measure[]).map((measure) => ({ subject, measure, rate: rateOf(counts, measure) })),
  )
  const over = measured.filter(({ measure, rate }) => rate > GOALS[measure])
  expect(over).toEqual([])
})

it('the counts leave out code and find every measure', () => {
  const counts = noCounts()
  countComments(counts, "/** The limit of `of that;` files; a word. */\nconst of = 'that' // that is one")
  expect(counts).toEqual({ words: 9, of: 1, that: 1, semicolons: 1 })
  const page = noCounts()
  countPage(page, 'The end of it.\n\n    of that;\n\n[a page](of-that.md)\n')
  expect(page).toEqual({ words: 6, of: 1, that: 0, semicolons: 0 })
})

/**
 * Words that no file of the product uses, each with the word to use instead: sources, tests, benchmarks, examples, scripts
 * and pages. Sentences that only a reader can assess are not covered.
 */
import { expect, it } from 'vitest'
import { productTexts } from './source-tree.ts'

const FOLDERS = /^(src|bench|scripts|test|examples|deploy|docs|packages)\/|^[A-Z]+\.md$/
const TYPES = /\.(tsx?|css|mjs|js|c|py|sh|html|md|json|toml|ya?ml)$/

/** Files and words that stay as they are, with the reason. */
const EXCEPTIONS: readonly (readonly [path: RegExp, reason: string])[] = [
  [/^test\/structure\/words\.test\.ts$/, 'the list itself'],
  [/^src\/platform\/store\/migrations\/\d/, 'the checksum of a released migration covers its comments'],
  [/^test\/(fixtures|deposit-instructions\/derivation)\//, 'recorded frames and word lists of seeds'],
]

const WORDS: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\brooms?\b/i, 'module, or space'],
  [/\bdoors?\b/i, 'listener, endpoint or handshake'],
  [/\bvouch/i, 'is trusted'],
  [/\banew\b/i, 'again, or a verb with re-'],
  [/\bbeats?\b/i, 'heartbeat'],
  [/\bwish(es|ed)?\b/i, 'requests'],
  [/\bcomplain/i, 'reject or report'],
  [/\btold\b/i, 'notified or reported'],
  // In quotes it is a name or an id of test data.
  [
    /(?<!['"=/`])\b(nobody|everybody|everyone|somebody|someone|anybody|anyone)\b(?!['"-])/i,
    'name the client or program',
  ],
  [/\bgood for nothing\b/i, 'no longer accepted'],
  [/\blevels a side\b/i, 'levels per side'],
  [/\bgo(es)? on\b/i, 'continue'],
  [/\bplain wire|extended wire\b/i, 'base protocol, extended protocol'],
  [/\bholes?\b/i, 'gap'],
  [/\bthe mark\b/i, 'high-water mark'],
  [/\bmerged update|catch-up by difference\b/i, 'conflated update'],
  [/\bendOfTurn|\b(a|one|per|each|this|the|every) turn\b/i, 'tick, or connection'],
  [/\bwitness/i, 'verifier'],
  // `conformance/judge` is a folder.
  [/(?<!conformance\/|\.\.\/|['`]|\| )\bjudg(e|es|ed|ing|ement)\b/i, 'check, compare or decide'],
  [/\bso many\b/i, 'the number, or too many'],
]

it('no file uses a word that the list replaces', () => {
  const found: string[] = []
  for (const [path, text] of productTexts()) {
    if (!FOLDERS.test(path) || !TYPES.test(path) || EXCEPTIONS.some(([exempt]) => exempt.test(path))) continue
    const present = WORDS.filter(([word]) => word.test(text))
    if (present.length === 0) continue
    for (const [index, line] of text.split('\n').entries()) {
      for (const [word, instead] of present) {
        const match = word.exec(line)
        if (match !== null) found.push(`${path}:${index + 1}: "${match[0]}": ${instead}`)
      }
    }
  }
  expect(found).toEqual([])
})

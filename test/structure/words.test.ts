/**
 * Words that the code and the texts of these folders do not use, each with the word to use instead. A folder is added to
 * the list when it is clean.
 */
import { expect, it } from 'vitest'
import { readSourceTree } from './source-tree.ts'

const CLEAN_FOLDERS = [
  'src/accounts/',
  'src/app/',
  'src/auth/',
  'src/base/',
  'src/cli/',
  'src/contract/',
  'src/controls/',
  'src/deliveries/',
  'src/deposit-instructions/',
  'src/deposits/',
  'src/description/',
  'src/feed/',
  'src/http/',
  'src/ledger/',
  'src/markets/',
  'src/orchestrations/',
  'src/rules/',
  'src/transfers/',
]

const WORDS: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\brooms?\b/i, 'module'],
  [/\bdoors?\b/i, 'listener, endpoint or handshake'],
  [/\bvouch/i, 'is trusted'],
  [/\banew\b/i, 'again, or a verb with re-'],
  [/\bbeats?\b/i, 'heartbeat'],
  [/\bwish(es|ed)?\b/i, 'requests'],
  [/\bcomplain/i, 'reject or report'],
  [/\btold\b/i, 'notified or reported'],
  [/\b(nobody|everybody|everyone)\b/i, 'name the clients, callers or programs'],
  [/\bgood for nothing\b/i, 'no longer accepted'],
  [/\blevels a side\b/i, 'levels per side'],
  [/\bgo(es)? on\b/i, 'continue'],
  [/\bplain wire|extended wire\b/i, 'base protocol, extended protocol'],
]

it('the clean folders use the words of the field', () => {
  const found: string[] = []
  for (const { path, text } of readSourceTree().values()) {
    if (!CLEAN_FOLDERS.some((folder) => path.startsWith(folder))) continue
    for (const [index, line] of text.split('\n').entries()) {
      for (const [word, instead] of WORDS) {
        const match = word.exec(line)
        if (match !== null) found.push(`${path}:${index + 1}: "${match[0]}": ${instead}`)
      }
    }
  }
  expect(found).toEqual([])
})

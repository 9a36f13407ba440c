/** A venue is one folder and one row of the venue table: no other source file names a venue. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { VENUE_NAMES, VENUES } from '../../../../src/streaming/sources/venues/venues.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const TABLE = 'src/streaming/sources/venues/venues.ts'

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}

describe('the venue table', () => {
  it('the venue table has one row for each venue folder', () => {
    const entries = readdirSync(join(ROOT, dirname(TABLE)), { withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    expect(folders.toSorted()).toEqual([...VENUE_NAMES].toSorted())
  })

  it('the venue table gives each venue an example that its symbol pattern accepts, and addresses without a slash at the end', () => {
    for (const name of VENUE_NAMES) {
      const { symbolPattern, symbolExample, exchanges } = VENUES[name]
      expect(symbolExample).toMatch(symbolPattern)
      for (const { url, restUrl } of exchanges) {
        expect(url).toMatch(/^wss:\/\/[^ ]*[^/]$/)
        expect(restUrl).toMatch(/^https:\/\/[^/]*$/)
      }
    }
  })

  it('the venue table and the venue folders are the only source files whose code names a venue', () => {
    const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .map((path) => `src/${path}`)
      .filter((path) => path.endsWith('.ts') && path !== TABLE)
      .filter((path) => !VENUE_NAMES.some((name) => path.startsWith(`${dirname(TABLE)}/${name}/`)))
    expect(files.length).toBeGreaterThan(100)
    const named = new RegExp(`(['"\`.])(${VENUE_NAMES.join('|')})\\b`, 'i')
    const naming = files.filter((path) => named.test(withoutComments(readFileSync(join(ROOT, path), 'utf8'))))
    expect(naming).toEqual([])
  })
})

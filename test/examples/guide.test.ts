/** The guides for client developers: the code that they show is the code in `examples/`. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CLOSE_CODES } from '../../src/contract/stream-codes.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = [
  'docs/how-to/clients.md',
  'docs/how-to/book-on-your-page.md',
  'docs/tutorials/first-ten-minutes.md',
  'docs/tutorials/first-deposit.md',
  'docs/how-to/test-your-publisher.md',
]
/** They link examples and show none of their code. */
const WITHOUT_CODE = ['docs/how-to/screening.md', 'docs/how-to/webhooks.md']
const textOf = (page: string) => readFileSync(join(ROOT, page), 'utf8')

const examples = readdirSync(join(ROOT, 'examples'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !entry.name.endsWith('.pyc'))
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))

/** Paths from the root that a page links to. */
function linksOf(page: string): string[] {
  const links = [...textOf(page).matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => join(dirname(page), link))
  return links.map((link) => relative('.', link))
}

describe.each(PAGES)('%s', (page) => {
  it('the guide shows code that is identical in the examples', () => {
    const blocks = [...textOf(page).matchAll(/^```(\S*) ?(.*)\n([\s\S]*?)^```$/gm)].map(
      ([, , path = '', code = '']) => ({
        path,
        code,
      }),
    )
    expect(blocks.length).toBeGreaterThan(1)
    expect(blocks.filter(({ path, code }) => !textOf(path).includes(code))).toEqual([])
  })

  it('the guide contains no broken link', () => {
    expect(linksOf(page).filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})

describe('the guides together', () => {
  it('the guide names every example', () => {
    const linked = new Set([...PAGES, ...WITHOUT_CODE].flatMap(linksOf))
    expect(examples.filter((path) => !linked.has(path))).toEqual([])
  })
})

describe('docs/how-to/clients.md', () => {
  it('docs/how-to/clients.md states for every close code what to do', () => {
    const text = textOf('docs/how-to/clients.md')
    const table = text.slice(text.indexOf('| code |'), text.indexOf('A new connection'))
    const codes = Object.values(CLOSE_CODES).map(({ code }) => String(code))
    expect(codes.filter((code) => !table.includes(code))).toEqual([])
  })
})

/** Links of the pages: each leads to a file of this repository, and, with a fragment, to a heading of that page. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'].concat(
  readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`),
)

const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8').replace(/^```.*?^```/gms, '')

/** The fragment of a heading, as GitHub makes it. */
function fragmentOf(heading: string): string {
  const words = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '')
  return words.trim().replaceAll(' ', '-')
}

function isBroken(page: string, link: string): boolean {
  const [path, fragment] = link.split('#') as [string, string?]
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(ROOT, target))) return true
  if (fragment === undefined) return false
  return ![...textOf(target).matchAll(/^#+ (.*)$/gm)].some(([, heading]) => fragmentOf(heading as string) === fragment)
}

it.each(PAGES)('the links of %s lead to files and headings', (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string)
  expect(links.filter((link) => !/^https?:/.test(link) && isBroken(page, link))).toEqual([])
})

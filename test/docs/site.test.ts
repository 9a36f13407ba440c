/** The navigation of the documentation site: every page of docs/ is in exactly one place, and every link leads to a page. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { SIDEBAR, type SidebarGroup, type SidebarLink } from '../../docs/.vitepress/sidebar.ts'

const DOCS = join(import.meta.dirname, '../../docs')
/** The page that the site begins with. */
const LANDING = 'index.md'

function linksOf({ items }: SidebarGroup): string[] {
  return items.flatMap((item: SidebarGroup | SidebarLink) => ('link' in item ? [item.link] : linksOf(item)))
}

it('every page is in exactly one place of the sidebar, and every link of the sidebar is a page', () => {
  const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'))
  const expected = pages.filter((path) => path !== LANDING).map((path) => `/${path.slice(0, -'.md'.length)}`)
  expect(SIDEBAR.flatMap(linksOf).sort()).toEqual(expected.sort())
})

it('the sidebar has the four parts of Diátaxis', () => {
  expect(SIDEBAR.map(({ text }) => text)).toEqual(['Tutorials', 'How-to guides', 'Reference', 'Explanation'])
})

it('the links of the landing page are pages', () => {
  const links = [...readFileSync(join(DOCS, LANDING), 'utf8').matchAll(/^ +link: (.*)$/gm)].map(([, link]) => link)
  expect(links.length).toBeGreaterThan(4)
  expect(links.filter((link) => !existsSync(join(DOCS, `${link}.md`)))).toEqual([])
})

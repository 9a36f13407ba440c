/** The generated pages and the list of dependencies are consistent with the code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { apiDocuments } from '../../scripts/api-documents.ts'
import { interfacePages } from '../../scripts/interface-pages.ts'
import { referencePages } from '../../scripts/reference-pages.ts'

const ROOT = join(import.meta.dirname, '../..')

const documents = await apiDocuments()

it.each([...referencePages(), ...documents, ...interfacePages(documents)])(
  'the reference page %s is the output of `npm run docs`',
  (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text)
  },
)

it('docs/reference/dependencies.md gives a reason for every dependency, and for nothing else', () => {
  const manifestIn = (folder: string) =>
    JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
      devDependencies: Record<string, string>
    }
  const manifest = manifestIn('.')
  const page = readFileSync(join(ROOT, 'docs/reference/dependencies.md'), 'utf8')
  const [runtime = '', development = '', ofConsole = '', ofSite = ''] = page.split(
    /## (?:For development|In the operator's console|For the documentation site)/,
  )
  const named = (text: string) => [...text.matchAll(/^\| `([^`]+)` \| .{20,} \|$/gm)].map(([, name]) => name)
  expect(named(runtime)).toEqual(Object.keys(manifest.dependencies).sort())
  expect(named(development)).toEqual(Object.keys(manifest.devDependencies).sort())
  expect(named(ofConsole)).toEqual(Object.keys(manifestIn('packages/console').devDependencies).sort())
  expect(named(ofSite)).toEqual(Object.keys(manifestIn('docs/.vitepress').devDependencies).sort())
})

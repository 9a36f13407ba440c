/** `npm run docs`: regenerates the pages in docs/reference from the code's tables and routes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ensureInstalled, ROOT } from './setup.mjs'

await ensureInstalled()
const { register } = await import('tsx/esm/api')
register()
const { referencePages } = await import('./reference-pages.ts')
const { apiDocuments } = await import('./api-documents.ts')
const { interfacePages } = await import('./interface-pages.ts')
const documents = await apiDocuments()
for (const [path, text] of [...referencePages(), ...documents, ...interfacePages(documents)]) {
  const file = join(ROOT, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  console.log(path)
}

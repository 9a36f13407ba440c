/** `npm run docs`: writes the generated pages of docs/reference anew from the tables in the code. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ensureInstalled, ROOT } from './setup.mjs'

ensureInstalled()
const { register } = await import('tsx/esm/api')
register()
const { referencePages } = await import('./reference-pages.ts')
for (const [path, text] of referencePages()) {
  const file = join(ROOT, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  console.log(path)
}

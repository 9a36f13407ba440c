/**
 * The types of the two HTTP APIs, for the client and for the console: generated from the committed OpenAPI documents, and not
 * committed themselves. Each file names the document that it was made from, so that it is made again when that changes.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './files.mjs'

/** What is generated, and from which document of docs/reference. */
const TYPES = {
  'packages/client/src/rest/openapi.ts': ['openapi.json', 'The REST API'],
  'packages/console/src/base/openapi.ts': ['operator-openapi.json', 'The operator API'],
}

/** The client alone is built; the console's types are needed where types are checked. */
export const CLIENT_TYPES = 'packages/client/src/rest/openapi.ts'

/** Makes these files, or all, where they are missing or older than their document. */
export async function ensureApiTypes(targets = Object.keys(TYPES)) {
  for (const target of targets) {
    const [document, name] = TYPES[target]
    const text = readFileSync(join(ROOT, 'docs/reference', document), 'utf8')
    const hash = createHash('sha256').update(text).digest('hex')
    const header = `/** ${name} as types. Generated from docs/reference/${document}, SHA-256 ${hash}. */\n`
    const file = join(ROOT, target)
    if (existsSync(file) && readFileSync(file, 'utf8').startsWith(header)) continue
    const { default: openApiTypes, astToString } = await import('openapi-typescript')
    writeFileSync(file, header + astToString(await openApiTypes(JSON.parse(text))))
  }
}

/**
 * The types of the two HTTP APIs, for the client and for the console. They are generated from the committed OpenAPI
 * documents, and are not committed themselves. Each file names its document with a hash, and is generated again when
 * the document changes.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './files.mjs'

/** The generated files, each with its document in docs/reference. */
const TYPES = {
  'packages/client/src/rest/openapi.ts': ['openapi.json', 'The REST API'],
  'packages/console/src/base/openapi.ts': ['operator-openapi.json', 'The operator API'],
}

/** Only the client is built. The console's types are needed where types are checked. */
export const CLIENT_TYPES = 'packages/client/src/rest/openapi.ts'

/** Generates these files, or all, where they are missing or do not match their document. */
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

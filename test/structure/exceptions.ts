/** Every exception from the structure rules, with its reason. A row that is not needed fails the tests. */
import type { VendorRow } from './import-rules.ts'
import type { Exception } from './source-tree.ts'

const NEXT = 'the sources tidegate, module and ingest import it with their next commits'

export const EXCEPTIONS: readonly Exception[] = [
  { rule: 'unused-file', subject: 'src/feed/publication/publication-reader.ts', reason: NEXT },
  { rule: 'unused-export', subject: 'src/feed/publication/publication-reader.ts#PublicationReader', reason: NEXT },
  { rule: 'unused-export', subject: 'src/feed/publication/message.ts#readPublication', reason: NEXT },
  { rule: 'unused-export', subject: 'src/feed/publication/message.ts#parsePublication', reason: NEXT },
]

export const VENDOR_ROWS: readonly VendorRow[] = [
  {
    packageName: 'fastify',
    where: 'any',
    reason: 'modules declare their own routes; the server itself is made in http/server only',
  },
  { packageName: 'typebox', where: 'any', reason: 'a route’s schema is declared with the route' },
  { packageName: 'commander', where: 'folders', folders: ['cli'], reason: 'each verb declares its own flags and help' },
  {
    packageName: 'ws',
    where: 'folders',
    folders: ['cli', 'feed', 'gateway'],
    reason: 'three roles that share nothing: the server, the client of a venue, the independent stream checker',
  },
]

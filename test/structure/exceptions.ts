/** Every exception from the structure rules, with its reason. A row that is not needed fails the tests. */
import type { VendorRow } from './import-rules.ts'
import type { Exception } from './source-tree.ts'

export const EXCEPTIONS: readonly Exception[] = [
  {
    rule: 'lock-order',
    subject: 'src/money/orchestrations/queue.ts',
    reason: 'each statement that locks work is a transaction of its own',
  },
  {
    rule: 'lock-order',
    subject: 'src/money/orchestrations/pricing/price.ts',
    reason: 'the keys of its advisory locks are numbers; it names the locks before it waits for them',
  },
  {
    rule: 'unused-file',
    subject: 'packages/console/src/css.d.ts',
    reason: 'the compiler reads it: style sheets are imported for the bundler',
  },
  {
    rule: 'unused-file',
    subject: 'src/service/api-docs/publisher-asyncapi.ts',
    reason: 'npm run docs writes the document, which no service serves',
  },
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
    folders: [
      'cli',
      'conformance',
      'streaming/sources',
      'streaming/recordings',
      'streaming/gateway',
      'streaming/ingest',
    ],
    reason:
      'roles that share nothing: the servers of the stream and of publishers, the client of a venue, the independent stream checker',
  },
]

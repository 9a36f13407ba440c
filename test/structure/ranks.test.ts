/** The import rules: rank table, cycles, vendor packages and pure files, executed on the current sources. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EXCEPTIONS, VENDOR_ROWS } from './exceptions.ts'
import {
  cycleViolations,
  packageViolations,
  pureViolations,
  rankViolations,
  vendorViolations,
  verifierViolations,
} from './import-rules.ts'
import { describeViolations, ROOT, readSourceTree, sourceTreeOf, withoutExceptions } from './source-tree.ts'

const RANKS: readonly (readonly [rank: number, folders: readonly string[]])[] = [
  [0, ['base']],
  [1, ['contract', 'market', 'store', 'http']],
  [2, ['feed', 'channel', 'cluster', 'auth', 'ledger']],
  [3, ['accounts', 'description', 'gateway', 'ingest', 'markets', 'operators', 'transfers']],
  [4, ['deposit-instructions', 'controls']],
  [5, ['rules', 'deliveries']],
  [6, ['orchestrations']],
  [7, ['deposits']],
  [8, ['config']],
  [9, ['app']],
  [10, ['cli']],
  [11, ['main']],
]

const PURE = [
  'src/market/',
  'src/contract/',
  'src/base/assert.ts',
  'src/base/decimal.ts',
  'src/base/backoff.ts',
  'src/base/json-text.ts',
  'src/base/json-value.ts',
  'src/http/list-times.ts',
  'src/http/raw-json.ts',
  'src/http/route-methods.ts',
  'src/http/validation.ts',
  'src/accounts/model.ts',
  'src/ledger/posting.ts',
  'src/ledger/amounts.ts',
  'src/orchestrations/pricing/context.ts',
  'src/orchestrations/pricing/evidence.ts',
  'src/orchestrations/pricing/explain.ts',
  'src/orchestrations/pricing/market.ts',
  'src/orchestrations/pricing/outcome.ts',
  'src/orchestrations/pricing/par.ts',
  'src/orchestrations/pricing/pegs.ts',
  'src/orchestrations/pricing/refusal.ts',
  'src/orchestrations/pricing/usable-book.ts',
  'src/gateway/protocol.ts',
  'src/auth/stream-access.ts',
  'src/auth/publish-access.ts',
  'src/ingest/content-hash.ts',
  'src/ingest/lines.ts',
  'src/store/transport-security.ts',
  'src/accounts/documents.ts',
  'src/rules/model.ts',
  'src/deposit-instructions/derivation/cash-address.ts',
  'src/description/asyncapi.ts',
  'src/description/examples.ts',
  'src/description/named-schemas.ts',
  'src/description/stream-messages.ts',
  'src/description/stream-page.ts',
  'src/cli/admin-output.ts',
  'src/cli/checker-forms.ts',
  'src/cli/client-book.ts',
  'src/app/doctor-finding.ts',
  'src/app/doctor-readiness.ts',
  'src/app/hang-meter.ts',
  'src/cli/ladder.ts',
  'src/cli/listener-address.ts',
  'src/cli/market-view.ts',
  'src/cli/rate-meter.ts',
  'src/cli/styled-line.ts',
  'src/cli/table.ts',
  'src/cli/violations.ts',
  'src/cli/watch-lines.ts',
  'src/feed/binance/answer.ts',
  'src/feed/binance/book.ts',
  'src/feed/binance/message.ts',
  'src/feed/binance/unfit-levels.ts',
  'src/feed/bitstamp/book.ts',
  'src/feed/bitstamp/message.ts',
  'src/feed/bybit/book.ts',
  'src/feed/bybit/message.ts',
  'src/feed/coinbase/answer.ts',
  'src/feed/coinbase/book.ts',
  'src/feed/coinbase/conversation.ts',
  'src/feed/coinbase/message.ts',
  'src/feed/okx/message.ts',
  'src/feed/okx/start.ts',
  'src/feed/pair-silence.ts',
  'src/feed/replay/entry-text.ts',
  'src/feed/replay/recorded-state.ts',
  'src/feed/replay/recording.ts',
  'src/feed/simulator/crossing.ts',
  'src/feed/simulator/scenario.ts',
  'src/feed/source.ts',
  'src/feed/venue-frame.ts',
  'src/feed/venue-levels.ts',
  'src/feed/venue-trades.ts',
  'src/feed/venue.ts',
]

/** They state what is right, and so do not depend on the client, which could be wrong in the same way as the service. */
const VERIFIERS = ['src/cli/verify.ts', 'src/cli/prove.ts', 'src/cli/torture.ts']

const ranks = new Map(RANKS.flatMap(([rank, folders]) => folders.map((folder) => [folder, rank] as const)))
const isPure = (path: string) => PURE.some((prefix) => path.startsWith(prefix))
const tree = readSourceTree()

function remaining(rule: string, violations: Parameters<typeof withoutExceptions>[0]) {
  return describeViolations(
    withoutExceptions(
      violations,
      EXCEPTIONS.filter((row) => row.rule === rule),
    ),
  )
}

describe('the sources', () => {
  it('import only from strictly lower ranks or their own folder', () => {
    expect(remaining('rank', rankViolations(tree, ranks))).toEqual([])
  })

  it('import the client in the command line alone', () => {
    expect(remaining('package', packageViolations(tree))).toEqual([])
  })

  it('check the service without the client in what verifies it', () => {
    expect(remaining('verifier', verifierViolations(tree, VERIFIERS))).toEqual([])
  })

  it('have no import cycle', () => {
    expect(remaining('cycle', cycleViolations(tree))).toEqual([])
  })

  it('import a third-party package only in the file that wraps it', () => {
    expect(remaining('vendor', vendorViolations(tree, VENDOR_ROWS))).toEqual([])
  })

  it('import every package that is installed at run time', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object }
    const imported = new Set([...tree.values()].flatMap(({ imports }) => imports.map(({ packageName }) => packageName)))
    // Named only so that fastify gets the version of it that runs on Node 20, also beside other packages.
    const isForOthers = (name: string) => name === 'light-my-request'
    expect(Object.keys(manifest.dependencies).filter((name) => !imported.has(name) && !isForOthers(name))).toEqual([])
  })

  it('keep the listed pure files pure', () => {
    expect(PURE.filter((prefix) => ![...tree.keys()].some((path) => path.startsWith(prefix)))).toEqual([])
    expect(remaining('pure', pureViolations(tree, isPure))).toEqual([])
  })
})

describe('ARCHITECTURE.md', () => {
  it('contains the same rank table', () => {
    const file = join(ROOT, 'ARCHITECTURE.md')
    expect(existsSync(file), 'ARCHITECTURE.md is missing').toBe(true)
    const rows = [...readFileSync(file, 'utf8').matchAll(/^\| *(\d+) *\| *([a-z, -]+?) *\|/gm)]
    expect(rows.map(([, rank, folders]) => [Number(rank), folders?.split(/, */)])).toEqual(RANKS)
  })
})

describe('the import rules detect a violation', () => {
  it('of ranks: upward, sideways, an unknown folder, a missing file', () => {
    const broken = sourceTreeOf({
      'src/base/a.ts': `import { b } from '../market/b.ts'`,
      'src/market/b.ts': `export { c } from '../contract/c.ts'`,
      'src/contract/c.ts': `const d = await import('./missing.ts')`,
      'src/stray/d.ts': '',
      'src/main.ts': `import { c } from './contract/c.ts'\nimport type { b } from './market/b.ts'`,
    })
    expect(describeViolations(rankViolations(broken, ranks))).toEqual([
      'src/base/a.ts:1 [rank] base (rank 0) imports src/market/b.ts (rank 1)',
      'src/market/b.ts:1 [rank] market (rank 1) imports src/contract/c.ts (rank 1)',
      'src/contract/c.ts:1 [rank] imports src/contract/missing.ts, which does not exist',
      'src/stray/d.ts:1 [rank] folder stray is not in the rank table',
    ])
  })

  it('of packages: another folder, another file of the client, another package', () => {
    const broken = sourceTreeOf({
      'src/app/a.ts': `import type { Book } from '../../packages/client/src/index.ts'`,
      'src/cli/b.ts': `import { Level } from '../../packages/client/src/stream/level.ts'`,
      'src/cli/c.ts': `import '../../packages/console/src/main.ts'`,
      'src/cli/d.ts': `import { StreamClient } from '../../packages/client/src/index.ts'`,
    })
    expect(packageViolations(broken).map(({ file }) => file)).toEqual(['src/app/a.ts', 'src/cli/b.ts', 'src/cli/c.ts'])
    expect(rankViolations(broken, ranks)).toEqual([])
  })

  it('of verifiers: the client through another file, its types alone, a verifier that is gone', () => {
    const broken = sourceTreeOf({
      'src/cli/verify.ts': `import { token } from './token.ts'\nimport './level.ts'`,
      'src/cli/token.ts': `export { ClientCredentials as token } from '../../packages/client/src/index.ts'`,
      'src/cli/level.ts': `import type { Level } from '../../packages/client/src/index.ts'`,
      'src/cli/watch.ts': `import { StreamClient } from '../../packages/client/src/index.ts'`,
    })
    expect(describeViolations(verifierViolations(broken, ['src/cli/verify.ts', 'src/cli/prove.ts']))).toEqual([
      'src/cli/token.ts:1 [verifier] src/cli/verify.ts uses packages/client/src/index.ts',
      'src/cli/level.ts:1 [verifier] src/cli/verify.ts uses packages/client/src/index.ts',
      'src/cli/prove.ts:1 [verifier] the verifier does not exist',
    ])
  })

  it('of cycles', () => {
    const broken = sourceTreeOf({
      'src/base/a.ts': `import './b.ts'`,
      'src/base/b.ts': `import type { C } from './c.ts'`,
      'src/base/c.ts': `import './b.ts'`,
    })
    expect(describeViolations(cycleViolations(broken))).toEqual([
      'src/base/b.ts:1 [cycle] src/base/b.ts -> src/base/c.ts -> src/base/b.ts',
    ])
  })

  it('of vendor packages: a second file, a foreign folder, an unneeded row', () => {
    const broken = sourceTreeOf({
      'src/base/a.ts': `import 'yaml'\nimport { readFileSync } from 'node:fs'`,
      'src/base/b.ts': `import { parse } from 'yaml/util'\nimport 'ws'`,
      'src/feed/c.ts': `import 'ws'`,
      'src/feed/d.ts': `import type { WebSocket } from 'ws'`,
    })
    const rows = [
      { packageName: 'ws', where: 'one-a-folder', folders: ['feed'], reason: '' },
      { packageName: 'pino', where: 'any', reason: '' },
    ] as const
    expect(describeViolations(vendorViolations(broken, rows))).toEqual([
      'src/base/b.ts:1 [vendor] yaml is wrapped by src/base/a.ts: import that',
      'src/base/b.ts:2 [vendor] ws belongs to feed',
      'src/feed/d.ts:1 [vendor] ws is wrapped by src/feed/c.ts: import that',
      'pino:0 [vendor] row that nothing needs: delete it',
    ])
  })

  it('of purity: I/O, packages, impure files, the clock; but not of types', () => {
    const broken = sourceTreeOf({
      'src/market/a.ts': `import { readFileSync } from 'node:fs'\nimport type { Clock } from '../base/clock.ts'`,
      'src/market/b.ts': `import { createLog } from '../base/log.ts'\n// Date.now()\nexport const now = Date.now()`,
    })
    expect(describeViolations(pureViolations(broken, isPure))).toEqual([
      'src/market/a.ts:1 [pure] pure file imports node:fs',
      'src/market/b.ts:1 [pure] pure file imports src/base/log.ts',
      'src/market/b.ts:3 [pure] pure file uses Date.now',
    ])
  })
})

/** The import rules: rank table, cycles, vendor packages and pure files, executed on the current sources. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EXCEPTIONS, VENDOR_ROWS } from './exceptions.ts'
import {
  type Area,
  areaViolations,
  cycleViolations,
  isPure,
  packageViolations,
  pureViolations,
  vendorViolations,
  verifierViolations,
} from './import-rules.ts'
import { describeViolations, ROOT, readSourceTree, sourceTreeOf, withoutExceptions } from './source-tree.ts'

const AREAS: readonly Area[] = [
  { name: 'platform', imports: [], ranks: [['base'], ['http', 'store', 'webhooks']] },
  { name: 'contract', imports: ['platform'], ranks: [['contract']] },
  {
    name: 'access',
    imports: ['platform', 'contract'],
    ranks: [['notices'], ['clients'], ['events', 'metering'], ['webhook-endpoints'], ['operators']],
  },
  {
    name: 'streaming',
    imports: ['platform', 'contract', 'access'],
    ranks: [
      ['market'],
      ['cluster', 'sequencing', 'sources'],
      ['candles', 'ingest', 'links', 'recordings'],
      ['gateway', 'markets'],
      ['rest'],
    ],
  },
  {
    name: 'money',
    imports: ['platform', 'contract', 'access'],
    ranks: [
      ['accounts', 'ledger'],
      ['gates'],
      ['deposit-instructions', 'screening', 'transfers'],
      ['destinations'],
      ['limits'],
      ['controls'],
      ['deliveries', 'rules'],
      ['orchestrations'],
      ['deposits'],
    ],
  },
  {
    name: 'service',
    imports: ['platform', 'contract', 'access', 'streaming', 'money'],
    ranks: [
      ['api-docs', 'config'],
      ['pages', 'process'],
      ['health', 'keys'],
      ['listeners'],
      ['doctor'],
      ['parts'],
      ['service'],
    ],
  },
  {
    name: 'conformance/judge',
    imports: ['contract', 'platform/base'],
    ranks: [['judge'], ['stream'], ['executor', 'publisher', 'receipts', 'rest', 'screening', 'webhook']],
  },
  {
    name: 'conformance/stimulus',
    imports: ['platform', 'contract', 'access', 'streaming', 'money', 'conformance/judge'],
    ranks: [['torture'], ['stimulus']],
  },
  {
    name: 'cli',
    imports: [
      'platform',
      'contract',
      'access',
      'streaming',
      'money',
      'service',
      'conformance/judge',
      'conformance/stimulus',
    ],
    ranks: [['terminal'], ['options'], ['admin', 'watch'], ['doctor'], ['cli']],
  },
  { name: 'main', imports: ['cli'], ranks: [['main']] },
]

/** They state what is right, and so do not depend on the client, which could be wrong in the same way as the service. */
const VERIFIERS = ['src/cli/verify.ts', 'src/cli/prove.ts', 'src/cli/torture.ts']

/** Their files are all pure. */
const PURE_FOLDERS = ['src/streaming/market/', 'src/contract/']

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
  it('the sources import only the areas that theirs may import, and within an area only folders of lower ranks', () => {
    expect(remaining('area', areaViolations(tree, AREAS))).toEqual([])
  })

  it('only the command line imports the client', () => {
    expect(remaining('package', packageViolations(tree))).toEqual([])
  })

  it('the verifiers of the service do not import the client', () => {
    expect(remaining('verifier', verifierViolations(tree, VERIFIERS))).toEqual([])
  })

  it('the sources have no import cycle', () => {
    const packages = ['client/src', 'console/src', 'demo-page'].map((folder) => readSourceTree(`packages/${folder}`))
    const everything = new Map([tree, ...packages].flatMap((one) => [...one]))
    expect(remaining('cycle', cycleViolations(everything))).toEqual([])
  })

  it('a third-party package is imported only in the file that wraps it', () => {
    expect(remaining('vendor', vendorViolations(tree, VENDOR_ROWS))).toEqual([])
  })

  it('every package that is installed at run time is imported', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object }
    const imported = new Set([...tree.values()].flatMap(({ imports }) => imports.map(({ packageName }) => packageName)))
    // Named only so that fastify gets the version of it that runs on Node 20, also beside other packages.
    const isForOthers = (name: string) => name === 'light-my-request'
    expect(Object.keys(manifest.dependencies).filter((name) => !imported.has(name) && !isForOthers(name))).toEqual([])
  })

  it('the sources are pure where their header says "Pure."', () => {
    expect([...tree.values()].filter(isPure).length).toBeGreaterThan(100)
    expect(remaining('pure', pureViolations(tree))).toEqual([])
  })

  it('folders whose files are all pure say "Pure."', () => {
    const inFolders = [...tree.values()].filter(({ path }) => PURE_FOLDERS.some((folder) => path.startsWith(folder)))
    expect(inFolders.length).toBeGreaterThan(15)
    expect(inFolders.filter((file) => !isPure(file)).map(({ path }) => path)).toEqual([])
  })
})

describe('ARCHITECTURE.md', () => {
  it('ARCHITECTURE.md contains the same table of areas as the import rules', () => {
    const file = join(ROOT, 'ARCHITECTURE.md')
    expect(existsSync(file), 'ARCHITECTURE.md is missing').toBe(true)
    const rows = [
      ...readFileSync(file, 'utf8').matchAll(/^\| `([a-z/]+?)(?:\/|\.ts)` \| ([a-z/, –]+) \| ([a-z, →-]+) \|/gm),
    ]
    const listOf = (text = '') => (text === '–' ? [] : text.split(', '))
    expect(
      rows.map(([, name, imports, ranks]) => ({
        name,
        imports: listOf(imports),
        ranks: ranks?.split(' → ').map(listOf),
      })),
    ).toEqual(AREAS.toReversed())
  })
})

describe('the import rules detect a violation', () => {
  it('the import rules detect a violation of areas and ranks, such as another area, upward, sideways, an unknown folder', () => {
    const broken = sourceTreeOf({
      'src/platform/base/a.ts': `import { b } from '../../streaming/market/b.ts'`,
      'src/streaming/market/b.ts': `export { c } from '../links/c.ts'`,
      'src/streaming/links/c.ts': `const d = await import('./missing.ts')\nexport { d } from '../recordings/d.ts'`,
      'src/streaming/recordings/d.ts': `import { e } from '../../money/ledger/e.ts'\nimport '../../contract/g.ts'`,
      'src/money/ledger/e.ts': `import '../../stray/f.ts'`,
      'src/money/stray/f.ts': '',
      'src/stray/f.ts': '',
      'src/contract/g.ts': `export * from './h.ts'`,
      'src/contract/h.ts': '',
    })
    expect(describeViolations(areaViolations(broken, AREAS))).toEqual([
      'src/platform/base/a.ts:1 [area] platform imports src/streaming/market/b.ts',
      'src/streaming/market/b.ts:1 [area] streaming/market (rank 0) imports src/streaming/links/c.ts',
      'src/streaming/links/c.ts:1 [area] imports src/streaming/links/missing.ts, which does not exist',
      'src/streaming/links/c.ts:2 [area] streaming/links (rank 2) imports src/streaming/recordings/d.ts',
      'src/streaming/recordings/d.ts:1 [area] streaming imports src/money/ledger/e.ts',
      'src/money/ledger/e.ts:1 [area] money imports src/stray/f.ts',
      'src/money/stray/f.ts:1 [area] money/stray is not in the table of areas',
      'src/stray/f.ts:1 [area] stray/stray is not in the table of areas',
    ])
  })

  it('the import rules detect checks in `conformance/judge` that import a stimulus, the product, or more of the platform', () => {
    const broken = sourceTreeOf({
      'src/conformance/judge/harness.ts': `import '../stimulus/payments.ts'\nimport '../../platform/base/a.ts'`,
      'src/conformance/judge/stream/a.ts': `import type { B } from '../../../streaming/market/b.ts'\nimport '../harness.ts'`,
      'src/conformance/judge/receipts/c.ts': `import '../../../platform/http/d.ts'\nimport '../executor/e.ts'`,
      'src/conformance/judge/executor/e.ts': `import '../../../money/ledger/f.ts'\nimport '../../../contract/g.ts'`,
      'src/conformance/stimulus/payments.ts': `import '../../money/ledger/f.ts'\nimport '../judge/harness.ts'`,
      'src/platform/base/a.ts': '',
      'src/platform/http/d.ts': '',
      'src/streaming/market/b.ts': '',
      'src/money/ledger/f.ts': '',
      'src/contract/g.ts': '',
    })
    expect(describeViolations(areaViolations(broken, AREAS))).toEqual([
      'src/conformance/judge/harness.ts:1 [area] conformance/judge imports src/conformance/stimulus/payments.ts',
      'src/conformance/judge/stream/a.ts:1 [area] conformance/judge imports src/streaming/market/b.ts',
      'src/conformance/judge/receipts/c.ts:1 [area] conformance/judge imports src/platform/http/d.ts',
      'src/conformance/judge/receipts/c.ts:2 [area] conformance/judge/receipts (rank 2) imports src/conformance/judge/executor/e.ts',
      'src/conformance/judge/executor/e.ts:1 [area] conformance/judge imports src/money/ledger/f.ts',
    ])
  })

  it('the import rules detect a violation of packages: another folder, another file of the client, another package', () => {
    const broken = sourceTreeOf({
      'src/service/a.ts': `import type { Book } from '../../packages/client/src/index.ts'`,
      'src/cli/b.ts': `import { Level } from '../../packages/client/src/stream/level.ts'`,
      'src/cli/c.ts': `import '../../packages/console/src/main.ts'`,
      'src/cli/d.ts': `import { StreamClient } from '../../packages/client/src/index.ts'`,
    })
    expect(packageViolations(broken).map(({ file }) => file)).toEqual([
      'src/service/a.ts',
      'src/cli/b.ts',
      'src/cli/c.ts',
    ])
    expect(areaViolations(broken, AREAS)).toEqual([])
  })

  it('the import rules detect verifiers that import the client through another file or as types, and missing verifiers', () => {
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

  it('the import rules detect a violation of cycles', () => {
    const broken = sourceTreeOf({
      'src/platform/base/a.ts': `import './b.ts'`,
      'src/platform/base/b.ts': `import type { C } from './c.ts'`,
      'src/platform/base/c.ts': `import './b.ts'`,
    })
    expect(describeViolations(cycleViolations(broken))).toEqual([
      'src/platform/base/b.ts:1 [cycle] src/platform/base/b.ts -> src/platform/base/c.ts -> src/platform/base/b.ts',
    ])
  })

  it('the import rules detect a violation of vendor packages: a second file, a foreign folder, an unneeded row', () => {
    const broken = sourceTreeOf({
      'src/platform/base/a.ts': `import 'yaml'\nimport { readFileSync } from 'node:fs'`,
      'src/platform/base/b.ts': `import { parse } from 'yaml/util'\nimport 'ws'`,
      'src/streaming/gateway/c.ts': `import 'ws'`,
      'src/streaming/gateway/d.ts': `import type { WebSocket } from 'ws'`,
    })
    const rows = [
      { packageName: 'ws', where: 'one-a-folder', folders: ['streaming/gateway'], reason: '' },
      { packageName: 'pino', where: 'any', reason: '' },
    ] as const
    expect(describeViolations(vendorViolations(broken, rows))).toEqual([
      'src/platform/base/b.ts:1 [vendor] yaml is wrapped by src/platform/base/a.ts: import that',
      'src/platform/base/b.ts:2 [vendor] ws belongs to streaming/gateway',
      'src/streaming/gateway/d.ts:1 [vendor] ws is wrapped by src/streaming/gateway/c.ts: import that',
      'pino:0 [vendor] row that nothing needs: delete it',
    ])
  })

  it('the import rules detect impurity: I/O, packages, impure files, the clock, a header without the sentence; but not types', () => {
    const broken = sourceTreeOf({
      'src/streaming/market/a.ts': `/** Pure. */\nimport { readFileSync } from 'node:fs'\nimport { createHash } from 'node:crypto'\nimport type { Clock } from '../../platform/base/clock.ts'`,
      'src/streaming/market/b.ts': `/**\n * Does much.\n * Pure.\n */\nimport { createLog } from '../../platform/base/log.ts'\n// Date.now()\nexport const now = Date.now()`,
      'src/streaming/market/c.ts': `/** Pure. */\nimport { now } from './d.ts'`,
      'src/streaming/market/d.ts': `/** Not Pure, but close. */\nexport const now = Date.now()`,
    })
    expect(describeViolations(pureViolations(broken))).toEqual([
      'src/streaming/market/a.ts:2 [pure] pure file imports node:fs',
      'src/streaming/market/b.ts:5 [pure] pure file imports src/platform/base/log.ts',
      'src/streaming/market/b.ts:7 [pure] pure file uses Date.now',
      'src/streaming/market/c.ts:2 [pure] pure file imports src/streaming/market/d.ts',
    ])
  })
})

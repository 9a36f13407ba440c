/**
 * The ratchets on the sources: no long files, functions and lists of imports, no large folders, no `any`, no unused exports,
 * no forbidden words.
 */
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SETTING_KEYS } from '../../src/service/config/settings.ts'
import { ISOLATED_FILES } from '../support/test-runs.ts'
import {
  anyViolations,
  FILE_IMPORTS_MAX,
  FILE_LINES_MAX,
  FOLDER_FILES_MAX,
  FUNCTION_LINES_MAX,
  fileLengthViolations,
  folderSizeViolations,
  functionLengthViolations,
  headerViolations,
  importCountViolations,
  unusedExportViolations,
  unusedFileViolations,
  wordViolations,
} from './code-rules.ts'
import { EXCEPTIONS } from './exceptions.ts'
import { describeViolations, productTexts, readSourceTree, sourceTreeOf, withoutExceptions } from './source-tree.ts'

const ENTRIES: ReadonlySet<string> = new Set(['src/main.ts', 'src/service/parts/streaming/gateway-process.ts'])

const inTests = (path: string) => path.startsWith('test/')

/** The patterns are assembled so that this file does not contain what it forbids. */
const WORDS = [
  {
    rule: 'outside-path',
    // Recorded data is next to the repository; only tests may look for it, and they run without it.
    pattern: new RegExp(['\\.\\./sha', 'red|/wo', 'rk/'].join('')),
    where: (path: string) => !inTests(path),
  },
  { rule: 'unfinished', pattern: new RegExp(['\\b(TO', 'DO|FIX', 'ME)\\b'].join('')), where: () => true },
  {
    rule: 'float',
    pattern: new RegExp(['\\bparse', 'Float\\b|\\bNumber\\((price|amount)\\)'].join('')),
    where: (path: string) => path.startsWith('src/'),
  },
  {
    rule: 'second-ledger',
    // `post` alone writes postings and balances: it repays debts and refuses overdrafts.
    pattern: /\b(insert into|update) (postings|balances)\b|\b(insertInto|inserting|updateTable)\('(postings|balances)'/,
    where: (path: string) => path.startsWith('src/') && path !== 'src/money/ledger/ledger.ts',
  },
  {
    rule: 'lock-order',
    // The clauses of `platform/store/lock-order` refuse what other transactions lock in the opposite order.
    pattern: /\bfor (no key )?(update|share)\b|\.for(Update|Share|NoKeyUpdate|KeyShare)\(|pg_advisory_xact_lock/,
    where: (path: string) =>
      /^src\/money\/(accounts|controls|deliveries|deposits|ledger|orchestrations|rules|transfers)\//.test(path),
  },
  {
    rule: 'unnamed-wait',
    // Ended by the test's time-out alone, which does not name what is missing: support/awaited.ts.
    pattern: /^import .*\bonce\b.* from 'node:events'|\bwhile \(.+\) await new Promise\(/,
    where: (path: string) => inTests(path) && path !== 'test/support/awaited.ts',
  },
  {
    rule: 'test-without-content',
    pattern: /^\s*(it|test)\b.*, \(\) => undefined\)/,
    where: inTests,
  },
  {
    rule: 'combined-signal',
    // Node.js 20 collects a timeout that is reachable through nothing else: `withDeadline` of platform/base/time-limit.
    pattern: new RegExp(['\\bAbortSignal\\.a', 'ny\\('].join('')),
    where: () => true,
  },
] as const

const tree = readSourceTree()
const webConsole = readSourceTree('packages/console/src')
const CONSOLE_ENTRIES: ReadonlySet<string> = new Set(['packages/console/src/main.tsx'])
/** One script. */
const demoPage = readSourceTree('packages/demo-page')
const everything = new Map([...tree, ...readSourceTree('packages/client/src'), ...webConsole, ...demoPage])

function remaining(rule: string, violations: Parameters<typeof withoutExceptions>[0]) {
  return describeViolations(
    withoutExceptions(
      violations,
      EXCEPTIONS.filter((row) => row.rule === rule),
    ),
  )
}

describe('test files that share a process', () => {
  /** Changes of global state that last, or last until they are undone. */
  const changes = [
    { change: /\bvi\.(mock|doMock)|\bprocess\.(chdir|exit|once)\(|\.prototype\.\w+ =[^=]|\bglobalThis\b/ },
    { change: /\bprocess\.env\.\w+ =[^=]/ },
    { change: /\bvi\.useFake/, undone: /\bvi\.useRealTimers\(/ },
    { change: /\bvi\.spyOn/, undone: /\bvi\.restoreAllMocks\(/ },
    { change: /\bvi\.stubEnv/, undone: /\bvi\.unstubAllEnvs\(/ },
    { change: /\bprocess\.on\(/, undone: /\bprocess\.off\(/ },
    { change: /\bprocess\.umask\(\w/, undone: /\bprocess\.umask\((mask|umask)\)/ },
  ]
  const isIsolated = (path: string) =>
    ISOLATED_FILES.some(
      (pattern) => path === pattern || (pattern.endsWith('/*.test.ts') && dirname(path) === dirname(pattern)),
    )

  it('test files that share a process restore the global state of the process', () => {
    const files = [...productTexts()].filter(
      ([path]) =>
        path.startsWith('test/') &&
        path.endsWith('.test.ts') &&
        !path.startsWith('test/structure/') &&
        !isIsolated(path),
    )
    expect(files.length).toBeGreaterThan(200)
    const isChanged = (text: string) =>
      changes.some(({ change, undone }) => change.test(text) && (undone === undefined || !undone.test(text)))
    expect(files.filter(([, text]) => isChanged(text)).map(([path]) => path)).toEqual([])
  })
})

it('tests wait for what a page shows, and do not read it once', () => {
  // Playwright's lists and counts are those of this moment, also when the page has not drawn yet.
  const readsOnce = /expect\([^\n]*await [^\n]*\.(allTextContents\(\)|count\(\)\)\.(?!toBe\(0\)))/
  const files = [...productTexts()].filter(
    ([path, text]) => path.startsWith('test/') && text.includes('playwright-core'),
  )
  expect(files.length).toBeGreaterThan(5)
  expect(files.filter(([, text]) => readsOnce.test(text)).map(([path]) => path)).toEqual([])
})

/** One row per file. */
const MIGRATIONS = 'src/platform/store/migrations'
const AREAS_MAX = 8
const COMPOSE_LINES_MAX = 150
/** As `wc -w` counts them. */
const PAGES_WORDS_MAX = 74_500

it(`the pages in docs/ have at most ${PAGES_WORDS_MAX} words`, () => {
  const pages = [...productTexts()].filter(([path]) => /^docs\/.*\.md$/.test(path))
  const words = pages.reduce((sum, [, text]) => sum + text.trim().split(/\s+/).length, 0)
  expect(words).toBeGreaterThan(50_000)
  expect(words).toBeLessThanOrEqual(PAGES_WORDS_MAX)
})

describe('the sources', () => {
  it(`the sources have at most ${COMPOSE_LINES_MAX} lines that compose the service`, () => {
    expect(tree.get('src/service/compose.ts')?.text.split('\n').length).toBeLessThanOrEqual(COMPOSE_LINES_MAX)
  })

  it(`the sources have at most ${AREAS_MAX} areas`, () => {
    const areas = new Set([...tree.keys()].flatMap((path) => /^src\/([^/]+)\//.exec(path)?.[1] ?? []))
    expect(areas.size).toBeLessThanOrEqual(AREAS_MAX)
  })

  it(`the sources have at most ${FOLDER_FILES_MAX} files directly in one folder`, () => {
    expect(remaining('folder-size', folderSizeViolations(everything, new Set([MIGRATIONS])))).toEqual([])
  })

  it(`the sources have at most ${FILE_IMPORTS_MAX} imports in one file`, () => {
    const tables = new Set([`${MIGRATIONS}/index.ts`])
    expect(remaining('import-count', importCountViolations(everything, tables))).toEqual([])
  })

  it(`the sources have no file over ${FILE_LINES_MAX} lines`, () => {
    expect(remaining('file-length', fileLengthViolations(everything))).toEqual([])
  })

  it(`the sources have no function over ${FUNCTION_LINES_MAX} lines`, () => {
    expect(remaining('function-length', functionLengthViolations(everything))).toEqual([])
  })

  it('the sources never use the type any', () => {
    expect(remaining('any', anyViolations(everything))).toEqual([])
  })

  it('the sources have no unused export', () => {
    const unused = [
      ...unusedExportViolations(tree, ENTRIES, readSourceTree('scripts')),
      ...unusedExportViolations(webConsole, CONSOLE_ENTRIES),
    ]
    expect(remaining('unused-export', unused)).toEqual([])
  })

  it('the sources have no file that nothing imports', () => {
    const unused = [...unusedFileViolations(tree, ENTRIES), ...unusedFileViolations(webConsole, CONSOLE_ENTRIES)]
    expect(remaining('unused-file', unused)).toEqual([])
  })

  it('the sources read every configuration key', () => {
    const texts = [...tree.values()]
      .filter(({ path }) => !path.startsWith('src/service/config/settings'))
      .map(({ text }) => text)
    const isRead = (key: string) =>
      texts.some((text) => text.includes(key.includes('.') ? `config['${key}']` : `config.${key}`))
    expect(SETTING_KEYS.filter((key) => !isRead(key))).toEqual([])
  })

  it("the sources begin with a statement of the file's responsibility", () => {
    expect(remaining('header', headerViolations(everything))).toEqual([])
  })
})

describe('the product', () => {
  it.each(WORDS)('the product has no $rule words', (row) => {
    expect(remaining(row.rule, wordViolations(productTexts(), [row]))).toEqual([])
  })
})

describe('exceptions', () => {
  it('exceptions name an existing rule and a reason', () => {
    const rules = ['area', 'cycle', 'vendor', 'pure', 'file-length', 'function-length', 'any', 'unused-export']
    const more = ['unused-file', 'header', 'import-count', 'folder-size']
    const known = new Set([...rules, ...more, ...WORDS.map(({ rule }) => rule)])
    expect(EXCEPTIONS.filter((row) => !known.has(row.rule) || row.reason.length < 20)).toEqual([])
  })

  it('exceptions without a need are reported', () => {
    const row = { rule: 'any', subject: 'src/platform/base/a.ts', reason: 'none' }
    const violation = {
      rule: 'any',
      file: 'src/platform/base/a.ts',
      subject: 'src/platform/base/a.ts',
      line: 1,
      message: '',
    }
    expect(withoutExceptions([violation], [row])).toEqual([])
    expect(withoutExceptions([], [row])).toHaveLength(1)
  })
})

describe('the ratchets detect a violation', () => {
  const lines = (count: number) => 'x\n'.repeat(count)

  it('the ratchets detect a violation of length', () => {
    const broken = sourceTreeOf({
      'src/platform/base/long.ts': lines(FILE_LINES_MAX + 1),
      'src/platform/base/fits.ts': lines(FILE_LINES_MAX),
      'src/platform/base/functions.ts': `function fits() {\n${lines(FUNCTION_LINES_MAX - 2)}}\nconst long = () => {\n${lines(FUNCTION_LINES_MAX - 1)}}`,
    })
    expect(describeViolations(fileLengthViolations(broken))).toEqual([
      'src/platform/base/long.ts:401 [file-length] 401 lines, at most 400',
    ])
    expect(describeViolations(functionLengthViolations(broken))).toEqual([
      'src/platform/base/functions.ts:71 [function-length] long has 71 lines, at most 70',
    ])
  })

  it('the ratchets detect a violation of imports in a file and files in a folder', () => {
    const names = Array.from({ length: FOLDER_FILES_MAX + 1 }, (_, index) => `src/money/ledger/f${index}.ts`)
    const files = Object.fromEntries(names.map((name) => [name, '']))
    const imports = (count: number) => Array.from({ length: count }, (_, index) => `import './f${index}.ts'\n`).join('')
    const broken = sourceTreeOf({
      ...files,
      'src/money/ledger/deep/fits.ts': imports(FILE_IMPORTS_MAX),
      'src/money/ledger/deep/many.ts': imports(FILE_IMPORTS_MAX + 1),
      'src/money/ledger/deep/table.ts': imports(FILE_IMPORTS_MAX + 1),
    })
    expect(describeViolations(folderSizeViolations(broken, new Set()))).toEqual([
      'src/money/ledger:0 [folder-size] 41 files, at most 40',
    ])
    expect(folderSizeViolations(broken, new Set(['src/money/ledger']))).toEqual([])
    expect(describeViolations(importCountViolations(broken, new Set(['src/money/ledger/deep/table.ts'])))).toEqual([
      'src/money/ledger/deep/many.ts:1 [import-count] 31 imports, at most 30',
    ])
  })

  it('the ratchets detect a violation of any', () => {
    const broken = sourceTreeOf({ 'src/platform/base/a.ts': `\nconst any = 'any' as any` })
    expect(describeViolations(anyViolations(broken))).toEqual([
      'src/platform/base/a.ts:2 [any] say what it is, or unknown',
    ])
  })

  it('the ratchets detect a violation of exports and files without a user', () => {
    const broken = sourceTreeOf({
      'src/main.ts': `import { used } from './platform/base/a.ts'\nimport * as all from './platform/base/b.ts'`,
      'src/platform/base/a.ts': `export const used: Shape = 1\nexport type Shape = number\nexport type Alone = 1\nexport function unused() {}`,
      'src/platform/base/b.ts': `export const first = 1, second = 2`,
      'src/platform/base/c.ts': `const hidden = 1\nexport { hidden as shown }`,
      'src/platform/base/d.ts': `export class Thrown extends RangeError {}\nthrow new Thrown()`,
    })
    const script = sourceTreeOf({ 'scripts/s.ts': `import { first } from '../src/platform/base/b.ts'` })
    expect(describeViolations(unusedExportViolations(broken, ENTRIES, script))).toEqual([
      'src/platform/base/a.ts:3 [unused-export] nothing in src imports Alone',
      'src/platform/base/a.ts:4 [unused-export] nothing in src imports unused',
      'src/platform/base/c.ts:2 [unused-export] nothing in src imports shown',
    ])
    expect(describeViolations(unusedFileViolations(broken, ENTRIES))).toEqual([
      'src/platform/base/c.ts:1 [unused-file] nothing in src imports this file',
      'src/platform/base/d.ts:1 [unused-file] nothing in src imports this file',
    ])
  })

  it('the ratchets detect a violation of headers and words', () => {
    const broken = sourceTreeOf({
      'src/platform/base/a.ts': 'const a = 1',
      'src/platform/base/b.ts': '#!/bin/x\n/** Owns b. */',
    })
    expect(describeViolations(headerViolations(broken))).toHaveLength(1)
    const texts = new Map([
      ['src/platform/base/a.ts', `// TO${'DO'}\nNumber(price)\nopen('../sha${'red'}/data')\nupdate balances set`],
    ])
    expect(describeViolations(wordViolations(texts, WORDS)).map((text) => text.replace(/\].*/, ']'))).toEqual([
      'src/platform/base/a.ts:1 [unfinished]',
      'src/platform/base/a.ts:2 [float]',
      'src/platform/base/a.ts:3 [outside-path]',
      'src/platform/base/a.ts:4 [second-ledger]',
    ])
  })
})

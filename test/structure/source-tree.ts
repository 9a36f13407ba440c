/**
 * The sources as the structure tests use them: every file parsed once, with its imports resolved. A tree can also be
 * created from texts in memory, so that each rule can be tested with a violation.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..')

export interface ImportRecord {
  readonly line: number
  /** Path of the imported file from the root (`src/platform/base/clock.ts`); absent for a package. */
  readonly target?: string
  /** Name of the imported package without a subpath (`node:fs` stays whole); absent for a file. */
  readonly packageName?: string
  /** Names imported from the target; `*` for all of it (namespace and dynamic imports, `export *`). */
  readonly names: readonly string[]
  /** Type-only import, erased by the compiler. */
  readonly typeOnly: boolean
}

export interface SourceFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly syntax: ts.SourceFile
  readonly imports: readonly ImportRecord[]
}

export type SourceTree = ReadonlyMap<string, SourceFile>

export interface Violation {
  readonly rule: string
  readonly file: string
  readonly line: number
  readonly message: string
}

/** The message of a failing test: one clickable line per violation. */
export function describeViolations(violations: readonly Violation[]): string[] {
  return violations.map((violation) => `${violation.file}:${violation.line} [${violation.rule}] ${violation.message}`)
}

/** An exception from a rule; an unneeded one is itself a violation. */
export interface Exception {
  readonly rule: string
  /** File, or `file#name` where the rule applies to a declaration inside the file. */
  readonly subject: string
  readonly reason: string
}

export function withoutExceptions(
  violations: readonly (Violation & { readonly subject: string })[],
  exceptions: readonly Exception[],
): Violation[] {
  const used = new Set<Exception>()
  const remaining: Violation[] = violations.filter((violation) => {
    const exception = exceptions.find((row) => row.rule === violation.rule && row.subject === violation.subject)
    if (exception !== undefined) used.add(exception)
    return exception === undefined
  })
  for (const row of exceptions) {
    if (used.has(row)) continue
    remaining.push({
      rule: row.rule,
      file: row.subject,
      line: 0,
      message: 'exception that nothing needs: delete its row',
    })
  }
  return remaining
}

/** Made by `scripts/api-types.mjs`, and not committed. */
export const GENERATED: ReadonlySet<string> = new Set([
  'packages/client/src/rest/openapi.ts',
  'packages/console/src/base/openapi.ts',
])

/** The TypeScript files of a folder of the repository that were written by hand. */
export function readSourceTree(folder = 'src'): SourceTree {
  const files = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => !GENERATED.has(path))
    .sort()
  return sourceTreeOf(Object.fromEntries(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')])))
}

/** No rule reads the tags in comments. */
const PARSING = {
  languageVersion: ts.ScriptTarget.ES2023,
  jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
}

export function sourceTreeOf(texts: Readonly<Record<string, string>>): SourceTree {
  return new Map(
    Object.entries(texts).map(([path, text]) => {
      const kind = path.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
      const syntax = ts.createSourceFile(path, text, PARSING, true, kind)
      return [path, { path, text, syntax, imports: importsOf(path, syntax) }]
    }),
  )
}

export function lineOf(syntax: ts.SourceFile, node: ts.Node): number {
  return syntax.getLineAndCharacterOfPosition(node.getStart(syntax)).line + 1
}

/** Calls `visit` for every node of the file, parents before children. */
export function eachNode(file: SourceFile, visit: (node: ts.Node) => void): void {
  const walk = (node: ts.Node): void => {
    visit(node)
    ts.forEachChild(node, walk)
  }
  walk(file.syntax)
}

function importsOf(path: string, syntax: ts.SourceFile): ImportRecord[] {
  const imports: ImportRecord[] = []
  const add = (node: ts.Node, specifier: string, names: readonly string[], typeOnly: boolean): void => {
    const line = lineOf(syntax, node)
    if (specifier.startsWith('.')) {
      const target = normalize(join(dirname(path), specifier)).replaceAll('\\', '/')
      imports.push({ line, target, names, typeOnly })
    } else {
      const parts = specifier.split('/')
      const packageName = specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] as string)
      imports.push({ line, packageName: specifier.startsWith('node:') ? specifier : packageName, names, typeOnly })
    }
  }
  const walk = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      add(node, node.moduleSpecifier.text, importedNames(node.importClause), isTypeOnlyImport(node.importClause))
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      const clause = node.exportClause
      const names =
        clause && ts.isNamedExports(clause)
          ? clause.elements.map((element) => (element.propertyName ?? element.name).text)
          : ['*']
      add(node, node.moduleSpecifier.text, names, node.isTypeOnly)
    } else if (ts.isCallExpression(node) && isImport(node.expression)) {
      const [argument] = node.arguments
      if (argument && ts.isStringLiteralLike(argument)) add(node, argument.text, dynamicNames(node), false)
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      if (ts.isStringLiteral(node.argument.literal)) add(node, node.argument.literal.text, ['*'], true)
    }
    ts.forEachChild(node, walk)
  }
  walk(syntax)
  return imports
}

/** `import(…)`, and `import.meta.resolve(…)`, which uses a file of a package without loading it. */
function isImport(called: ts.Expression): boolean {
  return called.kind === ts.SyntaxKind.ImportKeyword || called.getText() === 'import.meta.resolve'
}

function importedNames(clause: ts.ImportClause | undefined): string[] {
  if (clause === undefined) return []
  const names = clause.name === undefined ? [] : ['default']
  if (clause.namedBindings === undefined) return names
  if (ts.isNamespaceImport(clause.namedBindings)) return [...names, '*']
  return [...names, ...clause.namedBindings.elements.map((element) => (element.propertyName ?? element.name).text)]
}

function isTypeOnlyImport(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false
  if (clause.isTypeOnly) return true
  const bindings = clause.namedBindings
  return (
    clause.name === undefined &&
    bindings !== undefined &&
    ts.isNamedImports(bindings) &&
    bindings.elements.length > 0 &&
    bindings.elements.every((element) => element.isTypeOnly)
  )
}

/** `const { run } = await import('./x.ts')` uses `run`; any other use of a dynamic import uses all exports. */
function dynamicNames(call: ts.CallExpression): string[] {
  const awaited = call.parent
  const declaration = awaited && ts.isAwaitExpression(awaited) ? awaited.parent : undefined
  if (declaration === undefined || !ts.isVariableDeclaration(declaration)) return ['*']
  if (!ts.isObjectBindingPattern(declaration.name)) return ['*']
  return declaration.name.elements.map((element) => {
    const name = element.propertyName ?? element.name
    return ts.isIdentifier(name) ? name.text : '*'
  })
}

/** Every text file of the repository that belongs to the product (nothing installed, built or generated by a run). */
export function productTexts(): Map<string, string> {
  const texts = new Map<string, string>()
  const skipped = new Set([
    '.git',
    'node_modules',
    'build',
    'dist',
    'packages/client/dist',
    'data',
    'coverage',
    '.cache',
    'package-lock.json',
    'LICENSE',
    ...GENERATED,
  ])
  const walk = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (skipped.has(relative(ROOT, path))) continue
      if (entry.isDirectory()) walk(path)
      else if (entry.isFile()) texts.set(relative(ROOT, path), readFileSync(path, 'utf8'))
    }
  }
  walk(ROOT)
  return texts
}

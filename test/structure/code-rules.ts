/** The ratchets for the contents of files, as functions from a source tree to violations. */
import { dirname } from 'node:path'
import ts from 'typescript'
import { eachNode, lineOf, type SourceFile, type SourceTree, type Violation } from './source-tree.ts'

type Subject = Violation & { readonly subject: string }

export const FILE_LINES_MAX = 400
export const FUNCTION_LINES_MAX = 70
export const FILE_IMPORTS_MAX = 30
export const FOLDER_FILES_MAX = 40

export function fileLengthViolations(tree: SourceTree): Subject[] {
  return [...tree.values()].flatMap((file) => {
    const lines = file.text.trimEnd().split('\n').length
    if (lines <= FILE_LINES_MAX) return []
    return [violation('file-length', file.path, FILE_LINES_MAX + 1, `${lines} lines, at most ${FILE_LINES_MAX}`)]
  })
}

/** A file that is one table of files imports all of them: it has as many imports as rows. */
export function importCountViolations(tree: SourceTree, tables: ReadonlySet<string>): Subject[] {
  return [...tree.values()].flatMap(({ path, imports }) => {
    if (imports.length <= FILE_IMPORTS_MAX || tables.has(path)) return []
    return [violation('import-count', path, 1, `${imports.length} imports, at most ${FILE_IMPORTS_MAX}`)]
  })
}

/** Counts the files directly in a folder. */
export function folderSizeViolations(tree: SourceTree, exempt: ReadonlySet<string>): Subject[] {
  const counts = new Map<string, number>()
  for (const path of tree.keys()) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  return [...counts].flatMap(([folder, count]) => {
    if (count <= FOLDER_FILES_MAX || exempt.has(folder)) return []
    return [violation('folder-size', folder, 0, `${count} files, at most ${FOLDER_FILES_MAX}`)]
  })
}

export function functionLengthViolations(tree: SourceTree): Subject[] {
  const violations: Subject[] = []
  for (const file of tree.values()) {
    eachNode(file, (node) => {
      if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return
      const first = lineOf(file.syntax, node)
      const lines = file.syntax.getLineAndCharacterOfPosition(node.end).line + 2 - first
      if (lines <= FUNCTION_LINES_MAX) return
      const name = functionName(node)
      violations.push({
        ...violation('function-length', file.path, first, `${name} has ${lines} lines, at most ${FUNCTION_LINES_MAX}`),
        subject: `${file.path}#${name}`,
      })
    })
  }
  return violations
}

export function anyViolations(tree: SourceTree): Subject[] {
  const violations: Subject[] = []
  for (const file of tree.values()) {
    eachNode(file, (node) => {
      if (node.kind === ts.SyntaxKind.AnyKeyword) {
        violations.push(violation('any', file.path, lineOf(file.syntax, node), 'say what it is, or unknown'))
      }
    })
  }
  return violations
}

/**
 * Exports that no other source file imports. A type, or an error class, also counts as used when another declaration of
 * its own file refers to it: it describes what that declaration returns or throws. Imports from the files in `users`
 * count as well.
 */
export function unusedExportViolations(
  tree: SourceTree,
  entries: ReadonlySet<string>,
  users: SourceTree = new Map(),
): Subject[] {
  const taken = new Map<string, Set<string>>()
  for (const file of [...tree.values(), ...users.values()]) {
    for (const { target, names } of file.imports) {
      if (target === undefined) continue
      const set = taken.get(target) ?? new Set()
      for (const name of names) set.add(name)
      taken.set(target, set)
    }
  }
  const violations: Subject[] = []
  for (const file of tree.values()) {
    const names = taken.get(file.path)
    if (entries.has(file.path) || names?.has('*')) continue
    for (const { name, line, isType } of exportsOf(file)) {
      if (names?.has(name) || (isType && occurrences(file, name) > 1)) continue
      violations.push({
        ...violation('unused-export', file.path, line, `nothing in src imports ${name}`),
        subject: `${file.path}#${name}`,
      })
    }
  }
  return violations
}

/** Source files that nothing imports, other than entry points. */
export function unusedFileViolations(tree: SourceTree, entries: ReadonlySet<string>): Subject[] {
  const imported = new Set([...tree.values()].flatMap((file) => file.imports.map(({ target }) => target)))
  return [...tree.keys()]
    .filter((path) => !imported.has(path) && !entries.has(path))
    .map((path) => violation('unused-file', path, 1, 'nothing in src imports this file'))
}

/** Every file begins with a paragraph that states its responsibility. */
export function headerViolations(tree: SourceTree): Subject[] {
  return [...tree.values()]
    .filter((file) => !file.text.replace(/^#!.*\n/, '').startsWith('/**'))
    .map((file) => violation('header', file.path, 1, 'begins with a paragraph: what it owns, promises, never does'))
}

/** Words that the product must not contain; the texts are searched line by line. */
export function wordViolations(
  texts: ReadonlyMap<string, string>,
  rules: readonly { readonly rule: string; readonly pattern: RegExp; readonly where: (path: string) => boolean }[],
): Subject[] {
  const violations: Subject[] = []
  for (const [path, text] of texts) {
    const applicable = rules.filter(({ where }) => where(path))
    if (applicable.length === 0) continue
    for (const [index, line] of text.split('\n').entries()) {
      for (const { rule, pattern } of applicable) {
        const found = pattern.exec(line)
        if (found !== null) violations.push(violation(rule, path, index + 1, `contains ${found[0]}`))
      }
    }
  }
  return violations
}

function functionName(node: ts.SignatureDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor'
  if (node.name !== undefined) return node.name.getText()
  const parent = node.parent
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.name.getText()
  return '(anonymous)'
}

interface ExportRecord {
  readonly name: string
  readonly line: number
  readonly isType: boolean
}

function exportsOf(file: SourceFile): ExportRecord[] {
  const records: ExportRecord[] = []
  const add = (node: ts.Node, name: string, isType: boolean): void => {
    records.push({ name, line: lineOf(file.syntax, node), isType })
  }
  for (const statement of file.syntax.statements) {
    if (ts.isExportDeclaration(statement)) {
      const clause = statement.exportClause
      if (clause === undefined || !ts.isNamedExports(clause)) continue
      for (const element of clause.elements) add(element, element.name.text, false)
      continue
    }
    const exported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)
    if (!exported) continue
    if (ts.isVariableStatement(statement)) {
      for (const declaration of statement.declarationList.declarations) {
        if (ts.isIdentifier(declaration.name)) add(declaration, declaration.name.text, false)
      }
    } else if (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)) {
      add(statement, statement.name.text, true)
    } else if ((ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) && statement.name) {
      add(statement, statement.name.text, ts.isClassDeclaration(statement) && isErrorClass(statement))
    }
  }
  return records
}

function isErrorClass(declaration: ts.ClassDeclaration): boolean {
  return declaration.heritageClauses?.some((clause) => /\b\w*Error\b/.test(clause.getText())) === true
}

function occurrences(file: SourceFile, name: string): number {
  let count = 0
  eachNode(file, (node) => {
    if (ts.isIdentifier(node) && node.text === name) count++
  })
  return count
}

function violation(rule: string, file: string, line: number, message: string): Subject {
  return { rule, file, line, message, subject: file }
}

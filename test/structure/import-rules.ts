/** The rules for imports, as functions from a source tree to violations. */
import type { SourceFile, SourceTree, Violation } from './source-tree.ts'

type Subject = Violation & { readonly subject: string }

/**
 * An area: a folder of `src/`, or a folder below it with rules of its own. What it may import besides itself, and its
 * folders, each with a higher rank than those before it.
 */
export interface Area {
  readonly name: string
  /** Areas, or folders of an area. */
  readonly imports: readonly string[]
  /** Folders with the same rank do not import each other. The area's last name stands for the files directly in it. */
  readonly ranks: readonly (readonly string[])[]
}

/** The area of a source file, and its folder there; `src/main.ts` is an area of its own. */
function placeOf(path: string, areas: readonly Area[]): { area: string; folder: string } {
  const parts = path.split('/').slice(1)
  const isIn = ({ name }: Area) => name.includes('/') && path.startsWith(`src/${name}/`)
  const area = areas.find(isIn)?.name ?? (parts[0] as string).replace(/\.ts$/, '')
  const [own, folder, file] = parts.slice(area.split('/').length - 1) as [string, string?, string?]
  return { area, folder: file === undefined ? own.replace(/\.ts$/, '') : (folder as string) }
}

/** A file imports its own folder, folders of a lower rank in its area, and the areas that its area may import. */
export function areaViolations(tree: SourceTree, areas: readonly Area[]): Subject[] {
  const violations: Subject[] = []
  const report = (path: string, line: number, message: string) =>
    violations.push(violation('area', path, line, message))
  for (const file of tree.values()) {
    const from = placeOf(file.path, areas)
    const area = areas.find(({ name }) => name === from.area)
    const rank = rankOf(area, from.folder)
    if (area === undefined || rank === undefined) {
      report(file.path, 1, `${from.area}/${from.folder} is not in the table of areas`)
      continue
    }
    for (const { target, line } of file.imports) {
      if (target === undefined || isOfPackage(target)) continue
      const to = placeOf(target, areas)
      const isImported = (name: string) => name === to.area || (name.includes('/') && target.startsWith(`src/${name}/`))
      if (!tree.has(target)) report(file.path, line, `imports ${target}, which does not exist`)
      else if (to.area !== from.area) {
        if (!area.imports.some(isImported)) report(file.path, line, `${from.area} imports ${target}`)
      } else if (to.folder !== from.folder && (rankOf(area, to.folder) ?? rank) >= rank)
        report(file.path, line, `${from.area}/${from.folder} (rank ${rank}) imports ${target}`)
    }
  }
  return violations
}

function rankOf(area: Area | undefined, folder: string): number | undefined {
  const rank = area?.ranks.findIndex((folders) => folders.includes(folder))
  return rank === -1 ? undefined : rank
}

/** Of `packages/`, the command line alone imports the client, and that as its users get it. */
export function packageViolations(tree: SourceTree): Subject[] {
  return [...tree.values()].flatMap(({ path, imports }) =>
    imports.flatMap(({ target, line }) => {
      if (target === undefined || !isOfPackage(target) || (path.startsWith('src/cli/') && target === CLIENT)) return []
      return [
        violation('package', path, line, `only cli imports of packages/, and of that only ${CLIENT}: not ${target}`),
      ]
    }),
  )
}

/** What verifies the service or clients must not reach the client through any of its imports. */
export function verifierViolations(tree: SourceTree, verifiers: readonly string[]): Subject[] {
  const violations: Subject[] = []
  for (const verifier of verifiers) {
    if (!tree.has(verifier)) violations.push(violation('verifier', verifier, 1, 'the verifier does not exist'))
    const reached = new Set([verifier])
    // A set also visits what is added during the loop.
    for (const path of reached) {
      for (const { target, line } of tree.get(path)?.imports ?? []) {
        if (target === undefined) continue
        if (isOfPackage(target)) violations.push(violation('verifier', path, line, `${verifier} uses ${target}`))
        else reached.add(target)
      }
    }
  }
  return violations
}

const CLIENT = 'packages/client/src/index.ts'

function isOfPackage(target: string): boolean {
  return target.startsWith('packages/')
}

/** No file imports itself through others; each cycle is reported once, at its first file in path order. */
export function cycleViolations(tree: SourceTree): Subject[] {
  const violations: Subject[] = []
  const finished = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) {
      const cycle = [...trail.slice(start), path]
      violations.push(violation('cycle', path, 1, cycle.join(' -> ')))
      return
    }
    if (finished.has(path)) return
    for (const { target } of tree.get(path)?.imports ?? []) {
      if (target !== undefined && tree.has(target)) visit(target, [...trail, path])
    }
    finished.add(path)
  }
  for (const path of [...tree.keys()].sort()) visit(path, [])
  return violations
}

/** Where a package may be imported, if one file is not enough. */
export interface VendorRow {
  readonly packageName: string
  /** `any`: everywhere. `folders`: in any file below these. `one-a-folder`: in one file below each of these. */
  readonly where: 'any' | 'folders' | 'one-a-folder'
  readonly folders?: readonly string[]
  readonly reason: string
}

/** A third-party package is imported only by the one file that wraps it. */
export function vendorViolations(tree: SourceTree, rows: readonly VendorRow[]): Subject[] {
  const users = new Map<string, { path: string; line: number }[]>()
  for (const file of tree.values()) {
    for (const { packageName, line } of file.imports) {
      if (packageName === undefined || packageName.startsWith('node:')) continue
      const list = users.get(packageName) ?? []
      if (!list.some(({ path }) => path === file.path)) list.push({ path: file.path, line })
      users.set(packageName, list)
    }
  }
  const violations: Subject[] = []
  for (const [packageName, files] of users) {
    const row = rows.find((candidate) => candidate.packageName === packageName)
    if (row?.where === 'any') continue
    const first = new Map<string, string>()
    for (const { path, line } of files) {
      const folder = row === undefined ? 'src' : row.folders?.find((name) => path.startsWith(`src/${name}/`))
      if (folder === undefined) {
        violations.push(violation('vendor', path, line, `${packageName} belongs to ${row?.folders?.join(', ')}`))
        continue
      }
      if (row?.where !== 'folders' && first.has(folder)) {
        violations.push(
          violation('vendor', path, line, `${packageName} is wrapped by ${first.get(folder)}: import that`),
        )
      }
      if (!first.has(folder)) first.set(folder, path)
    }
  }
  for (const row of rows) {
    if ((users.get(row.packageName)?.length ?? 0) < 2) {
      violations.push(violation('vendor', row.packageName, 0, 'row that nothing needs: delete it'))
    }
  }
  return violations
}

/** Whether the header of a file has the sentence "Pure." */
export function isPure({ text }: SourceFile): boolean {
  const [header = ''] = /^(?:#!.*\n)?\/\*\*[\s\S]*?\*\//.exec(text) ?? []
  return /\bPure\./.test(header)
}

/** Functions of packages whose result depends on their arguments alone, and types. */
const DETERMINISTIC: Readonly<Record<string, readonly string[]>> = {
  'node:buffer': ['isUtf8'],
  'node:crypto': [
    'createHash',
    'createHmac',
    'createPublicKey',
    'timingSafeEqual',
    'verify',
    'JsonWebKey',
    'KeyObject',
  ],
}

/**
 * Pure files import only pure files and deterministic functions (types may come from anywhere, because they are erased).
 * They use no clock, no randomness and no process state.
 */
export function pureViolations(tree: SourceTree): Subject[] {
  const violations: Subject[] = []
  for (const file of tree.values()) {
    if (!isPure(file)) continue
    for (const { target, packageName, names, typeOnly, line } of file.imports) {
      const allowed = DETERMINISTIC[packageName ?? '']
      if (allowed !== undefined && names.every((name) => allowed.includes(name))) continue
      const imported = target === undefined ? undefined : tree.get(target)
      if (typeOnly || (imported !== undefined && isPure(imported))) continue
      violations.push(violation('pure', file.path, line, `pure file imports ${target ?? packageName}`))
    }
    for (const [index, text] of file.text.split('\n').entries()) {
      const impure = IMPURE.exec(text)
      if (impure !== null && !/^\s*(\*|\/\/|\/\*)/.test(text)) {
        violations.push(violation('pure', file.path, index + 1, `pure file uses ${impure[0]}`))
      }
    }
  }
  return violations
}

const IMPURE =
  /\b(Date\.now|new Date\(\)|performance\.now|Math\.random|setTimeout|setInterval|setImmediate|queueMicrotask|process\.|console\.|fetch\()/

function violation(rule: string, file: string, line: number, message: string): Subject {
  return { rule, file, line, message, subject: file }
}

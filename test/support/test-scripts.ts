/**
 * Test scripts that run as their own processes. Where the program was built for this run, they are bundled first: a
 * process then takes a fifth of the processor time to start, and its threads are the built program's.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { ensureStoreTemplate } from '../../scripts/ensure-template.mjs'
import { wasBuiltForThisRun } from './command-line.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Below node_modules, so that packages outside the bundle are found. */
const FOLDER = join(ROOT, 'node_modules/.cache/test-scripts')
/** Where one of the program's chunks would be, so that threads and the store template are found. */
const PLACE = pathToFileURL(join(ROOT, 'dist/program/script.js')).href
/** Provides `require` to bundled CommonJS code. */
const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)"

const bundled = new Map<string, string>()

/** Node arguments that run this TypeScript file, given by its absolute path. */
export function scriptArguments(file: string): readonly string[] {
  if (!wasBuiltForThisRun) {
    ensureStoreTemplate()
    return ['--import', import.meta.resolve('tsx'), file]
  }
  const known = bundled.get(file)
  if (known !== undefined) return [known]
  const path = bundle(file)
  bundled.set(file, path)
  return [path]
}

function bundle(file: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [file],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    define: { 'import.meta.url': JSON.stringify(PLACE) },
    banner: { js: BANNER },
    external: ['pg-native', '@electric-sql/pglite'],
    logLevel: 'error',
  })
  const text = outputFiles.map((output) => output.text).join('')
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
  const path = join(FOLDER, `${basename(file, '.ts')}-${hash}.mjs`)
  if (existsSync(path)) return path
  mkdirSync(FOLDER, { recursive: true })
  // Another test process may write the same file.
  writeFileSync(`${path}.${process.pid}`, text)
  renameSync(`${path}.${process.pid}`, path)
  return path
}

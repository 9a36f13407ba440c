/**
 * The template for a new embedded store: an empty database with this version's schema, created when the program is
 * built (`npm run build`) and unpacked for each new data folder. Creating a database takes six seconds of processor
 * time, unpacking one 0.2 seconds. It is one file, because `npm pack` leaves out empty folders, which PostgreSQL
 * requires. The template contains no key, pepper or issuer: the first start on a copy creates them. Without a template
 * the start creates the database itself. Migrations missing in the template are applied to the copy, as to any older
 * store.
 */
import { mkdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasCode } from '../base/error-code.ts'
import { severalAtOnce } from './folder-sync.ts'

/** Next to the compiled program. From the source, the last build's. */
export const TEMPLATE_FILE = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/store-template.bin' : '../store-template.bin',
    import.meta.url,
  ),
)

/** A file with its length in bytes, or a folder. Paths are relative to the store. */
export type TemplateEntry = readonly [path: string, bytes: number | 'folder']

/**
 * The template file: one JSON line with all entries, a folder before its content, then all files' bytes in the same
 * order. It is not compressed: compression would add a third to each copy's processor time, and packages are compressed
 * anyway.
 */
export function packTemplate(entries: readonly TemplateEntry[], contents: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...contents])
}

/**
 * Unpacks the template to a folder that does not exist yet, accessible to its owner only. False when there is no
 * template.
 * @throws {Error} when the template is not complete
 */
export async function copyTemplate(folder: string, file = TEMPLATE_FILE): Promise<boolean> {
  const archive = await readFile(file).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  })
  if (archive === undefined) return false
  const contentStart = archive.indexOf('\n') + 1
  const entries = JSON.parse(archive.toString('utf8', 0, contentStart)) as readonly TemplateEntry[]
  mkdirSync(folder, { mode: 0o700 })
  const files: { readonly path: string; readonly content: Uint8Array }[] = []
  let end = contentStart
  for (const [path, bytes] of entries) {
    if (bytes === 'folder') mkdirSync(join(folder, path), { mode: 0o700 })
    else {
      files.push({ path, content: archive.subarray(end, end + bytes) })
      end += bytes
    }
  }
  if (end !== archive.length) throw new Error(`${file} is damaged: install the program again`)
  await severalAtOnce(files, ({ path, content }) => writeFile(join(folder, path), content))
  return true
}

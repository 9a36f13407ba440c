/**
 * The template of a new embedded store: an empty database with the schema of this version, made once when the program
 * is built (`npm run build`) and copied for each new data folder. PostgreSQL's own making of a database costs six seconds
 * of processor time, a copy a fifth of one. The template contains no key, pepper or issuer: the first start on a copy
 * makes those. Without a template a start makes its database by itself; what migrations the template lacks are applied
 * to the copy, as to any older store.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { copyTree } from './folder-sync.ts'

/** Beside the compiled program; the source finds that of the last build. */
export const TEMPLATE_FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/store-template' : '../store-template', import.meta.url),
)

/** Copies the template to a folder that does not exist yet, for its owner alone; false when there is no template. */
export async function copyTemplate(folder: string): Promise<boolean> {
  if (!existsSync(TEMPLATE_FOLDER)) return false
  await copyTree(TEMPLATE_FOLDER, folder)
  return true
}

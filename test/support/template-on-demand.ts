/**
 * Replaces the embedded store's `./store-template.ts` in a run without a build before it: the template for new stores
 * is created for the first test that opens one.
 */
import { ensureStoreTemplate } from '../../scripts/ensure-template.mjs'
import { copyTemplate as copy } from '../../src/platform/store/store-template.ts'

export function copyTemplate(folder: string): Promise<boolean> {
  ensureStoreTemplate()
  return copy(folder)
}

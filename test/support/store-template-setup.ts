/** Builds the store template for a single test file run with vitest, which has no build before it. */
import { ensureStoreTemplate } from '../../scripts/setup.mjs'

export default function setup(): void {
  ensureStoreTemplate()
}

/** Builds the store template for a single test file run with vitest, which has no build before it. */
// @ts-expect-error plain JavaScript, because it runs before there are packages
import { ensureStoreTemplate } from '../../scripts/setup.mjs'

export default function setup(): void {
  ensureStoreTemplate()
}

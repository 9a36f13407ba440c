/** A single file run with vitest has no build before it: the stores of tests are copies of a template that is current. */
// @ts-expect-error plain JavaScript, because it runs before there are packages
import { ensureStoreTemplate } from '../../scripts/setup.mjs'

export default function setup(): void {
  ensureStoreTemplate()
}

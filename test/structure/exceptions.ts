/** Every exception from the structure rules, each with its reason. A row that nothing needs fails the tests. */
import type { VendorRow } from './import-rules.ts'
import type { Exception } from './source-tree.ts'

export const EXCEPTIONS: readonly Exception[] = []

export const VENDOR_ROWS: readonly VendorRow[] = []

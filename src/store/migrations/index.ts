/** Every migration, in any order: `migrate` applies them by name. A new one is a new file here and a new line. */

import { audit } from './202611201230-audit.ts'
import { auth } from './202611201300-auth.ts'
import { commitTimes } from './202611201400-commit-times.ts'
import type { Migration } from './migration.ts'

export const MIGRATIONS: readonly Migration[] = [audit, auth, commitTimes]

/** The search condition for all due work, as a worker uses it every ten seconds (`platform/store/due-search`). */
import { sql } from '../../src/platform/store/sql.ts'

export const ALL_DUE = sql<boolean>`true`

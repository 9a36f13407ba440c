/** The condition of a search for all due work, as a worker makes it every ten seconds (`platform/store/due-search`). */
import { sql } from '../../src/platform/store/sql.ts'

export const ALL_DUE = sql<boolean>`true`

/** The condition of a search for all due work, as a worker makes it every ten seconds (`store/due-search`). */
import { sql } from '../../src/store/sql.ts'

export const ALL_DUE = sql<boolean>`true`

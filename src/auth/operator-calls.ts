/** What the operator's calls of this room share: who it was, ids in paths, and what a write is. */
import { isUuid } from '../base/ids.ts'
import { Problem } from '../http/problem.ts'
import type { Transaction } from '../store/db.ts'
import type { AuthTables } from './tables.ts'

/** Who the audit trail says it was: there is one operator's token. */
export const ACTOR = 'operator'

/** Runs work in one transaction and resolves when this node's directory has what it did. */
export type Write = <Result>(work: (transaction: Transaction<AuthTables>) => Promise<Result>) => Promise<Result>

/** What is no id names nothing, so it is not there. */
export function idOf(text: string): string {
  if (isUuid(text)) return text.toLowerCase()
  throw new Problem('not_found', 'there is nothing with this id')
}

/** Shared by the operator's calls of this module: the actor, ids in paths, and writes. */
import { isUuid } from '../base/ids.ts'
import { Problem } from '../http/problem.ts'
import type { Transaction } from '../store/db.ts'
import type { AuthTables } from './tables.ts'

/** The actor in the audit trail: there is one operator token. */
export const ACTOR = 'operator'

/** Runs work in one transaction and resolves when this node's directory contains the change. */
export type Write = <Result>(work: (transaction: Transaction<AuthTables>) => Promise<Result>) => Promise<Result>

/** The id in lower case; throws 404 for a text that is not an id. */
export function idOf(text: string): string {
  if (isUuid(text)) return text.toLowerCase()
  throw new Problem('not_found', 'there is nothing with this id')
}

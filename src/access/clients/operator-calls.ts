/** Shared by all modules' operator calls: the calling operator, ids in paths, and writes. */
import type { FastifyRequest } from 'fastify'
import type { OperatorRole } from '../../contract/operator-calls.ts'
import { assert } from '../../platform/base/assert.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Transaction } from '../../platform/store/db.ts'
import type { AuthTables } from './tables.ts'

/** For a caller with a session. */
interface CallingSession {
  /** In the cookie. */
  readonly secret: string
  /** What the page sends with every call. */
  readonly csrfToken: string
  /** When it ends at the latest. */
  readonly expiresAt: string
  /** Whether the operator signs in with a password. */
  readonly hasPassword: boolean
  /** Failed attempts with the operator's name before this login. */
  readonly failedLogins: { readonly count: number; readonly last_at: string } | undefined
}

/** The operator who makes a call. */
export interface CallingOperator {
  /** `token` for the holder of the setting `operator.token`. */
  readonly name: string
  /** For an API token, the highest role included in its own and its operator's. */
  readonly role: OperatorRole
  readonly via: 'operator_token' | 'api_token' | 'session'
  /** Operators who issued the credentials in use, and those who issued theirs: the caller may be any of them. */
  readonly issuers: readonly string[]
  readonly session?: CallingSession
  readonly token?: CallingToken
  /** Present: the call was requested by another operator, and this one has confirmed it. */
  readonly confirmation?: Confirmation
  /** Present: the service reads the record for a change request, which keeps it. */
  readonly keepsRecord?: true
}

/** What a confirmed call is bound to. */
export interface Confirmation {
  /** The hash for the credential that the call issues. Its requester has the secret. */
  readonly credentialHash?: Buffer
  /**
   * @param record the answer from the call that shows the record, read while the record is locked
   * @throws {Problem} 409 `record_changed` unless the operator who confirmed has seen this version
   */
  compare(record: unknown): void
}

/** For a caller with an API token. */
interface CallingToken {
  readonly id: string
  readonly name: string
  /** The sources and assets that the token is bound to. Null: to none. */
  readonly sources: readonly string[] | null
  readonly assets: readonly string[] | null
}

const operators = new WeakMap<FastifyRequest, CallingOperator>()

/** Notes the operator authenticated by the guard. */
export function noteOperator(request: FastifyRequest, operator: CallingOperator): void {
  operators.set(request, operator)
}

/** The operator authenticated by this call's guard. */
export function operatorOf(request: FastifyRequest): CallingOperator {
  const operator = operators.get(request)
  assert(operator !== undefined, 'only a call of the operator API has an operator')
  return operator
}

/** The calling operator's name in the audit trail: `operator` for the single token, else `operator:NAME`. */
export function operatorActor(request: FastifyRequest): string {
  const { name } = operatorOf(request)
  return name === BUILT_IN_OPERATOR ? 'operator' : `operator:${name}`
}

/** All operators who may be the caller: the issuers of the credentials that the call issues. */
export function issuersBy(operator: CallingOperator): readonly string[] {
  return [...new Set([operator.name, ...operator.issuers])]
}

/**
 * For a confirmed call, compares the record to be changed with the one that its operator saw. Call it first in the
 * call's transaction: a comparison before it would not see a change between the two.
 * @param readLocked locks the record until the transaction ends, and returns the answer from the call that shows it
 */
export async function requireSeen(request: FastifyRequest, readLocked: () => Promise<unknown>): Promise<void> {
  const { confirmation } = operatorOf(request)
  if (confirmation !== undefined) confirmation.compare(await readLocked())
}

/** The operator with the token from the setting `operator.token`. */
export const BUILT_IN_OPERATOR = 'token'

/** Runs work in one transaction and resolves when this node's directory contains the change. */
export type Write = <Result>(work: (transaction: Transaction<AuthTables>) => Promise<Result>) => Promise<Result>

/** The id in lower case. Throws 404 for any other text. */
export function idOf(text: string): string {
  if (isUuid(text)) return text.toLowerCase()
  throw new Problem('not_found', 'there is nothing with this id')
}

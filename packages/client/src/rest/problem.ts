/** An error answer from the REST API. */
import type { Problem } from './operations.ts'

/** What to do, for the codes whose detail does not already state it. */
const ADVICE: Readonly<Record<string, string>> = {
  unauthorized: 'pass credentials to the client',
  invalid_token: 'check that this service issued the token',
  insufficient_scope: 'ask the operator for the scope, and name it in `scopes`',
  disabled: 'ask the operator',
  paused: 'try again later',
  already_exists: 'the record with this name is in `meta.existing`',
  invalid_state: 'read the record again: its state is in `meta.current`',
  rate_limited: 'send fewer requests',
  daily_quota_exceeded: 'try again on the next day',
  market_not_live: 'try again later',
  internal: 'report the request_id to the operator',
  unavailable: 'try again later',
}

/** Switch on `code`, which is stable. The texts are for people. */
export class ApiProblem extends Error {
  override name = 'ApiProblem'
  readonly status: number
  readonly code: Problem['code']
  /** The field, and the rule it breaks. */
  readonly detail: string
  /** Name it when you ask the operator. */
  readonly requestId: string
  /** The fields that break a rule. */
  readonly errors: NonNullable<Problem['errors']>
  /** Facts about the error, such as the existing record. */
  readonly meta: NonNullable<Problem['meta']>

  constructor(operation: string, problem: Problem) {
    const advice = ADVICE[problem.code]
    const text = `${operation} was answered ${problem.status} ${problem.code}: ${problem.detail}`
    super(`${text}${advice === undefined ? '' : `. What to do: ${advice}`} (request_id ${problem.request_id})`)
    this.status = problem.status
    this.code = problem.code
    this.detail = problem.detail
    this.requestId = problem.request_id
    this.errors = problem.errors ?? []
    this.meta = problem.meta ?? {}
  }
}

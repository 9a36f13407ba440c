/**
 * Problems: the one shape of every HTTP error except the token endpoint's (RFC 9457). The table of codes is here, so is
 * the writing of the document. A detail names the field and the rule, and never quotes a secret.
 */
import { STATUS_CODES } from 'node:http'

/** Every problem code with its status. Codes are stable: clients may switch on them. */
const PROBLEMS = {
  invalid_request: 400,
  invalid_cursor: 400,
  unauthorized: 401,
  invalid_token: 401,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  already_exists: 409,
  invalid_state: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  upgrade_required: 426,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
} as const

export type ProblemCode = keyof typeof PROBLEMS

/** One broken rule: of a parameter in the URL, or of a body member by its JSON pointer (RFC 6901). */
export type FieldError =
  | { readonly parameter: string; readonly detail: string }
  | { readonly pointer: string; readonly detail: string }

interface ProblemExtras {
  readonly errors?: readonly FieldError[]
  /** What a client needs to go on: `existing` of already_exists, `current` of invalid_state. */
  readonly meta?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer that a handler throws. It is no fault of ours and is not logged as one. */
export class Problem extends Error {
  override name = 'Problem'
  readonly code: ProblemCode
  readonly extras: ProblemExtras

  constructor(code: ProblemCode, detail: string, extras: ProblemExtras = {}) {
    super(detail)
    this.code = code
    this.extras = extras
  }

  get status(): number {
    return PROBLEMS[this.code]
  }
}

export interface ProblemFacts {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly requestId: string
  readonly errors?: readonly FieldError[] | undefined
  readonly meta?: Readonly<Record<string, unknown>> | undefined
}

export const PROBLEM_MEDIA_TYPE = 'application/problem+json; charset=utf-8'

/** The document of RFC 9457 section 3; `about:blank` means that the title is the status' own phrase. */
export function problemDocument({ status, code, detail, requestId, errors, meta }: ProblemFacts): object {
  const title = STATUS_CODES[status]
  return { type: 'about:blank', title, status, detail, code, request_id: requestId, errors, meta }
}

/** A validation problem; its detail is the first error with its field. */
export function invalidRequest(errors: readonly [FieldError, ...FieldError[]]): Problem {
  const [first] = errors
  const field = 'parameter' in first ? first.parameter : first.pointer || 'body'
  return new Problem('invalid_request', `${field}: ${first.detail}`, { errors })
}

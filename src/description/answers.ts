/**
 * The parts of answers that all operations share, as the OpenAPI document has them: header fields, and the answers that
 * are problems. They are components, each named once and referred to. Pure.
 */
import { PROBLEMS, type ProblemCode } from '../http/problem.ts'

/** A piece of a JSON document. */
export type Json = { readonly [name: string]: unknown }

export const HEADERS = {
  'X-Request-Id': {
    description: 'Id of the request, in our log too: quote it when you ask about an answer',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
  'RateLimit-Policy': {
    description:
      'Quota of the client for this operation (draft-ietf-httpapi-ratelimit-headers): q requests in w seconds',
    required: true,
    schema: { type: 'string', examples: ['"list-accounts";q=100;w=2'] },
  },
  RateLimit: {
    description: 'What is left of the quota: r requests now, the whole of it in t seconds',
    required: true,
    schema: { type: 'string', examples: ['"list-accounts";r=99;t=1'] },
  },
  'Retry-After': {
    description: 'Whole seconds after which the request may be sent again',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  'WWW-Authenticate': {
    description: 'What the request lacks (RFC 6750 section 3)',
    schema: { type: 'string', examples: ['Bearer error="invalid_token"'] },
  },
  'Tidegate-Ignored-Parameters': {
    description: 'Names of query parameters that this operation does not have; absent when there are none',
    schema: { type: 'string' },
  },
} as const

type HeaderName = keyof typeof HEADERS

export const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'RFC 9457. `code` is stable: switch on it, not on words.',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string', const: 'about:blank' },
    title: { type: 'string', description: 'The phrase of the status' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string', description: 'Which field breaks which rule, for people' },
    code: { type: 'string', enum: Object.keys(PROBLEMS) },
    request_id: { type: 'string', format: 'uuid' },
    errors: {
      type: 'array',
      description: 'Every rule that was broken, up to 20',
      items: {
        type: 'object',
        required: ['detail'],
        properties: {
          parameter: { type: 'string', description: 'Name of a parameter in the URL' },
          pointer: { type: 'string', description: 'JSON pointer to a member of the body (RFC 6901)' },
          detail: { type: 'string' },
        },
      },
    },
    meta: {
      type: 'object',
      properties: {
        existing: {
          type: 'object',
          description: 'Of `already_exists`: the record that is there',
          additionalProperties: true,
        },
        current: { type: 'string', description: 'Of `invalid_state`: the present state' },
        summary_status: {
          type: 'string',
          enum: ['DISABLED', 'DENIED', 'ERROR'],
          description: 'Of `account_blocked`: the status of the account',
        },
        limit: {
          type: 'integer',
          description: 'Of `quota_exceeded` and `daily_quota_exceeded`: how many the customer may have or create',
        },
        used: {
          type: 'integer',
          description: 'Of `quota_exceeded` and `daily_quota_exceeded`: how many it has or has created',
        },
      },
    },
  },
} as const

/** Fields of every answer that the rate limit has let through. */
const LIMITED: readonly HeaderName[] = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit']

/** Statuses of answers that come before the rate limit, or from the socket itself. */
const BEFORE_LIMIT: ReadonlySet<number> = new Set([400, 401, 403, 408, 431, 500, 503])

/** Fields of a status beyond those of every answer. */
const OF_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** Header fields of an answer, by reference. */
export function headersOf(names: readonly HeaderName[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** Header fields of a success: of a list also the names it ignored. */
export function successHeaders(isList: boolean): Json {
  return headersOf(isList ? [...LIMITED, 'Tidegate-Ignored-Parameters'] : LIMITED)
}

/** Name and text of the component for an answer of this status with one of these codes. */
export function problemAnswer(status: number, codes: readonly ProblemCode[]): readonly [name: string, answer: Json] {
  const name = [status, ...codes].join('.')
  const general: readonly HeaderName[] = BEFORE_LIMIT.has(status) ? ['X-Request-Id'] : LIMITED
  const answer = {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].meaning}`).join('; '),
    headers: headersOf([...general, ...(OF_STATUS[status] ?? [])]),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Problem' },
            { type: 'object', properties: { status: { const: status }, code: { type: 'string', enum: codes } } },
          ],
        },
      },
    },
  }
  return [name, answer]
}

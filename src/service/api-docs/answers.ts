/**
 * The answers' parts that all operations share in the OpenAPI document, as components: header fields and problem
 * answers.
 */
import { type MetaMember, PROBLEMS, type ProblemCode } from '../../platform/http/problem.ts'

/** A piece of JSON. */
export type Json = { readonly [name: string]: unknown }

export const HEADERS = {
  'X-Request-Id': {
    description: 'The request’s id, also in the service log: quote it in support requests',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
  'RateLimit-Policy': {
    description:
      'The client’s quota for this operation (draft-ietf-httpapi-ratelimit-headers): q requests in w seconds',
    required: true,
    schema: { type: 'string', examples: ['"list-accounts";q=100;w=2'] },
  },
  RateLimit: {
    description: 'The remaining quota: r requests now, the full quota in t seconds',
    required: true,
    schema: { type: 'string', examples: ['"list-accounts";r=99;t=1'] },
  },
  'Retry-After': {
    description: 'Whole seconds after which the request may be sent again',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  'WWW-Authenticate': {
    description: 'The reason for the rejection (RFC 6750 section 3)',
    schema: { type: 'string', examples: ['Bearer error="invalid_token"'] },
  },
  'Tidegate-Ignored-Parameters': {
    description: 'Names of unknown query parameters. Absent when there are none',
    schema: { type: 'string' },
  },
} as const

export type HeaderName = keyof typeof HEADERS

/** The members of `meta`. The problem table names the codes for each. */
const META_MEMBERS = {
  existing: { type: 'object', description: 'The existing record', additionalProperties: true },
  current: { type: 'string', description: 'The current state' },
  attempt: { type: 'integer', description: 'A delivery’s current attempt' },
  profile_id: { type: 'string', description: 'The record’s profile' },
  secrets: {
    type: 'array',
    description: 'The valid secrets of a client that may have no further one',
    items: {
      type: 'object',
      required: ['id', 'created_at'],
      properties: {
        id: { type: 'string' },
        created_at: { type: 'string', format: 'date-time' },
        last_used_at: { type: 'string', format: 'date-time' },
      },
    },
  },
  summary_status: {
    type: 'string',
    enum: ['DISABLED', 'DENIED', 'ERROR'],
    description: 'The account’s status',
  },
  limit: {
    type: ['integer', 'string'],
    description: 'How many the customer may have or create, or the limit’s amount',
  },
  used: { type: ['integer', 'string'], description: 'How many it has or has created, or the amount used' },
  available: { type: 'string', description: 'The profile’s available amount, or what is left of the limit' },
  next_release_at: {
    type: 'string',
    format: 'date-time',
    description: 'When the next part of the limit’s used amount is released',
  },
  needed: { type: 'string', description: 'The needed amount, or the lowest role that may make the call' },
  usable_at: { type: 'string', format: 'date-time', description: 'From then on the destination is paid' },
  role: { type: 'string', description: 'The operator’s role' },
  attempts: {
    type: 'array',
    items: {
      type: 'object',
      required: ['attempt', 'executor'],
      properties: { attempt: { type: 'integer' }, executor: { type: 'string' } },
    },
    description: 'The delivery’s attempts that may have been paid, up to 20',
  },
  fields: { type: 'array', items: { type: 'string' }, description: 'The members that differ' },
  deposit_id: { type: 'string', description: 'The known deposit' },
  roles: { type: 'array', items: { type: 'string' }, description: 'The roles whose processes serve the request' },
  oldest_sequence: { type: 'integer', description: 'The oldest event kept' },
  recorded_before: {
    type: 'string',
    format: 'date-time',
    description: 'The last recorded time before the requested one',
  },
  recorded_after: { type: 'string', format: 'date-time', description: 'The first recorded time after it' },
} as const satisfies Record<MetaMember, Json>

export const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'RFC 9457. `code` is stable: switch on it, not on the texts.',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string', const: 'about:blank' },
    title: { type: 'string', description: 'The status’s standard phrase' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string', description: 'The field and the violated rule, for people' },
    code: { type: 'string', enum: Object.keys(PROBLEMS) },
    request_id: { type: 'string', format: 'uuid' },
    errors: {
      type: 'array',
      description: 'The violated rules, up to 20',
      items: {
        type: 'object',
        required: ['detail'],
        properties: {
          parameter: { type: 'string', description: 'A URL parameter’s name' },
          pointer: { type: 'string', description: 'JSON pointer to a member of the body (RFC 6901)' },
          detail: { type: 'string' },
        },
      },
    },
    meta: {
      type: 'object',
      description: 'Facts for the reaction to the `code`, which are described with it',
      properties: META_MEMBERS,
    },
  },
} as const

/** Header fields in every answer after the rate limit. */
const LIMITED: readonly HeaderName[] = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit']

/** Statuses answered before the rate limit. */
const BEFORE_LIMIT: ReadonlySet<number> = new Set([400, 401, 403, 408, 431, 500, 503])

/** Additional header fields by status. */
const OF_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** An answer's header fields, by reference. */
export function headersOf(names: readonly HeaderName[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** Header fields for a success. Lists also name ignored parameters. */
export function successHeaders(isList: boolean): Json {
  return headersOf(isList ? [...LIMITED, 'Tidegate-Ignored-Parameters'] : LIMITED)
}

/** Header fields for a problem on the public listener. */
function problemHeaders(status: number): readonly HeaderName[] {
  const general: readonly HeaderName[] = BEFORE_LIMIT.has(status) ? ['X-Request-Id'] : LIMITED
  return [...general, ...(OF_STATUS[status] ?? [])]
}

/**
 * Name and text of the component for an answer with this status and one of these codes.
 * @param names the answer's header fields, by default the public listener's
 */
export function problemAnswer(
  status: number,
  codes: readonly ProblemCode[],
  names: readonly HeaderName[] = problemHeaders(status),
): readonly [name: string, answer: Json] {
  const name = [status, ...codes].join('.')
  const answer = {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].meaning}`).join('. '),
    headers: headersOf(names),
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

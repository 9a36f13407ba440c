/**
 * The operator API's OpenAPI 3.1 document: the routes' schemas, completed with the tables of calls (summary, lowest
 * role, four eyes), the ways to authenticate, and the common problems. Schemas with a title become components with this
 * name.
 */
import {
  COMMENT_CHARACTERS_MAX,
  LOGIN_CALLS,
  OPERATOR_CALLS,
  OPERATOR_PREFIX,
  type OperatorCallRow,
  type OperatorRole,
  RECORD_CALLS,
} from '../../contract/operator-calls.ts'
import { assert } from '../../platform/base/assert.ts'
import { HEADERS, type HeaderName, headersOf, type Json, PROBLEM_SCHEMA, problemAnswer } from './answers.ts'
import { nameSchemas } from './named-schemas.ts'
import type { DescribedPaths, DescribedRoute } from './operations-document.ts'
import { type DescribedCallId, isLoginCall, operatorProblemsOf } from './operator-problems.ts'

export interface OperatorOpenApiOptions {
  readonly paths: DescribedPaths<DescribedRoute>
  /** The operator listener's address, without a trailing slash. */
  readonly url: string
  /** The program's version. */
  readonly version: string
}

const DESCRIPTION = `The API of operators: people and programs that run the service. It is served by the operator listener only.

## Credentials
Every call requires one of these, except those of the tag Sign-in that say so:

- \`Authorization: Bearer TOKEN\`, with the API token of an operator (\`tgo_…\`) or with the token of the setting
  \`operator.token\`, whose role is \`admin\`;
- the session of a person who has signed in, in a cookie. Every call then also requires the \`csrf_token\` of the login's
  answer in \`X-CSRF-Token\`, and POST, PATCH and DELETE the \`Origin\` of this listener, which browsers send. The cookie is
  \`__Host-tidegate-operator\` over TLS and \`tidegate-operator\` on the machine of the service.

## Roles
\`viewer\` reads; \`reviewer\` also decides on accounts and rules; \`treasurer\` also moves money; \`admin\` may do everything.
Neither of \`reviewer\` and \`treasurer\` includes the other. Each call names the lowest role that may make it; with a lower
one it is answered with 403 \`insufficient_role\`, with \`meta.role\` and \`meta.needed\`. \`deposit_reporter\` and
\`executor\` are roles of machines, which have API tokens only, and may make the calls that name them.

## Four eyes
A call of a kind that the setting \`operator.four_eyes\` lists changes nothing and is answered with 202 and a change request,
which a second operator confirms. It takes one more member then, \`comment\`: why, for that operator. Machines need no second
operator. A record shows the requests about it that wait as \`pending_requests\`.

## Lists, errors
Lists are returned in pages, newest first. While the answer has a \`next_page_cursor\`, send it as \`page_cursor\` with
the same filters and order to get the next page. \`limit\` is a whole number from 1 to 1000.

Errors are \`application/problem+json\`. A call may return other problems than those listed with it. Times are RFC 3339 in UTC
with milliseconds. Fields without a value are omitted.

The stream of live data is a WebSocket at \`${OPERATOR_PREFIX}/stream\`, with the public listener’s extended protocol.`

const TAGS: readonly { readonly name: string; readonly description: string; readonly steps: readonly string[] }[] = [
  { name: 'Sign-in', description: 'Login, setup links and the own session', steps: ['login', 'session', 'setup'] },
  { name: 'Service', description: 'State and settings', steps: ['overview', 'settings', 'doctor', 'nodes'] },
  { name: 'Markets', description: 'Markets and streams', steps: ['markets', 'connections'] },
  {
    name: 'Customers',
    description: 'Customers, their plans, clients, usage and webhook endpoints, and notices to them',
    steps: ['customers', 'plans', 'clients', 'usage', 'webhook-endpoints', 'notices'],
  },
  {
    name: 'Review',
    description: 'All customers’ accounts, rules and destinations',
    steps: ['accounts', 'rules', 'destinations'],
  },
  { name: 'Deposits', description: 'Payments to customers, and addresses', steps: ['deposits', 'deposit-addresses'] },
  {
    name: 'Orchestrations',
    description: 'Conversions and deliveries',
    steps: ['orchestrations', 'deliveries', 'screening', 'desk'],
  },
  { name: 'Ledger', description: 'Balances and postings', steps: ['profiles', 'ledger'] },
  { name: 'Controls', description: 'What is paused, and customers’ limits', steps: ['controls', 'limits'] },
  { name: 'Change requests', description: 'Changes confirmed by a second operator', steps: ['change-requests'] },
  {
    name: 'Keys',
    description: 'Signing keys, and addresses',
    steps: ['signing-keys', 'receipt-keys', 'address-pool'],
  },
  { name: 'Operators', description: 'People, tokens and the audit trail', steps: ['operators', 'audit'] },
]

const SCHEMES = { token: 'token', session: 'session', csrf: 'csrf' } as const

export function operatorOpenApiDocument({ paths, url, version }: OperatorOpenApiOptions): Json {
  const responses = new Map<string, Json>([['Problem', OTHER_PROBLEM]])
  const schemas = new Map<string, Json>([['Problem', PROBLEM_SCHEMA]])
  const completed = Object.entries(paths).map(([path, routes]) => [
    path,
    Object.fromEntries(
      Object.entries(routes).map(([method, route]) => [
        method,
        nameSchemas(completeRoute(callOf(method, path), route, responses), ['schema'], schemas),
      ]),
    ),
  ])
  describePendingRequests(schemas, Object.fromEntries(completed))
  const { 'X-Request-Id': requestId, 'Retry-After': retryAfter, 'WWW-Authenticate': challenge } = HEADERS
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tidegate operator API',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url }],
    tags: TAGS.map(({ name, description }) => ({ name, description })),
    paths: Object.fromEntries(completed),
    components: {
      securitySchemes: securitySchemes(url),
      headers: { 'X-Request-Id': requestId, 'Retry-After': retryAfter, 'WWW-Authenticate': challenge },
      schemas: Object.fromEntries([...schemas].sort(byName)),
      responses: Object.fromEntries([...responses].sort(byName)),
    },
  }
}

function securitySchemes(url: string): Json {
  const cookie = url.startsWith('https:') ? '__Host-tidegate-operator' : 'tidegate-operator'
  return {
    [SCHEMES.token]: {
      type: 'http',
      scheme: 'bearer',
      description: 'An operator’s API token, or the token in the setting `operator.token`',
    },
    [SCHEMES.session]: { type: 'apiKey', in: 'cookie', name: cookie, description: 'A person’s session' },
    [SCHEMES.csrf]: {
      type: 'apiKey',
      in: 'header',
      name: 'X-CSRF-Token',
      description: 'The session’s `csrf_token`: with its cookie, for every call',
    },
  }
}

/** Adds the guard's member to the records of calls under four eyes. */
function describePendingRequests(schemas: Map<string, Json>, paths: Json): void {
  for (const call of RECORD_CALLS) {
    const operation = paths[OPERATOR_PREFIX + call.slice('GET '.length).replaceAll(/:(\w+)/g, '{$1}')] as
      | { readonly get: { readonly responses: { readonly 200: Success } } }
      | undefined
    const schema = operation?.get.responses[200].content['application/json'].schema
    const name = schema?.$ref?.split('/').at(-1)
    assert(name !== undefined, `the record of ${call} has no title`)
    const { properties, ...rest } = schemas.get(name) as { readonly properties: Json }
    schemas.set(name, { ...rest, properties: { ...properties, pending_requests: PENDING_REQUESTS } })
  }
}

interface Success {
  readonly content: { readonly 'application/json': { readonly schema: { readonly $ref?: string } } }
}

const text = { type: 'string' }
const PENDING_REQUESTS = {
  type: 'array',
  description: 'The record’s change requests that wait for a second operator. Only where one record is read',
  items: {
    type: 'object',
    required: ['id', 'summary', 'requested_by', 'comment', 'created_at'],
    properties: {
      id: { type: 'string', format: 'uuid' },
      summary: text,
      requested_by: text,
      comment: text,
      created_at: { type: 'string', format: 'date-time' },
    },
  },
}

/** The row in the tables of calls. */
function callOf(method: string, path: string): DescribedCallId {
  const pattern = path.slice(OPERATOR_PREFIX.length).replaceAll(/\{(\w+)\}/g, ':$1')
  return `${method.toUpperCase()} ${pattern}` as DescribedCallId
}

function completeRoute(call: DescribedCallId, route: DescribedRoute, responses: Map<string, Json>): Json {
  const { parameters = [], requestBody, responses: described } = route
  const isList = parameters.some(({ name }) => name === 'page_cursor')
  const problems = [...operatorProblemsOf(call, isList)].map(([status, codes]) => {
    const [name, component] = problemAnswer(status, codes, problemHeaders(status))
    responses.set(name, component)
    return [status, { $ref: `#/components/responses/${name}` }]
  })
  const row: OperatorCallRow | undefined = isLoginCall(call) ? undefined : OPERATOR_CALLS[call]
  return {
    operationId: operationIdOf(call),
    summary: isLoginCall(call) ? LOGIN_CALLS[call] : OPERATOR_CALLS[call].summary,
    description: row === undefined ? 'Requires no credentials.' : descriptionOf(row),
    tags: [tagOf(call)],
    security: row === undefined ? [] : securityOf(row.role),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(requestBody === undefined
      ? {}
      : { requestBody: row?.fourEyes === undefined ? requestBody : commented(requestBody, row.fourEyes) }),
    responses: {
      ...(described[302] === undefined
        ? { 200: successOf(described[200], isList) }
        : { 302: redirectionOf(described[302]) }),
      ...(row?.fourEyes === undefined ? {} : { 202: recorded(row) }),
      ...Object.fromEntries(problems),
      default: { $ref: '#/components/responses/Problem' },
    },
  }
}

function descriptionOf({ role, machines = [], fourEyes, alwaysWith, onlyWith }: OperatorCallRow): string {
  const machine = machines.map((name) => `; also \`${name}\``).join('')
  const lowest = `Lowest role: \`${role}\`${machine}.`
  if (fourEyes === undefined) return lowest
  const always = alwaysWith === undefined ? '' : `, and always with \`${alwaysWith}\``
  const only = onlyWith === undefined ? '' : ` and \`${onlyWith}\` is given`
  return `${lowest} Answered with 202 and a change request while \`operator.four_eyes\` lists \`${fourEyes}\`${only}${always}.`
}

/** The body with the member that the guard takes out. In a union, each alternative has it. */
function commented(requestBody: Json, kind: string): Json {
  const comment = {
    type: 'string',
    minLength: 1,
    maxLength: COMMENT_CHARACTERS_MAX,
    description: `Required while \`operator.four_eyes\` lists \`${kind}\`, and accepted only then`,
  }
  const withComment = (schema: Json): Json => {
    const { anyOf, properties } = schema as { readonly anyOf?: readonly Json[]; readonly properties?: Json }
    if (anyOf !== undefined) return { ...schema, anyOf: anyOf.map(withComment) }
    return { ...schema, properties: { ...properties, comment } }
  }
  const { content } = requestBody as { readonly content: { readonly 'application/json': { readonly schema: Json } } }
  const { schema } = content['application/json']
  return { ...requestBody, content: { 'application/json': { schema: withComment(schema) } } }
}

/** The role is listed as OpenAPI 3.1 allows for schemes other than OAuth 2. */
function securityOf(role: OperatorRole): readonly Json[] {
  return [{ [SCHEMES.token]: [role] }, { [SCHEMES.session]: [role], [SCHEMES.csrf]: [] }]
}

/** `GET /customers/:id/quotas` is `getCustomersByIdQuotas`. */
function operationIdOf(call: DescribedCallId): string {
  const [method = '', path = ''] = call.split(' ')
  const words = path.replaceAll('/:', '/by-').split(/[/-]/)
  const capitalized = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
  return method.toLowerCase() + capitalized.join('')
}

function tagOf(call: DescribedCallId): string {
  const step = call.split('/')[1] ?? ''
  const tag = TAGS.find(({ steps }) => steps.includes(step))
  assert(tag !== undefined, `no tag for ${call}`)
  return tag.name
}

/** The answer to a call waiting for a second operator's confirmation. */
function recorded({ issues }: OperatorCallRow): Json {
  const description =
    'Returned once, and not valid before the confirmation. Absent: none is issued, or it was returned before'
  const issued = issues === undefined ? {} : { [issues]: { ...text, description } }
  const properties = { request: { $ref: '#/components/schemas/ChangeRequest' }, ...issued }
  return {
    description: 'Recorded as a change request, and not carried out yet',
    headers: headersOf(['X-Request-Id']),
    content: { 'application/json': { schema: { type: 'object', required: ['request'], properties } } },
  }
}

const OTHER_PROBLEM = {
  description: 'Another problem: see its `code`',
  headers: headersOf(['X-Request-Id']),
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

function successOf(described: Json, isList: boolean): Json {
  return {
    content: { 'application/json': { schema: { type: 'object' } } },
    ...described,
    description: isList ? 'A list page' : 'The call’s answer',
    headers: headersOf(['X-Request-Id']),
  }
}

function redirectionOf(described: Json): Json {
  const location = { description: 'Where the browser is sent', schema: { type: 'string', format: 'uri' } }
  return { ...described, headers: { ...headersOf(['X-Request-Id']), Location: location } }
}

function problemHeaders(status: number): readonly HeaderName[] {
  if (status === 401) return ['X-Request-Id', 'WWW-Authenticate']
  return status === 429 || status === 503 ? ['X-Request-Id', 'Retry-After'] : ['X-Request-Id']
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1
}

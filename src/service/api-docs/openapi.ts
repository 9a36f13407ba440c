/**
 * The OpenAPI 3.1 document: the routes' schemas, completed with the tables for all operations (scopes, problems, header
 * fields) and with the token endpoint. Schemas with a title become components with this name.
 */
import { SCOPES, type Scope } from '../../contract/scopes.ts'
import { assert } from '../../platform/base/assert.ts'
import { BODY_ENTRIES_MAX, BODY_LEVELS_MAX } from '../../platform/http/json-body.ts'
import { QUERY_PAIRS_MAX } from '../../platform/http/query-values.ts'
import { HEAD_FIELDS_MAX } from '../../platform/http/request-head.ts'
import { BODY_BYTES_MAX } from '../../platform/http/server.ts'
import { PAGE_BYTES_MAX } from '../../platform/store/page.ts'
import { HEADERS, type Json, PROBLEM_SCHEMA, problemAnswer, successHeaders } from './answers.ts'
import { EXAMPLES } from './examples.ts'
import { nameSchemas } from './named-schemas.ts'
import { problemsOf } from './operation-problems.ts'
import { type DescribedOperation, type DescribedPaths, TOKEN_SCHEME } from './operations-document.ts'
import { RECEIPT_PATHS, TOKEN_PATHS, TOKEN_SCHEMAS } from './token-paths.ts'

export interface OpenApiOptions {
  readonly paths: DescribedPaths
  /** The public address, without a trailing slash. */
  readonly url: string
  /** The program's version. */
  readonly version: string
  /** Whether this service issues tokens. With an external issuer there is no token endpoint. */
  readonly issuesTokens: boolean
  /** The served operations' scopes. */
  readonly scopes: readonly Scope[]
}

const description = (
  url: string,
) => `Accounts, profiles, deposit addresses and orchestration rules; deposits, and the orchestrations that rules start for them.

A deposit is credited to the profile of its address or memo. Where an ACTIVE rule matches, it is converted and delivered:
to a balance, to an address, or to a bank account. \`GET /v2/transfer/transfers\` lists every change of a balance.

Every operation requires an access token, with its scope if it has one, sent as \`Authorization: Bearer TOKEN\`.

## The stream
Live order books and trades are sent over a WebSocket at \`/\`: see [its requests and messages](${url}/docs/stream), or
\`/asyncapi.json\` for tools.

## Lists, errors, limits

**Lists** are returned in pages, newest first (events: oldest first). While the answer has a \`next_page_cursor\`, send it as \`page_cursor\` with
the same filters and order to get the next page. A page ends at \`limit\` items or at 2 MiB, whichever comes first. With
several filters, or with \`updated_at\`, it also ends after 5,000 examined records, and may have no item: only the absence of
\`next_page_cursor\` marks the end. Array parameters repeat their name (\`ids=A&ids=B\`). Unknown parameters are ignored and named in \`Tidegate-Ignored-Parameters\`.

**Errors** are \`application/problem+json\`, at the token endpoint \`{error, error_description}\`. A create
request with a \`ref_id\` can be repeated safely: 409 \`already_exists\` contains the existing record in \`meta.existing\`.

Times are RFC 3339 in UTC with milliseconds. Fields without a value are omitted.

**Limits** in addition to the schemas’. A body has at most ${BODY_BYTES_MAX} bytes (413), ${BODY_ENTRIES_MAX} members and
elements and ${BODY_LEVELS_MAX} levels (400), no \`Content-Encoding\` (415), no duplicate members, and no text with U+0000
or a lone surrogate (400). A request head has at most ${HEAD_FIELDS_MAX} fields and, unless the operator has set another
size, 524288 bytes (431). It must arrive within 10 s, the whole request within 30 s, and both at no less than 512
bytes per second (408). A query has at most ${QUERY_PAIRS_MAX} parameters (400). A page has at most ${PAGE_BYTES_MAX} bytes of items, or one item.
Requests are limited per client and operation: \`RateLimit-Policy\` names the rate (429). Lengths count code points.`

/** By a path's first two steps. */
const TAGS: Readonly<Record<string, { readonly name: string; readonly description: string }>> = {
  '/v2/markets': { name: 'Markets', description: 'The stream’s markets' },
  '/v2/client': { name: 'Client', description: 'The client that asks' },
  '/v2/identity': { name: 'Accounts', description: 'The owners of profiles and balances' },
  '/v2/profiles': { name: 'Profiles', description: 'The holders of balances, deposit addresses and rules' },
  '/v2/transfer': {
    name: 'Transfers',
    description: 'Deposit addresses, each for one profile, destinations, and deposits, withdrawals and conversions',
  },
  '/v2/orchestration': {
    name: 'Orchestration',
    description: 'Rules that convert and deliver deposits, and orchestrations started by them or the customer',
  },
  '/v2/events': { name: 'Events', description: 'What has changed, in order' },
  '/v2/usage': { name: 'Usage', description: 'What the customer’s clients have used' },
  '/v2/webhooks': { name: 'Webhooks', description: 'Addresses that receive the events' },
  '/v2/sandbox': { name: 'Sandbox', description: 'Test deposits, only with the setting `rest.sandbox`' },
}
const TOKEN_TAG = { name: 'Tokens', description: 'OAuth 2 access tokens' }

export function openApiDocument(options: OpenApiOptions): Json {
  const { url, version, issuesTokens } = options
  const responses = new Map<string, Json>([problemAnswer(503, ['unavailable'])])
  const schemas = new Map<string, Json>([['Problem', PROBLEM_SCHEMA]])
  const paths = Object.fromEntries(
    Object.entries(options.paths).map(([path, operations]) => [
      path,
      Object.fromEntries(
        Object.entries(operations).map(([method, operation]) => [
          method,
          nameSchemas(completeOperation(path, operation, responses), ['schema'], schemas),
        ]),
      ),
    ]),
  )
  if (issuesTokens) for (const [name, schema] of Object.entries(TOKEN_SCHEMAS)) schemas.set(name, schema)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tidegate',
      version,
      description: description(url),
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url }],
    tags: [...(issuesTokens ? [TOKEN_TAG] : []), ...Object.values(TAGS)],
    paths: { ...(issuesTokens ? TOKEN_PATHS : {}), ...RECEIPT_PATHS, ...paths },
    components: {
      securitySchemes: securitySchemes(options),
      headers: HEADERS,
      schemas: Object.fromEntries([...schemas].sort(byName)),
      responses: Object.fromEntries([...responses].sort(byName)),
    },
  }
}

function securitySchemes({ url, issuesTokens, scopes }: OpenApiOptions): Json {
  if (!issuesTokens) {
    const description = 'An access token from the trusted issuer'
    return { [TOKEN_SCHEME]: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description } }
  }
  const flow = {
    tokenUrl: `${url}/oauth2/token`,
    scopes: Object.fromEntries(scopes.map((scope) => [scope, SCOPES[scope]])),
  }
  return {
    [TOKEN_SCHEME]: { type: 'oauth2', description: 'RFC 6749', flows: { clientCredentials: flow } },
    client: { type: 'http', scheme: 'basic', description: 'Client id and secret, for the token endpoint' },
  }
}

function completeOperation(path: string, operation: DescribedOperation, responses: Map<string, Json>): Json {
  const { operationId, parameters = [], requestBody, responses: described, ...rest } = operation
  const [, version, area] = path.split('/')
  const tag = TAGS[`/${version}/${area}`]
  assert(tag !== undefined, `no tag for ${path}`)
  const isList = operationId.startsWith('list')
  const { description, answered, request, answer } = EXAMPLES[operationId]
  const success = {
    ...described[200],
    description: answered,
    headers: successHeaders(isList),
    content: withExample((described[200] as { content: Content }).content, answer),
  }
  const problems = [...problemsOf(operationId)].map(([status, codes]) => {
    const [name, component] = problemAnswer(status, codes)
    responses.set(name, component)
    return [status, { $ref: `#/components/responses/${name}` }]
  })
  return {
    operationId,
    ...rest,
    ...(description === '' ? {} : { description }),
    tags: [tag.name],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(requestBody === undefined
      ? {}
      : {
          requestBody: {
            ...requestBody,
            // An empty body is read as an empty object.
            ...(isEmpty(request) ? { required: false } : {}),
            content: withExample((requestBody as { content: Content }).content, request),
          },
        }),
    responses: { 200: success, ...Object.fromEntries(problems) },
  }
}

function isEmpty(example: unknown): boolean {
  return typeof example === 'object' && example !== null && Object.keys(example).length === 0
}

type Content = Readonly<Record<string, Json>>

function withExample(content: Content, example: unknown): Content {
  return Object.fromEntries(
    Object.entries(content).map(([mediaType, media]) => [
      mediaType,
      example === undefined ? media : { ...media, example },
    ]),
  )
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1
}

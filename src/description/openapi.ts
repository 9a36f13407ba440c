/**
 * The OpenAPI 3.1 document: what the routes say of themselves, completed by the tables that hold for all of them
 * (scopes, problems, header fields) and by the token endpoint. Schemas with a title become components of that name.
 * Pure: the same input gives the same document.
 */
import { assert } from '../base/assert.ts'
import { SCOPES, type Scope } from '../contract/scopes.ts'
import { BODY_ENTRIES_MAX, BODY_LEVELS_MAX } from '../http/json-body.ts'
import { QUERY_PAIRS_MAX } from '../http/query-values.ts'
import { HEAD_FIELDS_MAX } from '../http/request-head.ts'
import { BODY_BYTES_MAX } from '../http/server.ts'
import { PAGE_BYTES_MAX } from '../store/page.ts'
import { HEADERS, type Json, PROBLEM_SCHEMA, problemAnswer, successHeaders } from './answers.ts'
import { EXAMPLES } from './examples.ts'
import { nameSchemas } from './named-schemas.ts'
import { problemsOf } from './operation-problems.ts'
import { type DescribedOperation, type DescribedPaths, TOKEN_SCHEME } from './operations-document.ts'
import { TOKEN_PATHS, TOKEN_SCHEMAS } from './token-paths.ts'

export interface OpenApiOptions {
  readonly paths: DescribedPaths
  /** The address that customers use, without a slash at its end. */
  readonly url: string
  /** Version of the program. */
  readonly version: string
  /** Whether tokens are issued here; with an outside issuer there are no endpoints for them. */
  readonly issuesTokens: boolean
  /** Those of the operations that are served. */
  readonly scopes: readonly Scope[]
}

const description = (
  url: string,
) => `Accounts, profiles, deposit addresses and orchestration rules; deposits, and what rules make of them.

A deposit is credited to the profile of its address or memo. Where an ACTIVE rule matches, it is converted and delivered:
to a balance, to an address, or to a bank account. \`GET /v2/transfer/transfers\` is the statement of all of it.

Every operation needs an access token, with its scope where it has one, sent as \`Authorization: Bearer TOKEN\`.

## The stream
Live order books and trades come over a WebSocket at \`/\`: [its requests and messages](${url}/docs/stream), and the same
for programs at \`/asyncapi.json\`.

## Lists, errors, limits

**Lists** are pages, newest first: as long as there is a \`next_page_cursor\`, send it as \`page_cursor\` for the next one,
with the same filters and order. A page ends at \`limit\` items or at 2 MiB, whichever comes first (it has one item at
least): only the absence of \`next_page_cursor\` marks the end. Array parameters repeat their name (\`ids=A&ids=B\`); unknown parameters are ignored and
named in \`Tidegate-Ignored-Parameters\`.

**Errors** are \`application/problem+json\`; those of the token endpoint are \`{error, error_description}\`. Creating what
has a \`ref_id\` can be repeated safely: 409 \`already_exists\` carries the record that is there in \`meta.existing\`.

Times are RFC 3339 in UTC with milliseconds. Fields without a value are left out.

**Limits** beside those of the schemas. A body has at most ${BODY_BYTES_MAX} bytes (413), ${BODY_ENTRIES_MAX} members and
elements and ${BODY_LEVELS_MAX} levels (400), no \`Content-Encoding\` (415), no member twice in one object, and no text with U+0000
or half a surrogate pair (400). The head of a request has at most ${HEAD_FIELDS_MAX} fields and, unless the operator has set another
size, 524288 bytes (431); it arrives within 10 s, the whole request within 30 s, and both at no less than 512 bytes a
second (408). A query has at most ${QUERY_PAIRS_MAX} parameters (400). A page has at most ${PAGE_BYTES_MAX} bytes of items, or one item.
Requests are limited for each client and operation: \`RateLimit-Policy\` names the rate (429). Lengths count code points.`

/** By the first two steps of a path. */
const TAGS: Readonly<Record<string, { readonly name: string; readonly description: string }>> = {
  '/v2/markets': { name: 'Markets', description: 'What the stream serves' },
  '/v2/identity': { name: 'Accounts', description: 'Whom money belongs to' },
  '/v2/profiles': { name: 'Profiles', description: 'What deposit addresses and rules belong to' },
  '/v2/transfer': {
    name: 'Transfers',
    description: 'Deposit addresses, each of one profile, and everything that arrived or left',
  },
  '/v2/orchestration': {
    name: 'Orchestration',
    description: 'What becomes of deposits: rules, and what they and their customers have started',
  },
  '/v2/sandbox': { name: 'Sandbox', description: 'Deposits for testing; only with the setting `rest.sandbox`' },
}
const TOKEN_TAG = { name: 'Tokens', description: 'OAuth 2: who may call' }

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
    paths: { ...(issuesTokens ? TOKEN_PATHS : {}), ...paths },
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
    const description = 'An access token of the issuer that this service trusts'
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
  const [, version, room] = path.split('/')
  const tag = TAGS[`/${version}/${room}`]
  assert(tag !== undefined, `no tag for ${path}`)
  const isList = parameters.some(({ name }) => name === 'page_cursor')
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
          requestBody: { ...requestBody, content: withExample((requestBody as { content: Content }).content, request) },
        }),
    responses: { 200: success, ...Object.fromEntries(problems) },
  }
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

/** The OpenAPI document: valid, complete, equal to the contract tables, and the same wherever it is served. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { validate } from '@scalar/openapi-parser'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modulesWithoutStore } from '../../../scripts/api-documents.ts'
import { OPERATIONS } from '../../../src/contract/operations.ts'
import { SCOPES, STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { METADATA_BYTES_MAX, METADATA_LEVELS_MAX } from '../../../src/money/accounts/metadata.ts'
import { BODY_ENTRIES_MAX, BODY_LEVELS_MAX } from '../../../src/platform/http/json-body.ts'
import { PROBLEMS } from '../../../src/platform/http/problem.ts'
import { QUERY_PAIRS_MAX } from '../../../src/platform/http/query-values.ts'
import { HEAD_FIELDS_MAX } from '../../../src/platform/http/request-head.ts'
import { BODY_BYTES_MAX } from '../../../src/platform/http/server.ts'
import { PAGE_BYTES_MAX } from '../../../src/platform/store/page.ts'
import type { Listener } from '../../../src/service/listeners/listener.ts'
import { ApiDocument, closed, type Node, structureFaults } from '../../support/api-document.ts'
import { openPublicListener } from '../../support/public-listener.ts'
import { configOf } from '../../support/rest.ts'

const committed: Node = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/reference/openapi.json'), 'utf8'),
)
const document = new ApiDocument(committed)

const modules = modulesWithoutStore()
let listener: Listener
beforeAll(async () => {
  listener = await openPublicListener({ modules })
})
afterAll(() => listener.close())

interface Described {
  readonly path: string
  readonly method: string
  readonly operation: Node
}
const described: Described[] = Object.entries<Node>(committed.paths).flatMap(([path, methods]) =>
  Object.entries<Node>(methods).map(([method, operation]) => ({ path, method, operation })),
)
const rest = described.filter(({ path }) => path.startsWith('/v2/'))

describe('the OpenAPI document', () => {
  it('the OpenAPI document is valid OpenAPI 3.1', async () => {
    expect(await validate(structuredClone(committed))).toMatchObject({ valid: true, version: '3.1', errors: [] })
    expect(await structureFaults(committed)).toEqual([])
    const broken = structuredClone(committed)
    delete broken.info.title
    expect(await validate(structuredClone(broken))).toMatchObject({ valid: false })
    expect(await structureFaults(broken)).toEqual([expect.stringContaining('#/info')])
  })

  it('the OpenAPI document has no dangling reference, and no unused component', () => {
    const references = document.references()
    for (const reference of references) expect(document.at(reference.slice(1))).toBeTypeOf('object')
    const components = ['headers', 'schemas', 'responses'].flatMap((kind) =>
      Object.keys(committed.components[kind]).map((name) => `#/components/${kind}/${name}`),
    )
    expect(components.filter((name) => !references.includes(name))).toEqual([])
  })

  it('the OpenAPI document has the operations of the table, each with its scope', () => {
    const found = rest.map(({ path, method, operation }) => [
      operation.operationId,
      { method: method.toUpperCase(), path, scope: operation.security[0].token[0], summary: operation.summary },
    ])
    expect(Object.fromEntries(found)).toEqual(OPERATIONS)
    expect(committed.components.securitySchemes.token.flows.clientCredentials.scopes).toEqual(SCOPES)
  })

  it('the OpenAPI document has a unique id for each operation', () => {
    const names = described.map(({ operation }) => operation.operationId)
    expect(new Set(names).size).toBe(names.length)
  })

  it('the OpenAPI document describes the success of every operation, and each failure with its codes', () => {
    for (const { operation } of rest) {
      const { responses } = operation
      expect(Object.keys(responses)).toEqual(
        expect.arrayContaining(['200', '400', '401', '403', '429', '431', '500', '503']),
      )
      expect(responses[200].content['application/json']).toMatchObject({ schema: {}, example: {} })
      expect(Object.keys(responses[200].headers)).toEqual(expect.arrayContaining(['X-Request-Id', 'RateLimit']))
      for (const [status, response] of Object.entries<Node>(responses)) {
        if (status === '200') continue
        const schema = document.resolve(response).content['application/problem+json'].schema
        const [, { properties }] = schema.allOf
        expect(properties.status.const).toBe(Number(status))
        for (const code of properties.code.enum) {
          expect(PROBLEMS[code as keyof typeof PROBLEMS].status).toBe(Number(status))
        }
      }
    }
  })

  it('the OpenAPI document lists every problem type, except those of the stream, the operator listener and unknown paths', () => {
    const listed = new Set(Object.keys(committed.components.responses).flatMap((name) => name.split('.').slice(1)))
    expect(Object.keys(PROBLEMS).filter((code) => !listed.has(code))).toEqual([
      'bad_handshake',
      'login_failed',
      'setup_link_invalid',
      'session_ended',
      'insufficient_role',
      'outside_binding',
      'login_unavailable',
      'own_request',
      'csrf_failed',
      'foreign_origin',
      'method_not_allowed',
      'earlier_attempt_unknown',
      'record_changed',
      'deposit_conflict',
      'ambiguous_payment',
      'misdirected_request',
      'upgrade_required',
    ])
  })

  it('the OpenAPI document states the limits that no schema can express', () => {
    const { description } = committed.info
    for (const limit of [
      `${BODY_BYTES_MAX} bytes`,
      `${BODY_ENTRIES_MAX} members`,
      `${BODY_LEVELS_MAX} levels`,
      `${HEAD_FIELDS_MAX} fields`,
      `${configOf({})['http.header_bytes_max']} bytes`,
      `${QUERY_PAIRS_MAX} parameters`,
      `${PAGE_BYTES_MAX} bytes`,
    ]) {
      expect(description).toContain(limit)
    }
    const { account } =
      committed.paths['/v2/identity/accounts'].post.requestBody.content['application/json'].schema.properties
    for (const metadata of [
      account.properties.metadata,
      committed.components.schemas.AccountChange.properties.metadata,
    ]) {
      expect(metadata.description).toContain(`${METADATA_BYTES_MAX} bytes`)
      expect(metadata.description).toContain(`${METADATA_LEVELS_MAX} levels`)
    }
  })

  it('the OpenAPI document has the scopes of served operations and no others', () => {
    const needed = Object.values(OPERATIONS).flatMap(({ scope }) => (scope === undefined ? [] : [scope]))
    expect(Object.keys(SCOPES).sort()).toEqual(
      [...new Set([STREAM_SCOPE, 'exchange:publish_marketdata', ...needed])].sort(),
    )
  })

  it('the OpenAPI document marks `rules` of the list as deprecated', () => {
    const { schema } = committed.paths['/v2/orchestration/rules'].get.responses[200].content['application/json']
    expect(schema.properties.rules.deprecated).toBe(true)
    expect(schema.properties.items.deprecated).toBeUndefined()
  })

  it('the OpenAPI document has examples that conform to their schemas', () => {
    let count = 0
    const check = (media: Node, where: string) => {
      for (const example of [media.example, ...(document.resolve(media.schema).examples ?? [])]) {
        if (example === undefined) continue
        count++
        expect({ where, faults: document.faults(media.schema, example) }).toEqual({ where, faults: [] })
      }
    }
    for (const { operation } of described) {
      for (const media of Object.values<Node>(operation.requestBody?.content ?? {}))
        check(media, `request of ${operation.operationId}`)
      for (const media of Object.values<Node>(operation.responses[200].content ?? {}))
        check(media, `answer of ${operation.operationId}`)
    }
    // One response per operation, and one request for each that has a body.
    expect(count).toBeGreaterThanOrEqual(Object.keys(OPERATIONS).length + 4)
  })

  it('the OpenAPI document has no example member that its schema does not have', () => {
    const strict = new ApiDocument(closed(committed))
    for (const { path, method, operation } of rest) {
      const media = strict.root.paths[path][method].responses[200].content['application/json']
      expect([operation.operationId, strict.faults(media.schema, media.example)]).toEqual([operation.operationId, []])
    }
  })
})

describe('/openapi.json', () => {
  it('/openapi.json is the committed document with the requested address', async () => {
    const response = await fetch(`${listener.url}/openapi.json`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect(response.headers.get('cache-control')).toBe('no-cache')
    const served = await response.text()
    expect(JSON.parse(served)).toEqual(
      JSON.parse(JSON.stringify(committed).replaceAll(committed.servers[0].url, listener.url)),
    )
  })

  it('/openapi.json names the configured public address, and is then cacheable', async () => {
    const own = await openPublicListener({ modules, publicUrl: 'https://api.example/' })
    const response = await fetch(`${own.url}/openapi.json`)
    expect(response.headers.get('cache-control')).toBe('public, max-age=300')
    const { servers, components } = (await response.json()) as Node
    expect(servers).toEqual([{ url: 'https://api.example' }])
    expect(components.securitySchemes.token.flows.clientCredentials.tokenUrl).toBe('https://api.example/oauth2/token')
    await own.close()
  })

  it('/openapi.json has no token endpoint with an outside issuer', async () => {
    const own = await openPublicListener({ modules, issuesTokens: false })
    const served = (await (await fetch(`${own.url}/openapi.json`)).json()) as Node
    await own.close()
    expect(Object.keys(served.paths).filter((path) => !path.startsWith('/v2/'))).toEqual([
      '/.well-known/tidegate-receipt-keys.json',
    ])
    expect(served.components.securitySchemes).toEqual({
      token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: expect.any(String) },
    })
    expect(await validate(served)).toMatchObject({ valid: true, errors: [] })
  })

  it('/openapi.json allows HEAD, and no other method', async () => {
    expect((await fetch(`${listener.url}/openapi.json`, { method: 'HEAD' })).status).toBe(200)
    const refused = await fetch(`${listener.url}/openapi.json`, { method: 'POST' })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})

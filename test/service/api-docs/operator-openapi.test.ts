/** The OpenAPI document of the operator API: valid, complete, and the one that the operator listener serves with its page. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { validate } from '@scalar/openapi-parser'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { paths } from '../../../packages/console/src/base/openapi.ts'
import { LOGIN_CALLS, OPERATOR_CALLS } from '../../../src/contract/operator-calls.ts'
import { PROBLEMS } from '../../../src/platform/http/problem.ts'
import { ApiDocument, type Node, structureFaults } from '../../support/api-document.ts'
import { RestNode } from '../../support/rest.ts'

const file = join(import.meta.dirname, '../../../docs/reference/operator-openapi.json')
const committed: Node = JSON.parse(readFileSync(file, 'utf8'))
const document = new ApiDocument(committed)
const calls = Object.entries<Node>(committed.paths).flatMap(([path, methods]) =>
  Object.entries<Node>(methods).map(([method, operation]) => {
    const pattern = path.replace('/admin/v1', '').replaceAll(/\{(\w+)\}/g, ':$1')
    return { call: `${method.toUpperCase()} ${pattern}`, operation }
  }),
)
/** Calls that browsers open as pages, which are redirected. */
const REDIRECTING = ['GET /login/openid', 'GET /login/openid/callback']
const operationOf = (call: string) => calls.find((each) => each.call === call)?.operation

/** The connections of nodes that do not answer are missing. */
const membersOfList = (call: string) => ['items', 'next_page_cursor', ...(call === 'GET /connections' ? ['nodes'] : [])]

describe('the OpenAPI document of the operator API', () => {
  it('the operator API document is valid OpenAPI 3.1', async () => {
    expect(await validate(structuredClone(committed))).toMatchObject({ valid: true, version: '3.1', errors: [] })
    expect(await structureFaults(committed)).toEqual([])
  })

  it('the operator API document has no dangling reference, and no unused component', () => {
    const references = document.references()
    for (const reference of references) expect(document.at(reference.slice(1))).toBeTypeOf('object')
    const components = ['headers', 'schemas', 'responses'].flatMap((kind) =>
      Object.keys(committed.components[kind]).map((name) => `#/components/${kind}/${name}`),
    )
    expect(components.filter((name) => !references.includes(name))).toEqual([])
  })

  it('the operator API document has every call of the tables, with its summary and lowest role, and a unique id', () => {
    const found = calls.map(({ call, operation }) => [
      call,
      { summary: operation.summary, role: operation.security[0]?.token[0] },
    ])
    const expected = [
      ...Object.entries(OPERATOR_CALLS).map(([call, { role, summary }]) => [call, { summary, role }]),
      ...Object.entries(LOGIN_CALLS).map(([call, summary]) => [call, { summary, role: undefined }]),
    ]
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
    expect(new Set(calls.map(({ operation }) => operation.operationId)).size).toBe(calls.length)
    for (const [call, { role }] of Object.entries(OPERATOR_CALLS)) {
      expect(operationOf(call).description).toContain(`\`${role}\``)
    }
  })

  it('the operator API document requires a token, or a session and for changes its CSRF token, except to sign in', () => {
    for (const [call, { role }] of Object.entries(OPERATOR_CALLS)) {
      expect([call, operationOf(call).security]).toEqual([call, [{ token: [role] }, { session: [role], csrf: [] }]])
    }
    for (const call of Object.keys(LOGIN_CALLS)) expect([call, operationOf(call).security]).toEqual([call, []])
  })

  it('the operator API document describes the body of every POST and PATCH, and the answers of every call', () => {
    for (const { call, operation } of calls) {
      const { requestBody, responses, parameters = [] } = operation
      if (/^(POST|PATCH) /.test(call)) expect([call, requestBody?.content]).toEqual([call, expect.any(Object)])
      expect([call, Object.keys(responses)[0]]).toEqual([call, REDIRECTING.includes(call) ? '302' : '200'])
      if (REDIRECTING.includes(call)) continue
      const success = document.resolve(responses[200].content['application/json'].schema)
      const isList = parameters.some(({ name }: Node) => name === 'page_cursor')
      if (isList) expect([call, Object.keys(success.properties)]).toEqual([call, membersOfList(call)])
      for (const [status, response] of Object.entries<Node>(responses)) {
        if (!/^[45]/.test(status)) continue
        const { code } = document.resolve(response).content['application/problem+json'].schema.allOf[1].properties
        for (const each of code.enum) expect(PROBLEMS[each as keyof typeof PROBLEMS].status).toBe(Number(status))
      }
    }
  })

  it('the operator API document describes the members of every answer but those that depend on the call', () => {
    const loose = calls.filter(({ call, operation }) => {
      if (REDIRECTING.includes(call)) return false
      const { properties, anyOf } = document.resolve(operation.responses[200].content['application/json'].schema)
      return properties === undefined && anyOf === undefined
    })
    expect(loose.map(({ call }) => call)).toEqual(['POST /change-requests/:id/confirm'])
  })

  it("the operator API document describes every list's limit as a number, as generated clients need it", () => {
    const limits = calls.flatMap(({ call, operation }) =>
      (operation.parameters ?? [])
        .filter(({ name }: Node) => name === 'limit')
        .map(({ schema }: Node) => [call, schema.type, schema.maximum]),
    )
    expect(limits.length).toBeGreaterThan(16)
    expect(limits).toEqual(limits.map(([call]) => [call, 'integer', 1_000]))
    // Compiled with the types that are generated from the document.
    const query: NonNullable<paths['/admin/v1/customers']['get']['parameters']['query']> = { limit: 100 }
    expect(query.limit).toBe(100)
  })

  it('the operator API document describes the change request of each call under four eyes', () => {
    const recorded = calls.filter(({ operation }) => operation.responses[202] !== undefined).map(({ call }) => call)
    const expected = Object.entries(OPERATOR_CALLS).flatMap(([call, row]) => ('fourEyes' in row ? [call] : []))
    expect(recorded.sort()).toEqual(expected.sort())
  })
})

describe('the operator listener', () => {
  let node: RestNode
  beforeAll(async () => {
    node = await RestNode.open()
  })
  afterAll(() => node?.close())

  it('the operator listener serves the document with its own address, without credentials', async () => {
    const response = await fetch(`${node.operatorUrl}/openapi.json`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    const served = JSON.stringify(await response.json())
    const expected = JSON.stringify(committed).replaceAll(committed.servers[0].url, node.operatorUrl)
    expect(JSON.parse(served)).toEqual(JSON.parse(expected))
  })

  it('the operator listener is served without a page, whose script would have the origin of the console', async () => {
    for (const path of ['/docs', '/docs/', '/docs/js/scalar.js']) {
      expect([path, (await fetch(node.operatorUrl + path)).status]).toEqual([path, 404])
    }
  })

  it('the operator listener answers the session as documented', async () => {
    const { body } = await node.operator('GET', '/session')
    const { schema } = operationOf('GET /session').responses[200].content['application/json']
    expect(document.faults(schema, body)).toEqual([])
    expect(body.allows).toContain('GET /accounts')
  })
})

/**
 * Rules that every request schema follows, so that validation takes time proportional to the request: a list of allowed
 * values is next to a type, and arrays, strings and objects are bounded. All routes of both listeners are checked.
 */
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Schema } from '../support/hostile-bodies.ts'
import { RestNode } from '../support/rest.ts'

let node: RestNode

beforeAll(async () => {
  node = await RestNode.open()
})
afterAll(() => node?.close())

/** Objects with arbitrary members of the customer; the handler bounds their bytes and depth. */
const FREE_OBJECTS = [
  'POST /v2/identity/accounts body/account/metadata',
  'PUT /v2/identity/accounts body/metadata',
  'PUT /v2/identity/accounts body/account/metadata',
]
/** Formats of bounded length. */
const SHORT_FORMATS = ['uuid', 'date-time']

const isObject = ({ type }: Schema) => type === 'object'
const isText = ({ type }: Schema) => type === 'string'

function faultsOf(schema: Schema, isBody: boolean): string[] {
  const faults: string[] = []
  const { type, maxItems, maxLength, format = '', additionalProperties } = schema
  if (schema.enum !== undefined && type === undefined) faults.push('enum without type')
  if (type === undefined && schema.allOf === undefined && schema.anyOf === undefined) faults.push('no type')
  if (type === 'array' && maxItems === undefined) faults.push('array without maxItems')
  if (schema.uniqueItems === true && (schema.items === undefined || !isText(schema.items))) {
    faults.push('uniqueItems of what is no text')
  }
  // Query strings are bounded by the request head, and their unknown parameters are ignored.
  if (!isBody) return faults
  const hasLength = maxLength !== undefined || schema.enum !== undefined || SHORT_FORMATS.includes(format)
  if (isText(schema) && !hasLength) faults.push('text without maxLength')
  const isOpen = typeof additionalProperties === 'object'
  if (isOpen && schema.maxProperties === undefined) faults.push('free members without maxProperties')
  if (isOpen && schema.propertyNames?.maxLength === undefined) faults.push('free members with names of any length')
  // Alternatives are checked one by one.
  const hasBound = isOpen || additionalProperties === false || schema.oneOf !== undefined
  if (isObject(schema) && !hasBound) faults.push('object with additional properties')
  return faults
}

function* schemasIn(schema: Schema, place: string): Iterable<readonly [place: string, schema: Schema]> {
  yield [place, schema]
  const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema
  for (const [name, inner] of Object.entries(properties)) yield* schemasIn(inner, `${place}/${name}`)
  if (items !== undefined) yield* schemasIn(items, `${place}/0`)
  if (typeof additionalProperties === 'object') yield* schemasIn(additionalProperties, `${place}/*`)
  for (const inner of [...anyOf, ...oneOf, ...allOf]) yield* schemasIn(inner, place)
}

it('every request schema has a bound wherever it could grow', () => {
  const faults: string[] = []
  const free: string[] = []
  for (const { method, url, schema } of node.routes) {
    for (const part of ['body', 'querystring', 'params', 'headers'] as const) {
      const root = schema[part] as Schema | undefined
      if (root === undefined) continue
      for (const [place, inner] of schemasIn(root, `${method} ${url} ${part}`)) {
        if (FREE_OBJECTS.includes(place)) free.push(place)
        else faults.push(...faultsOf(inner, part === 'body').map((fault) => `${place}: ${fault}`))
      }
    }
  }
  expect(faults).toEqual([])
  expect(free).toEqual(FREE_OBJECTS)
})

it('every request schema is a valid JSON Schema and compiles, which a listener does with the first request', () => {
  const ajv = new Ajv()
  formats.default(ajv)
  const parts = node.routes.flatMap(({ schema: { body, querystring } }) => [body, querystring])
  const schemas = parts.filter((schema) => schema !== undefined) as Schema[]
  expect(schemas.length).toBeGreaterThan(50)
  for (const schema of schemas) expect(ajv.compile(schema)).toBeTypeOf('function')
})

it('every list of allowed values in a response schema has a type as well', () => {
  const faults: string[] = []
  for (const { method, url, schema } of node.routes) {
    for (const [status, answer] of Object.entries((schema.response ?? {}) as Record<string, Schema>)) {
      for (const [place, inner] of schemasIn(answer, `${method} ${url} ${status}`)) {
        if (inner.enum !== undefined && inner.type === undefined) faults.push(place)
      }
    }
  }
  expect(faults).toEqual([])
})

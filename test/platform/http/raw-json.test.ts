import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RawJson, writeJson } from '../../../src/platform/http/raw-json.ts'
import { propertySettings } from '../../support/property.ts'

it('the raw JSON writer writes the same text as JSON.stringify', () => {
  fc.assert(
    fc.property(fc.object({ withNullPrototype: true }), (value) => {
      expect(writeJson(value)).toBe(JSON.stringify(value))
    }),
    propertySettings(500),
  )
  expect(writeJson({ a: undefined, b: [undefined, null], c: {} })).toBe('{"b":[null,null],"c":{}}')
})

it('the raw JSON writer writes raw values as they are', () => {
  const raw = new RawJson('{"n":12345678901234567890,"one":1.0}')
  expect(writeJson({ items: [{ metadata: raw, x: 'y' }] })).toBe(
    '{"items":[{"metadata":{"n":12345678901234567890,"one":1.0},"x":"y"}]}',
  )
})

it('the raw JSON writer writes raw values anywhere, and repeats none in a later text', () => {
  const values = fc.array(fc.oneof(fc.string(), fc.record({ id: fc.string(), raw: fc.jsonValue() })))
  fc.assert(
    fc.property(values, (records) => {
      const withRaw = records.map((record) =>
        typeof record === 'string' ? record : { ...record, raw: new RawJson(JSON.stringify(record.raw)) },
      )
      const failing = { before: new RawJson('1'), now: 1n }
      expect(() => writeJson(failing)).toThrow(TypeError)
      expect(writeJson({ items: withRaw })).toBe(JSON.stringify({ items: records }))
      expect(writeJson(new RawJson('1.0'))).toBe('1.0')
    }),
    propertySettings(200),
  )
})

it('the raw JSON writer lets others write raw values as values', () => {
  expect(JSON.stringify({ a: new RawJson('{"n":1.0}') })).toBe('{"a":{"n":1}}')
})

it("the raw JSON writer never takes a customer's text for the placeholder of a raw value", () => {
  const mark = '{"\\u0000raw":0}'
  const value = { [mark]: mark, '{': ['{"', '\0raw":0}', '\0raw', ':0}'], raw: new RawJson(JSON.stringify(mark)) }
  expect(JSON.parse(writeJson(value))).toEqual({ ...value, raw: mark })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compactText, elementTexts, memberTexts } from '../../../src/platform/base/json-text.ts'
import { propertySettings } from '../../support/property.ts'

const indents = fc.constantFrom<[string | number]>([0], [2], ['\t'])

describe('pieces of JSON text', () => {
  it('JSON text pieces are the members of an object, as they were written', () => {
    const text = '\t{ "a" : 12345678901234567890 , "b\\u0041":[ 1.0,\n"}" ],"c":{"d":"\\\\\\""}, "":1e400\r\n}'
    expect([...memberTexts(text)]).toEqual([
      ['a', '12345678901234567890'],
      ['bA', '[ 1.0,\n"}" ]'],
      ['c', '{"d":"\\\\\\""}'],
      ['', '1e400'],
    ])
    expect([...memberTexts('{}'), ...memberTexts(' { } ')]).toEqual([])
  })

  it('JSON text pieces are the elements of an array, as they were written', () => {
    expect(elementTexts('[ 1.0 , "]", [ ] ,{"a":1},null]')).toEqual(['1.0', '"]"', '[ ]', '{"a":1}', 'null'])
    expect(elementTexts('[]')).toEqual([])
  })

  it('the pieces of a JSON text together have the meaning of the whole', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), indents, (value, [indent]) => {
        const members = [...memberTexts(JSON.stringify(value, null, indent))]
        expect(Object.fromEntries(members.map(([name, text]) => [name, JSON.parse(text)]))).toEqual(
          JSON.parse(JSON.stringify(value)),
        )
      }),
      propertySettings(300),
    )
  })
})

describe('compact text', () => {
  it('compact text is the same as the text of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), indents, (value, [indent]) => {
        expect(compactText(JSON.stringify(value, null, indent)).text).toBe(JSON.stringify(value))
      }),
      propertySettings(500),
    )
  })

  it('compact text keeps numbers, and writes strings in one way', () => {
    const { text } = compactText(
      '{ "n" : [ 12345678901234567890, 1.0, -0, 1e400, 1E+2 ], "\\u0061\\/" : "\\u00e9\\ud83e\\udd80\\n" }',
    )
    expect(text).toBe('{"n":[12345678901234567890,1.0,-0,1e400,1E+2],"a/":"é🦀\\n"}')
  })

  it.each([
    ['1', 0],
    ['"[[["', 0],
    ['{}', 1],
    ['{"a":[],"b":{}}', 2],
    ['[[],[[1]],[]]', 3],
    [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 100_000],
  ])('the compact text counts levels', (text, levels) => {
    expect(compactText(text).levels).toBe(levels)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJson } from '../../../src/platform/http/json-body.ts'

function read(text: string) {
  return readJson(Buffer.from(text))
}

describe('readJson', () => {
  it('readJson reads the same value as JSON.parse, and finds no fault in it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 2, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        // What the generator may put in and we refuse has rows of its own below.
        fc.pre(!/\\u0000|\\ud[89a-f]/i.test(text))
        expect(read(text)).toEqual({ ok: true, value: JSON.parse(text), text })
      }),
      { seed: 20261120, numRuns: 500 },
    )
  })

  it.each([
    ['', '', 'is not valid JSON (SyntaxError)'],
    ['{"a":1,}', '', 'is not valid JSON (SyntaxError)'],
    ['{"a":1} x', '', 'is not valid JSON (SyntaxError)'],
    ['NaN', '', 'is not valid JSON (SyntaxError)'],
    ['{"a":1,"a":1}', '/a', 'is a duplicate member'],
    ['{"a":1,"\\u0061":2}', '/a', 'is a duplicate member'],
    ['{"":1,"":2}', '/', 'is a duplicate member'],
    ['{"a":[{},{"b":1,"c":2,"b":3}]}', '/a/1/b', 'is a duplicate member'],
    ['[["x"],{"a/b":{"c~d":1,"c~d":2}}]', '/1/a~1b/c~0d', 'is a duplicate member'],
    ['{"a":{"__proto__":1,"\\u005f_proto__":1}}', '/a/__proto__', 'is a duplicate member'],
    ['["a","b\\u0000"]', '/1', 'contains U+0000 or a lone surrogate'],
    ['{"a":"\\ud800"}', '/a', 'contains U+0000 or a lone surrogate'],
    ['{"a":"\\udc00\\ud800"}', '/a', 'contains U+0000 or a lone surrogate'],
    ['{"\\u0000":1}', '/\uFFFD', 'contains U+0000 or a lone surrogate'],
    ['"\\udfff"', '', 'contains U+0000 or a lone surrogate'],
  ])('readJson refuses %j at its place', (text, pointer, detail) => {
    expect(read(text)).toEqual({ ok: false, error: { pointer, detail } })
  })

  it('readJson takes the same name in different objects, and text that only looks like trouble', () => {
    for (const text of ['[{"a":1},{"a":1}]', '{"a":{"a":1}}', '{"a":"\\"a\\":","b":"{[,"}', '{"a":"\\ud83e\\udd80"}']) {
      expect(read(text)).toEqual({ ok: true, value: JSON.parse(text), text })
    }
  })

  it('readJson reads __proto__ as an own member, and never as the prototype', () => {
    const reading = read('{"__proto__":{"x":1},"a":{"\\u005f_proto__":2}}')
    const { value } = reading as unknown as { value: { a: object; x?: number } }
    expect([Object.keys(value), Object.keys(value.a)]).toEqual([['__proto__', 'a'], ['__proto__']])
    expect([value.x, Object.getPrototypeOf(value)]).toEqual([undefined, Object.prototype])
  })

  it('readJson refuses bytes that are not UTF-8', () => {
    expect(readJson(Buffer.from([0x22, 0xc3, 0x28, 0x22]))).toMatchObject({ ok: false })
    expect(readJson(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toMatchObject({ ok: false })
  })

  it('readJson takes 64 levels, and rejects more whatever follows', () => {
    expect(read('['.repeat(64) + ']'.repeat(64))).toMatchObject({ ok: true })
    const detail = 'must be nested at most 64 levels deep'
    for (const text of ['['.repeat(65) + ']'.repeat(65), '{"a":'.repeat(100_000), '['.repeat(1_000_000)]) {
      expect(read(text)).toEqual({ ok: false, error: { pointer: '', detail } })
    }
  })

  it('readJson takes 50000 members and elements, and rejects more whatever follows', () => {
    const list = (count: number) => `[${Array.from({ length: count }, () => '1').join(',')}`
    expect(read(`${list(50_000)}]`)).toMatchObject({ ok: true })
    const error = { pointer: '', detail: 'must have at most 50000 members and elements' }
    for (const text of [`${list(50_001)}]`, list(60_000), '[{}'.padEnd(1_000_000, ',{}')]) {
      expect(read(text)).toEqual({ ok: false, error })
    }
  })

  it('readJson finds the end of every string, however many escapes it has', () => {
    for (const text of ['["\\\\","\\\\\\"",{"a\\"":1,"a":2}]', '["a\\\\\\\\","b",{"c":"\\u00e9","d":"\\n"}]']) {
      expect(read(text)).toEqual({ ok: true, value: JSON.parse(text), text })
    }
    for (const text of ['"', '"\\', '"\\"', '["\\x",{"\\y":1}]', '{"a"', '}}]]']) {
      expect(read(text)).toMatchObject({ ok: false, error: { detail: 'is not valid JSON (SyntaxError)' } })
    }
  })
})

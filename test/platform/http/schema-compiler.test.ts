import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { compileOnFirstUse } from '../../../src/platform/http/schema-compiler.ts'

describe('a request schema', () => {
  it('a request schema is compiled once, when it validates the first value', () => {
    const ajv = new Ajv()
    let compilations = 0
    const compile = ajv.compile.bind(ajv)
    Object.assign(ajv, {
      compile(schema: object) {
        compilations++
        return compile(schema)
      },
    })
    compileOnFirstUse(ajv)
    const validate = ajv.compile({ type: 'integer' })
    expect(compilations).toBe(0)
    expect(validate(1)).toBe(true)
    expect(validate.errors).toBeNull()
    expect(validate('a')).toBe(false)
    expect(validate.errors).toMatchObject([{ keyword: 'type' }])
    expect(validate(2)).toBe(true)
    expect(validate.errors).toBeNull()
    expect(compilations).toBe(1)
  })
})

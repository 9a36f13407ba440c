/**
 * Compiles a request's schema when the first request needs it. Compiling all at the start took a third of the start's
 * processor time, and most processes receive requests for a few routes only.
 */
import type { FastifyServerOptions } from 'fastify'

type Ajv = Parameters<NonNullable<NonNullable<FastifyServerOptions['ajv']>['onCreate']>>[0]

export function compileOnFirstUse(ajv: Ajv): void {
  const compile = ajv.compile.bind(ajv)
  const compileLater = (schema: Parameters<Ajv['compile']>[0]) => {
    let compiled: ReturnType<Ajv['compile']> | undefined
    const validate = (value: unknown) => {
      compiled ??= compile(schema)
      const isValid = compiled(value)
      validate.errors = compiled.errors
      return isValid
    }
    validate.errors = undefined as ReturnType<Ajv['compile']>['errors']
    return validate
  }
  Object.assign(ajv, { compile: compileLater })
}

/**
 * Turns what the schema validator reports into the errors of a problem: the field by its name or JSON pointer, and the
 * rule in words. Pure. Values are quoted only where they are one of a known list's candidates, and cut short.
 */
import type { FastifySchemaValidationError } from 'fastify'
import type { FieldError } from './problem.ts'

/** More would help nobody, and a body of a megabyte can break a rule many times. */
const ERRORS_MAX = 20
const QUOTED_CHARACTERS_MAX = 100

/** @param context which part of the request was validated, as the framework names it */
export function validationErrors(
  errors: readonly FastifySchemaValidationError[],
  context: string | undefined,
): [FieldError, ...FieldError[]] {
  const fields = errors.slice(0, ERRORS_MAX).map((error): FieldError => {
    const pointer = error.instancePath + missingStep(error)
    const detail = ruleOf(error)
    return context === 'body' ? { pointer, detail } : { parameter: pointer.slice(1), detail }
  })
  return fields as [FieldError, ...FieldError[]]
}

/** A missing or unknown member is reported at the object around it; the field is the member. */
function missingStep({ keyword, params }: FastifySchemaValidationError): string {
  const member = keyword === 'required' ? params.missingProperty : params.additionalProperty
  return typeof member === 'string' ? `/${member.replaceAll('~', '~0').replaceAll('/', '~1')}` : ''
}

function ruleOf(error: FastifySchemaValidationError): string {
  const { params } = error
  switch (error.keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
      return 'is not a known member'
    case 'type':
      return `must be of type ${String(params.type)}`
    case 'minLength':
      return `must have at least ${params.limit} characters`
    case 'maxLength':
      return `must have at most ${params.limit} characters`
    case 'minProperties':
      return `must have at least ${params.limit} members`
    case 'maxProperties':
      return `must have at most ${params.limit} members`
    case 'maxItems':
      return `must have at most ${params.limit} entries`
    case 'uniqueItems':
      return `entries ${params.j} and ${params.i} are the same`
    case 'enum':
      return `${quote(error)} is none of ${(params.allowedValues as readonly string[] | undefined)?.join(', ')}`
    default:
      return error.message ?? 'is not valid'
  }
}

/** The refused value itself, which the validator adds when it is told to be verbose. */
function quote(error: FastifySchemaValidationError & { readonly data?: unknown }): string {
  const text = JSON.stringify(error.data) ?? 'this'
  return text.length > QUOTED_CHARACTERS_MAX ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}…` : text
}

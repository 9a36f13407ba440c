/**
 * Converts the schema validator's errors to a problem's: the field by its name or JSON pointer, and the rule. The
 * validator stops at the first error: collecting them all took up to 97 s for one 1 MiB body. A value is quoted only
 * where an enumeration rejects it, and shortened. Pure.
 */
import type { FastifySchemaValidationError } from 'fastify'
import type { FieldError } from './problem.ts'

const QUOTED_CHARACTERS_MAX = 100

/** @param context the validated part of the request, as fastify names it */
export function validationErrors(
  errors: readonly FastifySchemaValidationError[],
  context: string | undefined,
): [FieldError, ...FieldError[]] {
  const fields = errorsOfBranch(errors).map((reported): FieldError => {
    const error = missingBeforeFew(reported)
    const pointer = error.instancePath + memberStep(error)
    const detail = ruleOf(error)
    return context === 'body' ? { pointer, detail } : { parameter: pointer.slice(1), detail }
  })
  return fields as [FieldError, ...FieldError[]]
}

/** With `verbose`, the validator adds the validated value and the enclosing schema. */
type VerboseError = FastifySchemaValidationError & {
  readonly data?: unknown
  readonly schema?: unknown
  readonly parentSchema?: Alternative
}

interface Alternative {
  readonly required?: readonly string[]
  readonly properties?: object
}

/**
 * For a schema with alternatives (`oneOf`) the validator reports the errors for each. Preferred are the errors from the
 * alternative whose required members are all present, else from the first.
 */
function errorsOfBranch(errors: readonly VerboseError[]): readonly VerboseError[] {
  const last = errors.at(-1)
  if (last?.keyword !== 'oneOf') return errors
  const { data, schema, schemaPath } = last
  const isMeant = ({ required = [] }: Alternative) => required.every((name) => Object.hasOwn(data as object, name))
  const index = Math.max(0, (schema as readonly Alternative[]).findIndex(isMeant))
  const ofBranch = errors.filter((error) => error.schemaPath.startsWith(`${schemaPath}/${index}/`))
  return ofBranch.length > 0 ? ofBranch : [last]
}

/** The validator checks the number of members first. A missing required member is the more helpful error. */
function missingBeforeFew(error: VerboseError): VerboseError {
  if (error.keyword !== 'minProperties') return error
  const { data, parentSchema } = error
  const missingProperty = parentSchema?.required?.find((name) => !Object.hasOwn(data as object, name))
  return missingProperty === undefined ? error : { ...error, keyword: 'required', params: { missingProperty } }
}

/** A missing or unknown member is reported at the enclosing object. The field is the member. */
function memberStep({ keyword, params }: FastifySchemaValidationError): string {
  const member = keyword === 'required' ? params.missingProperty : params.additionalProperty
  return typeof member === 'string' ? `/${member.replaceAll('~', '~0').replaceAll('/', '~1')}` : ''
}

function ruleOf(error: VerboseError): string {
  const { params } = error
  switch (error.keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
      return `is not a known member: ${membersOf(error)}`
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
    case 'uniqueItems': {
      const [first, second] = [Number(params.i), Number(params.j)].sort((left, right) => left - right)
      return `entries ${first} and ${second} are equal`
    }
    case 'enum':
      return `${quote(error)} is none of ${(params.allowedValues as readonly string[] | undefined)?.join(', ')}`
    default:
      return error.message ?? 'is not valid'
  }
}

function membersOf({ parentSchema }: VerboseError): string {
  const names = Object.keys(parentSchema?.properties ?? {})
  return names.length === 0 ? 'there are none' : `known are ${names.join(', ')}`
}

/** The rejected value itself. */
function quote({ data }: VerboseError): string {
  // Only strings reach `enum`: the type is checked first.
  const text = String(data)
  const isLong = text.length > QUOTED_CHARACTERS_MAX
  return JSON.stringify(text.slice(0, QUOTED_CHARACTERS_MAX)) + (isLong ? '…' : '')
}

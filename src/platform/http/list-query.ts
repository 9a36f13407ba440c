/**
 * The query strings for lists. A list declares its parameters once, as a table, which yields the parser, the parsed
 * values' types and the parameters in the API description. Every list also has `limit`, `order` and `page_cursor`. Up
 * to twenty errors are reported at once. Unknown parameters are ignored and named in an answer header. Lists bypass the
 * schema validator: it would report only the first error.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUuid } from '../base/ids.ts'
import { LIMIT_DEFAULT, LIMIT_RULE, LIMIT_SCHEMA, limitOf } from './list-limit.ts'
import { readTimeRange, TIME_COMPARISONS, type TimeRange } from './list-times.ts'
import { QueryFaults, type QueryValues, queryValues } from './query-values.ts'

/** One row in a list's table. `times` declares five parameters, `NAME.lt` to `NAME.gt`. */
export type ListParameter =
  | { readonly kind: 'text' | 'texts' | 'uuids' | 'times'; readonly meaning: string }
  | { readonly kind: 'order_by' | 'choices'; readonly meaning: string; readonly values: readonly string[] }

export type ListParameters = Readonly<Record<string, ListParameter>>

type ValueOf<Parameter> = Parameter extends { kind: 'times' }
  ? TimeRange
  : Parameter extends { kind: 'choices'; values: readonly (infer Value)[] }
    ? readonly Value[]
    : Parameter extends { kind: 'text' }
      ? string
      : readonly string[]

/** The filter names. A list with one sort column accepts `order_by` without effect. */
type FilterName<Parameters extends ListParameters> = {
  [Name in keyof Parameters]: Parameters[Name] extends { kind: 'order_by' } ? never : Name
}[keyof Parameters]

/** A parsed query. Filters that were not given are absent. */
export interface ListQuery<Parameters extends ListParameters> {
  readonly filters: { readonly [Name in FilterName<Parameters>]?: ValueOf<Parameters[Name]> }
  /** 1..1000. */
  readonly limit: number
  readonly order: 'ASC' | 'DESC'
  readonly pageCursor?: string
  /** The filters, in the form that a page cursor is bound to. */
  readonly binding: Readonly<Record<string, string | readonly string[]>>
  /** Names without a parameter in the list. */
  readonly ignored: readonly string[]
}

/**
 * The remaining filters after a list has taken out the ones that it applies. `left satisfies AllApplied` does not
 * compile while the list's table documents an unapplied filter.
 */
export type AllApplied = Readonly<Record<string, never>>

/** Reports an error in one parameter. */
type Reject = (detail: string) => undefined

const ENTRIES_MAX = 100
const TEXT_CHARACTERS_MAX = 200
const ORDERS = ['DESC', 'ASC'] as const
type Order = (typeof ORDERS)[number]
/** Cannot be stored. Lone surrogates cannot occur in decoded UTF-8. */
const UNSTORABLE = '\0'
const IGNORED_HEADER = 'tidegate-ignored-parameters'
const IGNORED_CHARACTERS_MAX = 1_000

/** One id or name. */
export function text(meaning: string) {
  return { kind: 'text', meaning } as const
}

/** Ids or names, any of which may match. */
export function texts(meaning: string) {
  return { kind: 'texts', meaning } as const
}

/** UUIDs, any of which may match. They are converted to lower case. */
export function uuids(meaning: string) {
  return { kind: 'uuids', meaning } as const
}

/** The sort column in a list with only one: accepted, without effect. */
export function orderBy<const Values extends readonly string[]>(values: Values, meaning: string) {
  return { kind: 'order_by', meaning, values } as const
}

/** Enumeration values, any of which may match. */
export function choices<const Values extends readonly string[]>(values: Values, meaning: string) {
  return { kind: 'choices', meaning, values } as const
}

/** A time, with up to five comparisons. */
export function times(meaning: string) {
  return { kind: 'times', meaning } as const
}

/**
 * Options for a list's route: `request.query` is the parsed query, and an answer header names the ignored parameters.
 * `listQuerySchema` is its schema for the API description and validates nothing.
 *
 * @param order the order without the parameter
 */
export function readsListQuery<Parameters extends ListParameters>(parameters: Parameters, order: Order = 'DESC') {
  return {
    validatorCompiler: () => () => true,
    async preValidation(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const query = readListQuery(parameters, request.url, order)
      request.query = query
      nameIgnored(reply, query.ignored)
    },
  }
}

/**
 * Options for the route to a list without parameters, which is one answer: the same header names the parameters sent to
 * it.
 */
export const IGNORES_PARAMETERS = {
  async preValidation({ url }: FastifyRequest, reply: FastifyReply): Promise<void> {
    const faults = new QueryFaults()
    const values = queryValues(url, faults)
    faults.throwIfAny()
    nameIgnored(reply, values.left())
  },
}

/** Names the parameters without effect in a header. */
export function nameIgnored(reply: FastifyReply, names: readonly string[]): void {
  if (names.length > 0) reply.header(IGNORED_HEADER, ignoredField(names))
}

/** @param url the request target, whose part after `?` is parsed */
function readListQuery<Parameters extends ListParameters>(
  parameters: Parameters,
  url: string,
  orderDefault: Order,
): ListQuery<Parameters> {
  const faults = new QueryFaults()
  const reject =
    (parameter: string): Reject =>
    (detail) => {
      faults.add(parameter, detail)
      return undefined
    }
  const values = queryValues(url, faults)
  const filters: Record<string, unknown> = {}
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = readParameter(name, parameter, values, reject)
    if (value !== undefined) filters[name] = value
  }
  const limit = readLimit(values.take('limit'), reject('limit'))
  const order = readChoice(values.take('order'), ORDERS, reject('order'))
  const pageCursor = readSingle(values.take('page_cursor'), reject('page_cursor'))
  faults.throwIfAny()
  return {
    // The loop above has parsed each member by its kind, from which its type is derived.
    filters: filters as ListQuery<Parameters>['filters'],
    limit: limit ?? LIMIT_DEFAULT,
    order: order ?? orderDefault,
    // Generated clients send the parameter without a value for the first page.
    ...(pageCursor === undefined || pageCursor === '' ? {} : { pageCursor }),
    binding: Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, bindingOf(value)])),
    ignored: values.left(),
  }
}

/** The parameters as a JSON schema, for the API description. */
export function listQuerySchema(parameters: ListParameters, orderDefault: Order = 'DESC'): object {
  const properties = Object.entries(parameters).flatMap(([name, parameter]) => describe(name, parameter))
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(properties),
      limit: LIMIT_SCHEMA,
      order: { type: 'string', enum: ORDERS, default: orderDefault, description: 'Sort by created_at' },
      page_cursor: {
        type: 'string',
        description: 'Cursor of the next page: the previous page’s next_page_cursor. Empty means the first page',
      },
    },
  }
}

function readParameter(
  name: string,
  parameter: ListParameter,
  values: QueryValues,
  reject: (name: string) => Reject,
): unknown {
  switch (parameter.kind) {
    case 'text':
      return readText(values.take(name), reject(name))
    case 'order_by':
      readChoice(values.take(name), parameter.values, reject(name))
      return undefined
    case 'texts':
      return readEach(values.takeAll(name), reject(name), textFault)
    case 'uuids':
      return readEach(
        values.takeSplit(name, ENTRIES_MAX + 1).map((id) => id.toLowerCase()),
        reject(name),
        uuidFault,
      )
    case 'choices':
      return readEach(values.takeSplit(name, ENTRIES_MAX + 1), reject(name), (value) =>
        choiceFault(value, parameter.values),
      )
    case 'times': {
      const read = (comparison: string) =>
        readSingle(values.take(`${name}.${comparison}`), reject(`${name}.${comparison}`))
      return readTimeRange(read, (comparison, detail) => reject(`${name}.${comparison}`)(detail))
    }
  }
}

function readSingle(given: readonly string[], reject: Reject): string | undefined {
  if (given.length > 1) return reject('must not be repeated')
  return given[0]
}

function readText(given: readonly string[], reject: Reject): string | undefined {
  const value = readSingle(given, reject)
  const fault = value === undefined ? undefined : textFault(value)
  return fault === undefined ? value : reject(fault)
}

function readChoice<Value extends string>(
  given: readonly string[],
  allowed: readonly Value[],
  reject: Reject,
): Value | undefined {
  const value = readSingle(given, reject)
  if (value === undefined) return undefined
  return allowed.find((candidate) => candidate === value) ?? reject(choiceFault(value, allowed) as string)
}

function readLimit(given: readonly string[], reject: Reject): number | undefined {
  const value = readSingle(given, reject)
  if (value === undefined) return undefined
  return limitOf(value) ?? reject(LIMIT_RULE)
}

/** An array's valid entries, or `undefined` when there are none or one is invalid. */
function readEach(
  given: readonly string[],
  reject: Reject,
  faultOf: (value: string) => string | undefined,
): readonly string[] | undefined {
  if (given.length === 0) return undefined
  if (given.length > ENTRIES_MAX) return reject(`must have at most ${ENTRIES_MAX} entries`)
  const fault = given.map(faultOf).find((found) => found !== undefined)
  return fault === undefined ? [...new Set(given)] : reject(fault)
}

function bindingOf(value: unknown): string | readonly string[] {
  if (typeof value === 'string' || Array.isArray(value)) return value
  const { from = '', until = '', isEmpty } = value as TimeRange
  return isEmpty ? 'none' : `${from}/${until}`
}

function textFault(value: string): string | undefined {
  // A code point is one or two UTF-16 units. A much longer text is not split to count its code points.
  const length = value.length > 2 * TEXT_CHARACTERS_MAX ? value.length : [...value].length
  if (length < 1 || length > TEXT_CHARACTERS_MAX) return `must have 1 to ${TEXT_CHARACTERS_MAX} characters`
  return value.includes(UNSTORABLE) ? 'must not contain U+0000' : undefined
}

function uuidFault(value: string): string | undefined {
  return isUuid(value) ? undefined : 'must be UUIDs'
}

function choiceFault(value: string, allowed: readonly string[]): string | undefined {
  return allowed.includes(value) ? undefined : `must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}`
}

/**
 * Names come from the client. Characters outside a header field's alphabet are percent-encoded, and the length is
 * limited.
 */
function ignoredField(names: readonly string[]): string {
  let field = ''
  for (const name of names) {
    // Half a surrogate pair cannot be encoded.
    const start = name.slice(0, IGNORED_CHARACTERS_MAX).replace(/[\uD800-\uDBFF]$/, '')
    field += `${field === '' ? '' : ', '}${encodeURIComponent(start)}`
    if (field.length > IGNORED_CHARACTERS_MAX) return `${field.slice(0, IGNORED_CHARACTERS_MAX)}...`
  }
  return field
}

function describe(name: string, parameter: ListParameter): [string, object][] {
  const { kind, meaning: description } = parameter
  const one = { type: 'string', minLength: 1, maxLength: TEXT_CHARACTERS_MAX }
  const array = (items: object) => ({ type: 'array', maxItems: ENTRIES_MAX, items, description })
  switch (kind) {
    case 'text':
      return [[name, { ...one, description }]]
    case 'texts':
      return [[name, array(one)]]
    case 'uuids':
      return [[name, array({ type: 'string', format: 'uuid' })]]
    case 'order_by':
      return [[name, { type: 'string', enum: parameter.values, description }]]
    case 'choices':
      return [[name, array({ type: 'string', enum: parameter.values })]]
    case 'times':
      return Object.entries(TIME_COMPARISONS).map(([comparison, words]) => [
        `${name}.${comparison}`,
        { type: 'string', format: 'date-time', description: `${description} ${words}, at most 9 fraction digits` },
      ])
  }
}

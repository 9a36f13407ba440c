/**
 * The query strings of lists. A list declares its parameters once, as a table; that table gives the reading of a query
 * string, the types of what was read, and the parameters for the description of the API. Every list has `limit`,
 * `order` and `page_cursor` too. The first twenty faults are reported at once; parameters that a list does not have are
 * collected, so that its answer can name them. Pure, but for the one function that ties it to a route.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUuid } from '../base/ids.ts'
import { readTimeRange, TIME_COMPARISONS, type TimeRange } from './list-times.ts'
import { QueryFaults } from './query-faults.ts'
import { type QueryValues, queryValues } from './query-values.ts'

/** One row of a list's table; `times` stands for five parameters, `NAME.lt` to `NAME.gt`. */
export type ListParameter =
  | { readonly kind: 'text' | 'texts' | 'uuids' | 'times'; readonly meaning: string }
  | { readonly kind: 'order_by' | 'choices'; readonly meaning: string; readonly values: readonly string[] }

export type ListParameters = Readonly<Record<string, ListParameter>>

type ValueOf<Parameter> = Parameter extends { kind: 'order_by' }
  ? never
  : Parameter extends { kind: 'times' }
    ? TimeRange
    : Parameter extends { kind: 'choices'; values: readonly (infer Value)[] }
      ? readonly Value[]
      : Parameter extends { kind: 'text' }
        ? string
        : readonly string[]

/** A query as it was read: what was not given is not there. */
export interface ListQuery<Parameters extends ListParameters> {
  readonly filters: { readonly [Name in keyof Parameters]?: ValueOf<Parameters[Name]> }
  /** 1..1000. */
  readonly limit: number
  readonly order: 'ASC' | 'DESC'
  readonly pageCursor?: string
  /** The filters as a cursor is bound to them. */
  readonly binding: Readonly<Record<string, string | readonly string[]>>
  /** Names that the list has no parameter for. */
  readonly ignored: readonly string[]
}

/** What a reader of one parameter needs: its values in order, and where to say what is wrong. */
type Complain = (detail: string) => undefined

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 1_000
const ENTRIES_MAX = 100
const TEXT_CHARACTERS_MAX = 200
const ORDERS = ['DESC', 'ASC'] as const
/** U+0000 cannot be stored; half a surrogate pair does not come out of UTF-8, and is not looked for. */
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

/** UUIDs, any of which may match; given back in lower case. */
export function uuids(meaning: string) {
  return { kind: 'uuids', meaning } as const
}

/** The order of a list that has only one: may be said, and changes nothing. */
export function orderBy<const Values extends readonly string[]>(values: Values, meaning: string) {
  return { kind: 'order_by', meaning, values } as const
}

/** Some of a few words, any of which may match. */
export function choices<const Values extends readonly string[]>(values: Values, meaning: string) {
  return { kind: 'choices', meaning, values } as const
}

/** A time, compared in up to five ways. */
export function times(meaning: string) {
  return { kind: 'times', meaning } as const
}

/**
 * Options of a route that is a list: its handler finds the query read at `request.query`, and the answer names what was
 * ignored. Its schema for the description is `listQuerySchema`, which validates nothing.
 */
export function readsListQuery<Parameters extends ListParameters>(parameters: Parameters) {
  return {
    validatorCompiler: () => () => true,
    async preValidation(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const query = readListQuery(parameters, request.url)
      request.query = query
      if (query.ignored.length > 0) reply.header(IGNORED_HEADER, ignoredField(query.ignored))
    },
  }
}

/** @param url the request's target; what follows its `?` is read */
function readListQuery<Parameters extends ListParameters>(parameters: Parameters, url: string): ListQuery<Parameters> {
  const faults = new QueryFaults()
  const complain =
    (parameter: string): Complain =>
    (detail) => {
      faults.add(parameter, detail)
      return undefined
    }
  const values = queryValues(url, faults)
  const filters: Record<string, unknown> = {}
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = readParameter(name, parameter, values, complain)
    if (value !== undefined) filters[name] = value
  }
  const limit = readLimit(values.take('limit'), complain('limit'))
  const order = readChoice(values.take('order'), ORDERS, complain('order'))
  const pageCursor = readSingle(values.take('page_cursor'), complain('page_cursor'))
  faults.throwIfAny()
  return {
    // The loop above has read each member by the kind that its type stands for.
    filters: filters as ListQuery<Parameters>['filters'],
    limit: limit ?? LIMIT_DEFAULT,
    order: order ?? 'DESC',
    // Generated clients send the parameter without a value for the first page.
    ...(pageCursor === undefined || pageCursor === '' ? {} : { pageCursor }),
    binding: Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, bindingOf(value)])),
    ignored: values.left(),
  }
}

/** The parameters as a JSON schema, for the description of the API. */
export function listQuerySchema(parameters: ListParameters): object {
  const properties = Object.entries(parameters).flatMap(([name, parameter]) => describe(name, parameter))
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(properties),
      limit: {
        type: 'integer',
        format: 'int32',
        minimum: 1,
        maximum: LIMIT_MAX,
        default: LIMIT_DEFAULT,
        description: 'Largest number of results: a page also ends at 2 MiB',
      },
      order: { type: 'string', enum: ORDERS, default: 'DESC', description: 'Sort by created_at' },
      page_cursor: {
        type: 'string',
        description: 'Cursor for the next page: next_page_cursor of the page before. Empty means the first page',
      },
    },
  }
}

function readParameter(
  name: string,
  parameter: ListParameter,
  values: QueryValues,
  complain: (name: string) => Complain,
): unknown {
  switch (parameter.kind) {
    case 'text':
      return readText(values.take(name), complain(name))
    case 'order_by':
      readChoice(values.take(name), parameter.values, complain(name))
      return undefined
    case 'texts':
      return readEach(values.takeAll(name), complain(name), textFault)
    case 'uuids':
      return readEach(
        values.takeSplit(name, ENTRIES_MAX + 1).map((id) => id.toLowerCase()),
        complain(name),
        uuidFault,
      )
    case 'choices':
      return readEach(values.takeSplit(name, ENTRIES_MAX + 1), complain(name), (value) =>
        choiceFault(value, parameter.values),
      )
    case 'times': {
      const read = (comparison: string) =>
        readSingle(values.take(`${name}.${comparison}`), complain(`${name}.${comparison}`))
      return readTimeRange(read, (comparison, detail) => complain(`${name}.${comparison}`)(detail))
    }
  }
}

function readSingle(given: readonly string[], complain: Complain): string | undefined {
  if (given.length > 1) return complain('stands more than once')
  return given[0]
}

function readText(given: readonly string[], complain: Complain): string | undefined {
  const value = readSingle(given, complain)
  const fault = value === undefined ? undefined : textFault(value)
  return fault === undefined ? value : complain(fault)
}

function readChoice<Value extends string>(
  given: readonly string[],
  allowed: readonly Value[],
  complain: Complain,
): Value | undefined {
  const value = readSingle(given, complain)
  if (value === undefined) return undefined
  return allowed.find((candidate) => candidate === value) ?? complain(choiceFault(value, allowed) as string)
}

function readLimit(given: readonly string[], complain: Complain): number | undefined {
  const value = readSingle(given, complain)
  if (value === undefined) return undefined
  const limit = /^[0-9]{1,4}$/.test(value) ? Number(value) : 0
  return limit >= 1 && limit <= LIMIT_MAX ? limit : complain(`must be a whole number from 1 to ${LIMIT_MAX}`)
}

/** The entries of an array, each without a fault; `undefined` when there are none, or one has. */
function readEach(
  given: readonly string[],
  complain: Complain,
  faultOf: (value: string) => string | undefined,
): readonly string[] | undefined {
  if (given.length === 0) return undefined
  if (given.length > ENTRIES_MAX) return complain(`must have at most ${ENTRIES_MAX} entries`)
  const fault = given.map(faultOf).find((found) => found !== undefined)
  return fault === undefined ? [...new Set(given)] : complain(fault)
}

function bindingOf(value: unknown): string | readonly string[] {
  if (typeof value === 'string' || Array.isArray(value)) return value
  const { from = '', until = '', isEmpty } = value as TimeRange
  return isEmpty ? 'none' : `${from}/${until}`
}

function textFault(value: string): string | undefined {
  // A character is one or two units; a text with more units than that is not taken apart to count them.
  const length = value.length > 2 * TEXT_CHARACTERS_MAX ? value.length : [...value].length
  if (length < 1 || length > TEXT_CHARACTERS_MAX) return `must have 1 to ${TEXT_CHARACTERS_MAX} characters`
  return value.includes(UNSTORABLE) ? 'must not hold U+0000' : undefined
}

function uuidFault(value: string): string | undefined {
  return isUuid(value) ? undefined : 'must be UUIDs'
}

function choiceFault(value: string, allowed: readonly string[]): string | undefined {
  return allowed.includes(value) ? undefined : `must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}`
}

/** Names come from outside: anything that a header field cannot carry is percent-encoded, and the list has an end. */
function ignoredField(names: readonly string[]): string {
  let field = ''
  for (const name of names) {
    // Half a character at the end of what was cut off cannot be encoded.
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
        { type: 'string', format: 'date-time', description: `${description} ${words}; at most 9 fraction digits` },
      ])
  }
}

/**
 * Request bodies that are expensive to validate, generated from a route's own schema: a one-mebibyte value in every
 * place in the schema, with everything else valid, so that validation reaches that place.
 */

/** The part of a schema used here. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: boolean | Schema
  readonly propertyNames?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly minItems?: number
  readonly uniqueItems?: boolean
  readonly pattern?: string
  readonly format?: string
}

/** A body's limit, minus space for the rest of the body. */
const BYTES = 1_048_576 - 1_024

/** Repeats `entry`, separated by commas, as often as it fits. */
function fill(entry: (index: number) => string, bytes = BYTES): string {
  const parts: string[] = []
  for (let index = 0, size = 0; size < bytes; index++) {
    const text = entry(index)
    parts.push(text)
    size += Buffer.byteLength(text) + 1
  }
  parts.pop()
  return parts.join(',')
}

/** JSON texts of about a mebibyte, by the reason for their cost. */
export const HOSTILE_VALUES: Readonly<Record<string, string>> = {
  'distinct objects': `[${fill((index) => `{"a":${index}}`)}]`,
  'objects with the same members': `[${fill((index) => `{"identity_id":"${index}","roles":[]}`)}]`,
  'empty objects': `[${fill(() => '{}')}]`,
  'distinct numbers': `[${fill(String)}]`,
  'empty texts': `[${fill(() => '""')}]`,
  'distinct texts': `[${fill((index) => `"${index}"`)}]`,
  'texts of one escape': `[${fill(() => '"\\n"')}]`,
  'nested arrays': `${'['.repeat(BYTES / 2)}${']'.repeat(BYTES / 2)}`,
  'nested objects': `${'{"a":'.repeat(BYTES / 6)}1${'}'.repeat(BYTES / 6)}`,
  'unknown members': `{${fill((index) => `"m${index}":${index}`)}}`,
  'members with nothing in them': `{${fill((index) => `"m${index}":{}`)}}`,
  'a long text': `"${'x'.repeat(BYTES)}"`,
  'a long text of escapes': `"${'\\u00e9'.repeat(BYTES / 6)}"`,
  'a long text of wide characters': `"${'🦀'.repeat(BYTES / 4)}"`,
  'a long name': `{"${'n'.repeat(BYTES)}":1}`,
  'a long name of a repeated member': `{"${'n'.repeat(BYTES - 20)}":{"a":1,"a":1}}`,
  'a long number': '1'.repeat(BYTES),
  'an object with a long number': `{"a":${'1'.repeat(BYTES)}}`,
  'an object with a long list of numbers': `{"a":[${fill((index) => String(index % 10), 90_000)}]}`,
  blanks: `{${' '.repeat(BYTES)}}`,
  'a fault at the end': `[${fill((index) => `{"a":${index}}`, BYTES - 100)},{"b":1,"b":1}]`,
}

/**
 * A valid body with `value` in one place, for each place. The first is the valid body itself. Only the first of several
 * places with equal schemas is used.
 */
export function bodiesWith(schema: Schema, value: string): { readonly place: string; readonly body: string }[] {
  const places = new Map(
    placesOf(schema)
      .toReversed()
      .map((place) => [JSON.stringify(place.schema), place]),
  )
  return [...places.values()].map(({ place, wrap }) => ({ place, body: wrap(value) }))
}

interface Place {
  readonly place: string
  readonly schema: Schema
  wrap(value: string): string
}

function placesOf(schema: Schema): Place[] {
  const places: Place[] = [{ place: '', schema, wrap: (value) => value }]
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    for (const { wrap, ...inner } of placesOf(member)) {
      places.push({
        ...inner,
        place: `/${name}${inner.place}`,
        wrap: (value) => validObject(schema, name, wrap(value)),
      })
    }
  }
  const { additionalProperties = false } = schema
  if (additionalProperties !== false) {
    for (const { wrap, ...inner } of placesOf(additionalProperties === true ? {} : additionalProperties)) {
      places.push({ ...inner, place: `/*${inner.place}`, wrap: (value) => validObject(schema, 'any', wrap(value)) })
    }
  }
  if (schema.items !== undefined) {
    for (const { wrap, ...inner } of placesOf(schema.items)) {
      places.push({ ...inner, place: `/0${inner.place}`, wrap: (value) => `[${wrap(value)}]` })
    }
  }
  return places
}

function validObject(schema: Schema, name: string, value: string): string {
  const { properties = {}, required = [] } = schema
  const names = required.filter((each) => each !== name)
  const others = Object.keys(properties).filter((each) => each !== name && !names.includes(each))
  while (names.length + 1 < (schema.minProperties ?? 0) && others.length > 0) names.push(others.shift() as string)
  const members = names.map((each) => `${JSON.stringify(each)}:${validText(properties[each] as Schema)}`)
  return `{${[...members, `${JSON.stringify(name)}:${value}`].join(',')}}`
}

function validText(schema: Schema): string {
  const { type, properties = {}, required = [] } = schema
  if (schema.enum !== undefined) return JSON.stringify(schema.enum[0])
  if (type === 'boolean') return 'true'
  if (type === 'integer' || type === 'number') return '1'
  if (type === 'array') return schema.minItems === undefined ? '[]' : `[${validText(schema.items ?? {})}]`
  if (type !== 'object') return '"x"'
  const names = required.length === 0 && schema.minProperties === 1 ? Object.keys(properties).slice(0, 1) : required
  return `{${names.map((name) => `${JSON.stringify(name)}:${validText(properties[name] as Schema)}`).join(',')}}`
}

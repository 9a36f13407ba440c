/**
 * Moves every schema with a title to a document's components and replaces it by a reference, so code generators name
 * the type after the title. Pure.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Json } from './answers.ts'

/**
 * Replaces each schema with a title by a reference, and adds it to the components.
 * @param members names of the members in `value` that contain schemas, at any depth
 * @param schemas the components by name, to which schemas are added. Two different schemas with one name are a bug
 */
export function nameSchemas(value: Json, members: readonly string[], schemas: Map<string, Json>): Json {
  return hoist(value, { members, schemas }, false) as Json
}

interface Hoisting {
  readonly members: readonly string[]
  readonly schemas: Map<string, Json>
}

/** @param isSchema whether a `title` here names a schema, rather than a property or a part of an example */
function hoist(value: unknown, hoisting: Hoisting, isSchema: boolean): unknown {
  if (Array.isArray(value)) return value.map((entry) => hoist(entry, hoisting, isSchema))
  if (typeof value !== 'object' || value === null) return value
  const { title, ...rest } = value as { title?: unknown }
  const isNamed = isSchema && typeof title === 'string'
  const members = Object.entries(isNamed ? rest : value).map(([name, member]) => {
    if (name === 'example' || name === 'examples' || name === 'enum') return [name, member]
    // The names in `properties` are the API's own.
    if (name === 'properties' && isSchema) return [name, hoistProperties(member as Json, hoisting)]
    return [name, hoist(member, hoisting, isSchema || hoisting.members.includes(name))]
  })
  const result = Object.fromEntries(members) as Json
  if (!isNamed) return result
  const { schemas } = hoisting
  const known = schemas.get(title)
  assert(known === undefined || JSON.stringify(known) === JSON.stringify(result), `two schemas are called ${title}`)
  schemas.set(title, result)
  return { $ref: `#/components/schemas/${title}` }
}

function hoistProperties(properties: Json, hoisting: Hoisting): Json {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, hoist(schema, hoisting, true)]))
}

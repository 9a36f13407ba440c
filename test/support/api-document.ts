/**
 * An OpenAPI or AsyncAPI document for tests: resolves JSON pointers and references, and validates values against the
 * document's schemas (JSON Schema 2020-12, formats included).
 */
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

// biome-ignore lint/suspicious/noExplicitAny: documents are walked by name
export type Node = any

/** Returns where a document violates its own standard, OpenAPI 3.1 or AsyncAPI 3.0. Empty: nowhere. */
export async function structureFaults(root: Node): Promise<string[]> {
  const config = await createConfig({ rules: { struct: 'error', 'no-unresolved-refs': 'error' } })
  const found = await lintFromString({ source: JSON.stringify(root), absoluteRef: 'document.json', config })
  return found.map(({ message, location: [place] }) => `${place?.pointer ?? ''} ${message}`)
}

/**
 * The document with objects that allow only the described members, unless it states otherwise. In a schema with
 * `allOf`, the schemas it refers to are closed, and the parts that restrict them stay open.
 */
export function closed(node: Node, isPart = false): Node {
  if (Array.isArray(node)) return node.map((entry) => closed(entry))
  if (typeof node !== 'object' || node === null) return node
  const members = Object.entries<Node>(node).map(([name, value]) => [
    name,
    name === 'allOf' ? value.map((part: Node) => closed(part, true)) : closed(value),
  ])
  const isOpen = node.type === 'object' && node.properties !== undefined && node.additionalProperties === undefined
  return { ...Object.fromEntries(members), ...(isOpen && !isPart ? { additionalProperties: false } : {}) }
}

export class ApiDocument {
  readonly root: Node
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true })

  constructor(root: Node) {
    this.root = root
    formats.default(this.#ajv)
    // Only its format bounds its length.
    this.#ajv.addFormat('int32', { type: 'number', validate: (value) => Number.isInteger(value) && value < 2 ** 31 })
    this.#ajv.addSchema({ $id: 'https://api.test/', ...root })
  }

  /** Resolves a node: itself, or the node it refers to. */
  resolve(node: Node): Node {
    let found = node
    while (found?.$ref !== undefined) found = this.at(found.$ref.slice(1))
    return found
  }

  /** Returns the value at a JSON pointer. Throws if there is none. */
  at(pointer: string): Node {
    let node = this.root
    for (const step of pointer.split('/').slice(1)) {
      node = this.resolve(node)[step.replaceAll('~1', '/').replaceAll('~0', '~')]
      if (node === undefined) throw new Error(`there is nothing at ${pointer}`)
    }
    return node
  }

  /** Returns how a value violates a schema in this document. Empty: it conforms. */
  faults(schema: Node, value: unknown): string[] {
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"https://api.test/#'))
    const validate = this.#compiled(absolute)
    if (validate(value)) return []
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`)
  }

  readonly #validators = new Map<string, ReturnType<Ajv2020['compile']>>()

  #compiled(schema: Node) {
    const key = JSON.stringify(schema)
    const known = this.#validators.get(key)
    if (known !== undefined) return known
    const made = this.#ajv.compile(schema)
    this.#validators.set(key, made)
    return made
  }

  /** Every reference in the document. */
  references(): string[] {
    return [...JSON.stringify(this.root).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target = '']) => target)
  }
}

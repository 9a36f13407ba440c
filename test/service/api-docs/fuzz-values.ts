/**
 * Random values generated from the schemas of the OpenAPI document: conforming ones, and corruptions of them. Ids and
 * names from earlier responses are reused, so that requests refer to existing records.
 */
import type { ApiDocument, Node } from '../../support/api-document.ts'
import type { Random } from '../../support/random.ts'

/** Values seen in responses, by kind. */
export class Known {
  readonly #values = new Map<string, string[]>()

  add(kind: string, value: string): void {
    const values = this.#values.get(kind) ?? []
    // The latest values are enough, and memory is bounded.
    this.#values.set(kind, [...values.filter((known) => known !== value), value].slice(-20))
  }

  pick(random: Random, kind: string): string | undefined {
    const values = this.#values.get(kind) ?? []
    return values.length === 0 ? undefined : random.pick(values)
  }
}

/** Names of members and parameters, and the kind of value that each contains. */
const KINDS: Readonly<Record<string, string>> = {
  // The only body member with this name belongs to the change of an account.
  id: 'account',
  ids: 'id',
  profile_id: 'profile',
  profile_ids: 'profile',
  account_id: 'account',
  account_ids: 'account',
  identity_id: 'identity',
  identity_ids: 'identity',
  ref_id: 'ref',
  ref_ids: 'ref',
  source_asset: 'asset',
  destination_asset: 'asset',
  conversion_target_asset: 'asset',
  address: 'address',
  page_cursor: 'cursor',
  client_id: 'client',
  client_secret: 'secret',
  scope: 'scope',
  token: 'token',
}

/** Members of examples that must refer to existing records. */
const REPLACED = ['id', 'profile_id', 'account_id', 'client_id', 'client_secret', 'scope']

const ALPHABET = [...'abcXYZ019 -_.:/\\"\'{}[]<>&=%+,;é漢🙂', '\u0001', '\u007f', '\u200b', '\u202e', '\ufeff', '\n']

/** Generates a string of this many code points. */
export function words(random: Random, length: number): string {
  return Array.from({ length }, () => random.pick(ALPHABET)).join('')
}

export function uuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => random.pick([...'0123456789abcdef'])).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

export class ValueMaker {
  readonly #document: ApiDocument
  readonly #random: Random
  readonly #known: Known

  constructor(document: ApiDocument, random: Random, known: Known) {
    this.#document = document
    this.#random = random
    this.#known = known
  }

  /** Generates a value that conforms to the schema. */
  valid(schema: Node, name = ''): unknown {
    const random = this.#random
    const { type, enum: allowed, properties, items, oneOf } = this.#document.resolve(schema)
    if (oneOf !== undefined) return this.valid(random.pick<Node>(oneOf), name)
    if (allowed !== undefined) return random.pick(allowed)
    if (type === 'object' || properties !== undefined) return this.#object(this.#document.resolve(schema), name)
    if (type === 'array') {
      const length = random.pick([0, 1, 1, 2, 3])
      const entries = Array.from({ length }, () => this.valid(items, name))
      return this.#document.resolve(schema).uniqueItems === true ? [...new Set(entries)] : entries
    }
    if (type === 'boolean') return random.chance(0.5)
    if (type === 'integer') return this.#integer(this.#document.resolve(schema))
    return this.#text(this.#document.resolve(schema), name)
  }

  /** Returns an example of the document with ids of existing records and a unique name. */
  adapted(example: Node): unknown {
    const ids = REPLACED.filter((name) => Object.hasOwn(example, name))
    const known = ids.flatMap((name) => {
      const value = this.#known.pick(this.#random, KINDS[name] as string)
      return value === undefined ? [] : [[name, value]]
    })
    const named = Object.hasOwn(example, 'ref_id') ? { ref_id: words(this.#random, 12) } : {}
    return { ...example, ...Object.fromEntries(known), ...named }
  }

  #object(schema: Node, name: string): unknown {
    const random = this.#random
    const { properties = {}, required = [], minProperties = 0, maxProperties = 20 } = schema
    const optional = Object.keys(properties).filter((member) => !required.includes(member))
    const chosen = new Set<string>(required)
    for (const member of optional) if (random.chance(0.5) && chosen.size < maxProperties) chosen.add(member)
    while (chosen.size < minProperties) chosen.add(random.pick(optional))
    const members = [...chosen].map((member) => [member, this.valid(properties[member], member)])
    if (schema.additionalProperties !== undefined && schema.additionalProperties !== false) {
      const free = this.#document.resolve(schema.additionalProperties)
      for (let count = random.integer(3); count > 0; count--) {
        members.push([words(random, 1 + random.integer(8)), free === true ? this.#anything() : this.valid(free, name)])
      }
    }
    return Object.fromEntries(members)
  }

  #anything(depth = 3): unknown {
    const random = this.#random
    if (depth === 0 || random.chance(0.6))
      return random.pick([null, true, 0, -1.5e-7, 1e21, '', '🙂', words(random, 5)])
    if (random.chance(0.5)) return Array.from({ length: random.integer(4) }, () => this.#anything(depth - 1))
    return { [words(random, 3)]: this.#anything(depth - 1) }
  }

  #integer({ minimum = 0, maximum = 1_000 }: Node): number {
    return this.#random.pick([minimum, maximum, minimum + this.#random.integer(maximum - minimum + 1)])
  }

  #text({ format, minLength = 0, maxLength = 200, const: only }: Node, name: string): string {
    const random = this.#random
    if (only !== undefined) return only
    const kind = KINDS[name]
    if (kind !== undefined && random.chance(0.8)) {
      const known = this.#known.pick(random, kind)
      if (known !== undefined && known.length <= maxLength) return known
    }
    if (format === 'uuid') return random.chance(0.5) ? uuid(random) : uuid(random).toUpperCase()
    if (format === 'date-time') return this.#time()
    const length = random.pick([minLength, maxLength, minLength + random.integer(Math.min(maxLength - minLength, 20))])
    return words(random, length)
  }

  #time(): string {
    const random = this.#random
    const text = new Date(Date.UTC(2020, 0, 1) + random.integer(2 ** 31) * 100).toISOString().slice(0, 19)
    const fraction = random.pick(['', '.5', '.123', '.123456789'])
    return text + fraction + random.pick(['Z', '+00:00', '-23:59', '+14:00'])
  }
}

/** Returns the value with one random part corrupted. */
export function spoil(random: Random, value: unknown): unknown {
  if (typeof value === 'object' && value !== null && random.chance(0.7)) {
    if (Array.isArray(value)) {
      if (value.length > 0 && random.chance(0.8)) {
        const index = random.integer(value.length)
        return value.with(index, spoil(random, value[index]))
      }
      return random.chance(0.5) ? Array.from({ length: 101 }, () => value[0] ?? 'x') : [...value, null]
    }
    const names = Object.keys(value)
    const name = names.length === 0 ? 'x' : random.pick(names)
    const rest = Object.fromEntries(Object.entries(value).filter(([member]) => member !== name))
    if (random.chance(0.2)) return rest
    if (random.chance(0.2)) return { ...value, [random.pick(['constructor', 'unknown', ' id', 'Id'])]: 'x' }
    return { ...rest, [name]: spoil(random, (value as Record<string, unknown>)[name]) }
  }
  return random.pick([
    null,
    0,
    1.5,
    '',
    'x'.repeat(1_001),
    [],
    {},
    true,
    ['x'],
    { x: 1 },
    'NOT_ONE_OF_THEM',
    '漢'.repeat(201),
  ])
}

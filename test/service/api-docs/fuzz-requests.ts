/** Random requests generated from the OpenAPI document: some conform to it, others violate one of its rules. */
import type { ApiDocument, Node } from '../../support/api-document.ts'
import type { Random } from '../../support/random.ts'
import { type Known, spoil, uuid, type ValueMaker, words } from './fuzz-values.ts'

export interface DescribedOperation {
  readonly path: string
  readonly method: string
  readonly operation: Node
}

export interface FuzzRequest {
  readonly method: string
  readonly url: string
  /** The token to send; `public` marks an operation that needs none. */
  readonly caller: 'full' | 'poor' | 'no token' | 'garbage' | 'public'
  readonly contentType: string | undefined
  readonly body: string | undefined
  /** The status that follows from the document alone; absent: it depends on the stored records. */
  readonly expected: number | undefined
}

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

interface Body {
  readonly contentType: string | undefined
  readonly text: string | undefined
  /** Whether the request must be refused. */
  readonly isBroken: boolean
}

interface Part {
  readonly text: string
  readonly isBroken: boolean
}

export class RequestMaker {
  readonly #document: ApiDocument
  readonly #random: Random
  readonly #known: Known
  readonly #values: ValueMaker

  constructor(document: ApiDocument, random: Random, known: Known, values: ValueMaker) {
    this.#document = document
    this.#random = random
    this.#known = known
    this.#values = values
  }

  make({ path, method, operation }: DescribedOperation): FuzzRequest {
    const random = this.#random
    const parameters: Node[] = (operation.parameters ?? []).map((parameter: Node) => this.#document.resolve(parameter))
    const url = path.replaceAll(/\{(\w+)\}/g, () => encodeURIComponent(this.#pathId(path)))
    const query = this.#query(parameters.filter((parameter) => parameter.in === 'query'))
    const body = this.#body(operation)
    const isGuarded = operation.security.some((scheme: Node) => scheme.token !== undefined)
    const needsScope = operation.security.some((scheme: Node) => scheme.token?.length > 0)
    const caller = isGuarded ? this.#caller() : 'public'
    const isBroken = query.isBroken || body.isBroken
    const isHead = method === 'get' && random.chance(0.05)
    return {
      method: isHead ? 'HEAD' : method.toUpperCase(),
      url: query.text === '' ? url : `${url}?${query.text}`,
      caller,
      contentType: body.contentType,
      body: body.text,
      expected: expectedStatus(caller, needsScope, accepts(operation, body.contentType), isBroken),
    }
  }

  #caller(): FuzzRequest['caller'] {
    return this.#random.chance(0.88) ? 'full' : this.#random.pick(['poor', 'no token', 'garbage'] as const)
  }

  #pathId(path: string): string {
    const random = this.#random
    const known = this.#known.pick(random, kindIn(path))
    if (known !== undefined && random.chance(0.6)) return random.chance(0.8) ? known : known.toUpperCase()
    return random.chance(0.5) ? uuid(random) : `x${words(random, random.integer(40))}`
  }

  #query(parameters: readonly Node[]): Part {
    const random = this.#random
    if (parameters.length === 0) return { text: '', isBroken: false }
    const parts: Part[] = []
    for (const parameter of parameters) {
      if (!random.chance(parameter.name.includes('_at.') ? 0.1 : 0.25)) continue
      if (random.chance(0.06)) parts.push(this.#brokenParameter(parameter))
      else parts.push(this.#validParameter(parameter))
    }
    if (random.chance(0.1)) parts.push({ text: `${random.pick(['unknown', 'x[]', 'cursor'])}=1`, isBroken: false })
    return {
      text: parts
        .map(({ text }) => text)
        .filter((text) => text !== '')
        .join('&'),
      isBroken: parts.some(({ isBroken }) => isBroken),
    }
  }

  #validParameter({ name, schema }: Node): Part {
    const value = this.#values.valid(schema, name)
    const texts = (Array.isArray(value) ? value : [value]).map((entry) => encodeURIComponent(String(entry)))
    const random = this.#random
    if (Array.isArray(value) && (name === 'ids' || name === 'status') && texts.length > 0 && random.chance(0.3)) {
      return { text: `${name}=${texts.join(',')}`, isBroken: false }
    }
    const shown = Array.isArray(value) && random.chance(0.2) ? `${name}[]` : name
    return { text: texts.map((text) => `${shown}=${text}`).join('&'), isBroken: false }
  }

  #brokenParameter({ name, schema }: Node): Part {
    const random = this.#random
    const { type, enum: allowed, format, maximum, items } = this.#document.resolve(schema)
    const one = (value: string): Part => ({ text: `${name}=${encodeURIComponent(value)}`, isBroken: true })
    if (type === 'array') {
      if (random.chance(0.3)) {
        return { text: Array.from({ length: 101 }, (_, index) => `${name}=x${index}`).join('&'), isBroken: true }
      }
      return one(items.enum === undefined && items.format === undefined ? 'x'.repeat(201) : 'not one of them')
    }
    if (random.chance(0.3)) {
      const valid = encodeURIComponent(String(this.#values.valid(schema, name)))
      return { text: `${name}=${valid}&${name}=${valid}`, isBroken: true }
    }
    if (type === 'integer') return one(random.pick(['', '0', '-1', '1.5', '1e2', ' 1', String(maximum + 1), '00001']))
    if (allowed !== undefined) return one(random.pick(['', 'asc', `${allowed[0]} `, 'ASC,DESC']))
    if (format === 'date-time') return one(random.pick(['', 'now', '2026-02-30T00:00:00Z', '2026-01-01', '1700000000']))
    if (name === 'page_cursor') return one(random.pick(['x', words(random, 30), 'e30', '漢']))
    return one(random.pick(['', 'x'.repeat(201), '\u0000']))
  }

  #body(operation: Node): Body {
    const random = this.#random
    const content = operation.requestBody?.content
    if (content === undefined) return { contentType: undefined, text: undefined, isBroken: false }
    const { schema, example = schema.examples?.[0] } = content[JSON_TYPE] ?? content[FORM_TYPE]
    if (content[JSON_TYPE] === undefined) return this.#form(schema, example)
    const contentType = random.chance(0.97) ? JSON_TYPE : random.pick(['text/plain', 'application/xml'])
    const value = random.chance(0.4) ? this.#values.adapted(example) : this.#values.valid(schema)
    if (random.chance(0.6)) return { contentType, text: JSON.stringify(value), isBroken: false }
    if (random.chance(0.3)) {
      const text = this.#brokenText(JSON.stringify(value))
      return { contentType, text, isBroken: text !== '' || operation.requestBody.required === true }
    }
    const spoilt = spoil(random, value)
    // The corrupted value may conform all the same.
    return { contentType, text: JSON.stringify(spoilt), isBroken: this.#document.faults(schema, spoilt).length > 0 }
  }

  /** Its parameters are not validated by a schema, but only after authentication. */
  #form(schema: Node, example: Node): Body {
    const random = this.#random
    const contentType = random.chance(0.95) ? FORM_TYPE : JSON_TYPE
    const isExample = example !== undefined && random.chance(0.4)
    const value = isExample ? this.#values.adapted(example) : this.#values.valid(schema)
    const form = new URLSearchParams(value as Record<string, string>)
    if (random.chance(0.1)) form.delete(random.pick([...form.keys()]))
    if (random.chance(0.05)) form.append(random.pick([...form.keys(), 'unknown']), 'x')
    return { contentType, text: form.toString(), isBroken: false }
  }

  /** A body that is not JSON, or is not accepted as such. */
  #brokenText(text: string): string {
    return this.#random.pick([
      '',
      '[]',
      'null',
      `${text}x`,
      text.slice(0, -1),
      `{"__proto__":{},${text.slice(1)}`,
      `{"x":"\\u0000",${text.slice(1)}`,
      `{"x":"\\ud800",${text.slice(1)}`,
      `{"x":1,"x":1,${text.slice(1)}`,
      '['.repeat(10_000),
      `\ufeff\ufeff${text}`,
    ])
  }
}

/** The kind of record that the id in a path refers to. */
function kindIn(path: string): string {
  if (path.includes('/rules/')) return 'rule'
  if (path.includes('/deposit-addresses/')) return 'deposit address'
  if (path.includes('/crypto-destination-addresses/')) return 'destination address'
  if (path.includes('/fiat-deposit-instructions/')) return 'fiat instructions'
  if (path.includes('/fiat-accounts/')) return 'fiat account'
  if (path.includes('/transfers/')) return 'transfer'
  if (path.includes('/markets/')) return 'market'
  if (path.includes('/events/')) return 'event'
  if (path.includes('/webhooks/endpoints/')) return 'webhook endpoint'
  if (path.includes('/orchestrations/')) return 'orchestration'
  return path.includes('/profiles/') ? 'profile' : 'account'
}

function accepts({ requestBody }: Node, contentType: string | undefined): boolean {
  return contentType === undefined || requestBody.content[contentType] !== undefined
}

/** The order of the checks. */
function expectedStatus(
  caller: FuzzRequest['caller'],
  needsScope: boolean,
  isAccepted: boolean,
  isBroken: boolean,
): number | undefined {
  if (caller === 'no token' || caller === 'garbage') return 401
  if (caller === 'poor' && needsScope) return 403
  if (!isAccepted) return 415
  return isBroken ? 400 : undefined
}

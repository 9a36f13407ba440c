/**
 * A query string's parameters, strictly decoded, and its errors, which one answer reports together. Values are taken by
 * name. The remaining names are the ignored parameters. A query string may be as long as a head, so the number of its
 * parameters is limited, and so is the number of errors.
 */
import { type FieldError, invalidRequest, Problem } from './problem.ts'

/** The list of orchestrations, which has the most parameters, takes ten arrays with up to 100 entries each. */
export const QUERY_PAIRS_MAX = 1_000

export class QueryValues {
  readonly #values = new Map<string, string[]>()

  /** Adds a value after the earlier ones. */
  add(name: string, value: string): void {
    const known = this.#values.get(name)
    if (known === undefined) this.#values.set(name, [value])
    else known.push(value)
  }

  /** Every value for `name`, in order. */
  take(name: string): readonly string[] {
    const values = this.#values.get(name) ?? []
    this.#values.delete(name)
    return values
  }

  /** Every value in an array: repeated keys, and `name[]` as some libraries write it. */
  takeAll(name: string): readonly string[] {
    return [...this.take(name), ...this.take(`${name}[]`)]
  }

  /** As `takeAll`, where a value may contain several, separated by commas. At most the first `countMax`. */
  takeSplit(name: string, countMax: number): readonly string[] {
    const split: string[] = []
    for (const value of this.takeAll(name)) {
      split.push(...value.split(',', countMax - split.length))
      if (split.length === countMax) break
    }
    return split
  }

  /** Names that were not taken. */
  left(): readonly string[] {
    return [...this.#values.keys()]
  }

  /** In the schemas' form: a string for a single parameter, an array for a repeated one. */
  plain(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.#values].map(([name, values]) => [name, values.length > 1 ? values : values[0]]))
  }
}

/** A request target's parameters. Each one that is not percent-encoded UTF-8 is reported. */
export function queryValues(url: string, faults: QueryFaults): QueryValues {
  const values = new QueryValues()
  let count = 0
  for (let start = url.indexOf('?') + 1; start > 0; ) {
    const end = url.indexOf('&', start)
    const pair = url.slice(start, end < 0 ? undefined : end)
    start = end + 1
    if (pair === '') continue
    count++
    if (count > QUERY_PAIRS_MAX) faults.reject(`has more than ${QUERY_PAIRS_MAX} parameters`)
    const [rawName, rawValue] = splitOnce(pair)
    const name = decode(rawName)
    const value = decode(rawValue)
    if (name === undefined || value === undefined) faults.add(name ?? rawName, 'is not percent-encoded UTF-8')
    else values.add(name, value)
  }
  return values
}

function splitOnce(pair: string): [name: string, value: string] {
  const position = pair.indexOf('=')
  return position < 0 ? [pair, ''] : [pair.slice(0, position), pair.slice(position + 1)]
}

function decode(raw: string): string | undefined {
  try {
    return decodeURIComponent(raw.replaceAll('+', ' '))
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}

/** The number of errors in one answer. */
const FAULTS_MAX = 20
/** Longest parameter name in an error: it comes from the client and may be as long as the query. */
const NAME_CHARACTERS_MAX = 200

/** Collects a query string's errors, up to FAULTS_MAX. The last one ends the parsing. */
export class QueryFaults {
  readonly #errors: FieldError[] = []

  /** Adds an error. Throws when there are FAULTS_MAX. */
  add(parameter: string, detail: string): void {
    this.#errors.push({ parameter: parameter.slice(0, NAME_CHARACTERS_MAX), detail })
    if (this.#errors.length === FAULTS_MAX) this.throwIfAny()
  }

  /** Rejects the whole query. */
  reject(detail: string): never {
    throw new Problem('invalid_request', `query: ${detail}`)
  }

  throwIfAny(): void {
    const [first, ...rest] = this.#errors
    if (first !== undefined) throw invalidRequest([first, ...rest])
  }
}

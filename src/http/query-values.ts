/**
 * The parts of a query string: names and values, decoded strictly. Values are taken by name, and what nobody took can be
 * asked for. Pure.
 */
export class QueryValues {
  readonly #values = new Map<string, string[]>()

  /** Adds a value behind those that came before it. */
  add(name: string, value: string): void {
    const known = this.#values.get(name)
    if (known === undefined) this.#values.set(name, [value])
    else known.push(value)
  }

  /** Every value of `name`, in order. */
  take(name: string): readonly string[] {
    const values = this.#values.get(name) ?? []
    this.#values.delete(name)
    return values
  }

  /** Every value of an array: repeated keys, and `name[]` as some libraries write it. */
  takeAll(name: string): readonly string[] {
    return [...this.take(name), ...this.take(`${name}[]`)]
  }

  /** As `takeAll`, where one value may also hold several, with commas between them. */
  takeSplit(name: string): readonly string[] {
    return this.takeAll(name).flatMap((value) => value.split(','))
  }

  /** Names that nobody took. */
  left(): readonly string[] {
    return [...this.#values.keys()]
  }
}

/** The values in a request's target; `complain` hears of each that is not percent-encoded UTF-8. */
export function queryValues(url: string, complain: (name: string, detail: string) => void): QueryValues {
  const values = new QueryValues()
  const start = url.indexOf('?')
  if (start < 0) return values
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue
    const [rawName, rawValue] = splitOnce(pair)
    const name = decode(rawName)
    const value = decode(rawValue)
    if (name === undefined || value === undefined) complain(name ?? rawName, 'is not percent-encoded UTF-8')
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

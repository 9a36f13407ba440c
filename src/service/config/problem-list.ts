/**
 * Collects a configuration's problems: the first ones in full with a limited length, and the number of the others. A
 * file that is not a configuration has a problem for each line. Pure.
 */
const PROBLEMS_MAX = 50
const KEY_CHARACTERS_MAX = 200
const MESSAGE_CHARACTERS_MAX = 500

export interface ConfigProblem {
  /** The key, with the place inside its value if there is one: `markets[0].depth`. */
  readonly key: string
  /** The value's origin: `--http.port`, `TIDEGATE_HTTP_PORT`, a file, `default`. */
  readonly origin: string
  readonly message: string
}

/** A check's outcome on configured values: problems prevent a start, warnings do not. */
export interface Check {
  readonly problems: readonly ConfigProblem[]
  readonly warnings: readonly string[]
}

/** One line: key, problem, origin. */
export function describeProblem({ key, origin, message }: ConfigProblem): string {
  return key === '' ? `${origin}: ${message}` : `${key} ${message} (from ${origin})`
}

interface NewProblem extends Omit<ConfigProblem, 'message'> {
  /** A function is called only when the problem is kept, because searching for the intended key takes time. */
  readonly message: string | (() => string)
}

export class ProblemList {
  readonly #kept: ConfigProblem[] = []
  #count = 0

  /** The total number, kept or not. */
  get count(): number {
    return this.#count
  }

  add({ key, origin, message }: NewProblem): void {
    this.#count++
    if (this.#kept.length === PROBLEMS_MAX) return
    this.#kept.push({
      key: shortened(key, KEY_CHARACTERS_MAX),
      origin,
      message: shortened(typeof message === 'string' ? message : message(), MESSAGE_CHARACTERS_MAX),
    })
  }

  all(): readonly ConfigProblem[] {
    const more = this.#count - this.#kept.length
    if (more === 0) return this.#kept
    return [...this.#kept, { key: '', origin: 'configuration', message: `has ${more} more problems` }]
  }
}

function shortened(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text
}

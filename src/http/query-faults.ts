/** Collects the errors of a query string, up to FAULTS_MAX; the last one ends the parsing. */
import { type FieldError, invalidRequest, Problem } from './problem.ts'

/** Errors that one answer reports. */
const FAULTS_MAX = 20
/** Longest parameter name in an error: it comes from the client and may be as long as the query. */
const NAME_CHARACTERS_MAX = 200

export class QueryFaults {
  readonly #errors: FieldError[] = []

  /** Adds an error; throws when there are FAULTS_MAX. */
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

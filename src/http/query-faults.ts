/** What is wrong with a query, one entry for each fault that was found: reading is over with the last that is reported. */
import { type FieldError, invalidRequest, Problem } from './problem.ts'

/** More would help nobody. */
const FAULTS_MAX = 20
/** Of a parameter's name in a fault: it comes from outside and may be as long as the query. */
const NAME_CHARACTERS_MAX = 200

export class QueryFaults {
  readonly #errors: FieldError[] = []

  /** Notes a fault. */
  add(parameter: string, detail: string): void {
    this.#errors.push({ parameter: parameter.slice(0, NAME_CHARACTERS_MAX), detail })
    if (this.#errors.length === FAULTS_MAX) this.throwIfAny()
  }

  /** A fault of the query as a whole, which is not read further. */
  reject(detail: string): never {
    throw new Problem('invalid_request', `query: ${detail}`)
  }

  throwIfAny(): void {
    const [first, ...rest] = this.#errors
    if (first !== undefined) throw invalidRequest([first, ...rest])
  }
}

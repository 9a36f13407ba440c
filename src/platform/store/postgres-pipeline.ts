/**
 * Statements sent to a PostgreSQL server in one message, as one query of the driver's. The server answers them in order
 * and skips those after a failed one. Protocol: PostgreSQL, "Frontend/Backend Protocol", pipelining.
 */
import type { Statement } from './caller-connection.ts'
import { readTag } from './column-types.ts'

/** An executed statement, with each value as PostgreSQL's text. */
export interface Executed {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
  readonly rows: readonly (readonly (string | null)[])[]
  readonly command: string
  readonly rowCount: number | null | undefined
}

/** The used calls of the driver's connection, which its types contain in part. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void }
  parse(message: { text: string }): void
  bind(message: { values: readonly (string | Buffer | null)[] }): void
  describe(message: { type: 'P' }): void
  execute(message: object): void
  sync(): void
}

export class Pipeline {
  /** Resolves when the server is ready for the next query. Rejects with the first failure. */
  readonly ended: Promise<void>
  /** In the order of the statements, up to the first failure. */
  readonly executed: Executed[] = []
  readonly #statements: readonly Statement[]
  #fields: Executed['fields'] = []
  #rows: (readonly (string | null)[])[] = []
  #resolve: () => void = () => undefined
  #reject: (error: unknown) => void = () => undefined

  constructor(statements: readonly Statement[]) {
    this.#statements = statements
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  submit(connection: unknown): void {
    const wire = connection as Wire
    wire.stream.cork()
    for (const { text, parameters } of this.#statements) {
      wire.parse({ text })
      wire.bind({ values: parameters.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value)) })
      wire.describe({ type: 'P' })
      wire.execute({})
    }
    wire.sync()
    wire.stream.uncork()
  }

  // The driver calls the methods below with the server's answers.

  handleRowDescription({ fields }: Pick<Executed, 'fields'>): void {
    this.#fields = fields
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.executed.push({ fields: this.#fields, rows: this.#rows, ...readTag(text) })
    this.#fields = []
    this.#rows = []
  }

  handleError(error: unknown): void {
    this.#reject(error)
  }

  handleReadyForQuery(): void {
    this.#resolve()
  }
}

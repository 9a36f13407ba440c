/**
 * The embedded store's statements with parameters, parsed once and executed by name with one message exchange.
 * PGlite's `query` parses every statement again and exchanges six messages, which takes two to three times as long.
 * The planner still sees each execution's parameters (`force_custom_plan`), so plans are those of an unprepared
 * statement. Protocol: PostgreSQL, "Frontend/Backend Protocol", extended query.
 */
import { readTag } from './column-types.ts'
import { type PGlite, protocol } from './durable-files.ts'
import { PREPARED_STATEMENTS_MAX } from './limits.ts'

/** Set before the first statement. */
export const PLAN_SETTING = 'set plan_cache_mode = force_custom_plan'

/** Commands after which a statement may return other columns. */
const SCHEMA_CHANGE = /^(ALTER|CREATE|DO|DROP)$/

interface Field {
  readonly name: string
  readonly dataTypeID: number
}

interface PreparedStatement {
  readonly name: string
  readonly fields: readonly Field[]
}

/** An executed statement, with each value as PostgreSQL's text. */
interface Executed {
  readonly fields: readonly Field[]
  readonly rows: readonly (readonly (string | null)[])[]
  /** The command tag's first word, such as `INSERT`. */
  readonly command: string
  /** From the command tag, where it has one. */
  readonly rowCount: number | undefined
}

/** The used members of PGlite's parsed messages. */
type Message =
  | { readonly name: 'parseComplete' }
  | { readonly name: 'rowDescription'; readonly fields: readonly Field[] }
  | { readonly name: 'dataRow'; readonly fields: readonly (string | null)[] }
  | { readonly name: 'commandComplete'; readonly text: string }

const { serialize } = protocol

export class PreparedStatements {
  readonly #database: PGlite
  /** By text, the least recently executed first. */
  readonly #statements = new Map<string, PreparedStatement>()
  #prepared = 0

  constructor(database: PGlite) {
    this.#database = database
  }

  /**
   * Executes a statement, and prepares it first when its text is new.
   * @returns undefined when PGlite swallowed an exception that is not PostgreSQL's
   */
  async execute(text: string, parameters: readonly (string | Uint8Array | null)[]): Promise<Executed | undefined> {
    const statement = this.#statements.get(text) ?? (await this.#prepare(text))
    this.#statements.delete(text)
    this.#statements.set(text, statement)
    const messages = await this.#exchange(
      serialize.bind({ statement: statement.name, values: [...parameters] }),
      serialize.execute({}),
    )
    const rows: (readonly (string | null)[])[] = []
    let tag: string | undefined
    for (const message of messages) {
      if (message.name === 'dataRow') rows.push(message.fields)
      else if (message.name === 'commandComplete') tag = message.text
    }
    if (tag === undefined) return undefined
    return { fields: statement.fields, rows, ...readTag(tag) }
  }

  /** Must be called with the commands executed without parameters. */
  async executedOthers(commands: readonly string[]): Promise<void> {
    if (this.#statements.size === 0 || !commands.some((command) => SCHEMA_CHANGE.test(command))) return
    this.#statements.clear()
    await this.#database.exec('deallocate all')
  }

  async #prepare(text: string): Promise<PreparedStatement> {
    const [oldest] = this.#statements
    if (oldest !== undefined && this.#statements.size >= PREPARED_STATEMENTS_MAX) {
      this.#statements.delete(oldest[0])
      await this.#exchange(serialize.close({ type: 'S', name: oldest[1].name }))
    }
    const name = `s${this.#prepared++}`
    const messages = await this.#exchange(serialize.parse({ name, text }), serialize.describe({ type: 'S', name }))
    // PGlite swallowed an exception that is not PostgreSQL's, and this name stands for nothing.
    if (!messages.some((message) => message.name === 'parseComplete')) throw new Error('a statement was not prepared')
    const fields = messages.find((message) => message.name === 'rowDescription')?.fields ?? []
    return { name, fields }
  }

  /** Sends these messages and a Sync. Throws PostgreSQL's error. */
  async #exchange(...messages: readonly Uint8Array[]): Promise<readonly Message[]> {
    const bytes = Buffer.concat([...messages, serialize.sync()])
    const { messages: answers } = await this.#database.runExclusive(() => this.#database.execProtocol(bytes))
    return answers as unknown as readonly Message[]
  }
}

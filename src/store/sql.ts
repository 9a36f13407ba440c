/**
 * The query builder, and the only file that knows it: modules take `sql`, `Kysely` and the column types from here or
 * from `db`. It turns a source of sessions, which an engine provides, into the two calls of the contract, `tables` and
 * `transaction`. It refuses the one misuse that would wait for itself: a query beside an open transaction in the work
 * of that transaction. It never opens a connection and never retries.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type Transaction,
  type TransactionSettings,
} from 'kysely'
import { assert } from '../base/assert.ts'

export type { ColumnType, Generated, RawBuilder, SelectQueryBuilder } from 'kysely'
export { sql } from 'kysely'
export type { Kysely, Transaction }

/** What a statement gave: rows with converted values, and how many rows it wrote when it wrote any. */
export interface StatementResult {
  readonly rows: readonly Record<string, unknown>[]
  readonly affectedRows: number | undefined
}

/** One session of an engine, held by one caller from `acquire` to `release`. */
export interface Session {
  execute(text: string, parameters: readonly unknown[]): Promise<StatementResult>
  begin(): Promise<void>
  /** Fails when a statement had failed before: nothing was stored then. */
  commit(): Promise<void>
  rollback(): Promise<void>
  release(): Promise<void>
}

export interface TransactionOptions {
  /**
   * Longest one statement may take here, for migrations and the like, which no request waits for. Without it the whole
   * transaction, its wait for a session included, has STATEMENT_MILLISECONDS_MAX.
   */
  readonly statementMillisecondsMax?: number
}

/** Is notified of a statement that ended: how long it took, its turn not included, and what it failed with. */
export type StatementObserver = (seconds: number, error: unknown) => void

export interface Queries {
  /** Notifies `observer` of every later statement; begin, commit and rollback are none. */
  observeStatements(observer: StatementObserver): void
  tables<Tables>(): Kysely<Tables>
  transaction<Tables, Result>(
    work: (transaction: Transaction<Tables>) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>
}

/** Where the asynchronous call that asks for a session stands: before, in, or after the work of a transaction. */
interface TransactionContext {
  readonly options: TransactionOptions
  stage: 'starting' | 'working' | 'over'
}

export function createQueries(acquire: (options: TransactionOptions) => Promise<Session>): Queries {
  const contexts = new AsyncLocalStorage<TransactionContext>()
  const observers: StatementObserver[] = []
  const driver: Driver = {
    init: async () => undefined,
    async acquireConnection() {
      const context = contexts.getStore()
      assert(
        context?.stage !== 'working',
        'a query beside the open transaction: use the transaction that was handed in',
      )
      return new SessionConnection(await acquire(context?.stage === 'starting' ? context.options : {}))
    },
    async beginTransaction(connection, settings: TransactionSettings) {
      assert(contexts.getStore()?.stage === 'starting', 'a transaction begins with Db.transaction')
      assert(
        Object.values(settings).every((value) => value === undefined),
        'every transaction is read committed',
      )
      await sessionOf(connection).begin()
    },
    commitTransaction: (connection) => sessionOf(connection).commit(),
    rollbackTransaction: (connection) => sessionOf(connection).rollback(),
    releaseConnection: (connection) => sessionOf(connection).release(),
    destroy: async () => undefined,
  }
  const builder = new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (database) => new PostgresIntrospector(database),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    log(event) {
      const error = event.level === 'error' ? event.error : undefined
      for (const observe of observers) observe(event.queryDurationMillis / 1000, error)
    },
  })
  return {
    observeStatements: (observer) => void observers.push(observer),
    tables: <Tables>() => builder as Kysely<Tables>,
    async transaction<Tables, Result>(
      work: (transaction: Transaction<Tables>) => Promise<Result>,
      options: TransactionOptions = {},
    ): Promise<Result> {
      assert(contexts.getStore()?.stage !== 'working', 'a transaction inside a transaction: use the one handed in')
      const context: TransactionContext = { options, stage: 'starting' }
      return contexts.run(context, async () => {
        try {
          return await builder.transaction().execute(async (transaction) => {
            context.stage = 'working'
            return await work(transaction as Transaction<Tables>)
          })
        } finally {
          context.stage = 'over'
        }
      })
    },
  }
}

class SessionConnection implements DatabaseConnection {
  readonly session: Session

  constructor(session: Session) {
    this.session = session
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { rows, affectedRows } = await this.session.execute(query.sql, query.parameters)
    // The row type is what the builder derived from the caller's table types; nothing at run time can check it.
    const typedRows = rows as unknown as Row[]
    return affectedRows === undefined ? { rows: typedRows } : { rows: typedRows, numAffectedRows: BigInt(affectedRows) }
  }

  // biome-ignore lint/correctness/useYield: the builder asks for a stream, and lists are read in pages here
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('the store does not stream rows: read pages')
  }
}

function sessionOf(connection: DatabaseConnection): Session {
  assert(connection instanceof SessionConnection, 'a connection of another engine')
  return connection.session
}

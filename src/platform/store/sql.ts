/**
 * The query builder (Kysely), and the only file that imports it: modules import `sql`, `Kysely` and the column types
 * from here or from `db`. It builds the contract's two calls, `tables` and `transaction`, on an engine's connections.
 * Within a transaction's work it rejects queries outside that transaction: they would wait for the connection that the
 * transaction holds. It never opens a connection and never retries.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  Transaction,
  type TransactionSettings,
} from 'kysely'
import { assert } from '../base/assert.ts'
import { inSpan, recordSpan } from '../base/tracing.ts'

export type { ColumnType, Generated, RawBuilder, SelectQueryBuilder } from 'kysely'
export { sql } from 'kysely'
export type { Kysely, Transaction }

/** A statement's result: rows with converted values, and for INSERT, UPDATE, DELETE and MERGE the rows written. */
export interface StatementResult {
  readonly rows: readonly Record<string, unknown>[]
  readonly affectedRows: number | undefined
}

/** An engine's connection, held by one caller from `acquire` to `release`. */
export interface StoreConnection {
  execute(text: string, parameters: readonly unknown[]): Promise<StatementResult>
  begin(): Promise<void>
  /** Fails when an earlier statement in the transaction failed. Nothing is stored then. */
  commit(): Promise<void>
  rollback(): Promise<void>
  release(): Promise<void>
}

export interface TransactionOptions {
  /**
   * Longest time for one statement in the transaction, for migrations and the like, for which no request waits. Without
   * it the whole transaction, including its wait for a connection, has STATEMENT_MILLISECONDS_MAX.
   */
  readonly statementMillisecondsMax?: number
}

/**
 * Called after each statement with the time until its answer, without the wait for a connection, and its error, if any.
 * The time includes the statements sent before it in one message.
 */
export type StatementObserver = (seconds: number, error: unknown) => void

export interface Queries {
  /** Notifies `observer` of every later statement, except begin, commit and rollback. */
  observeStatements(observer: StatementObserver): void
  tables<Tables>(): Kysely<Tables>
  transaction<Tables, Result>(
    work: (transaction: Transaction<Tables>) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>
}

/** Where the asynchronous call that requests a connection is: before, in, or after a transaction's work. */
interface TransactionContext {
  readonly options: TransactionOptions
  /** Set when the transaction has begun. */
  connection?: DatabaseConnection
  stage: 'starting' | 'working' | 'over'
}

/** Whether the asynchronous call belongs to patient work, and whether that work has ended. */
const patience = new AsyncLocalStorage<{ isOver: boolean }>()

/**
 * Runs `work`, in which an embedded store statement may take START_MILLISECONDS_MAX: a start's work, for which no
 * request waits. A timer that `work` leaves behind is impatient again.
 */
export async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  const context = { isOver: false }
  try {
    return await patience.run(context, work)
  } finally {
    context.isOver = true
  }
}

/** Whether the caller runs within `patiently`. */
export function isPatient(): boolean {
  return patience.getStore()?.isOver === false
}

export function createQueries(acquire: (options: TransactionOptions) => Promise<StoreConnection>): Queries {
  const contexts = new AsyncLocalStorage<TransactionContext>()
  const observers: StatementObserver[] = []
  const driver: Driver = {
    init: async () => undefined,
    async acquireConnection() {
      const context = contexts.getStore()
      assert(
        context?.stage !== 'working',
        'a query outside the open transaction: use the transaction passed to the work',
      )
      return new BuilderConnection(await acquire(context?.stage === 'starting' ? context.options : {}))
    },
    async beginTransaction(connection, settings: TransactionSettings) {
      const context = contexts.getStore()
      assert(context?.stage === 'starting', 'a transaction begins with Db.transaction')
      assert(
        Object.values(settings).every((value) => value === undefined),
        'every transaction is read committed',
      )
      context.connection = connection
      await connectionOf(connection).begin()
    },
    commitTransaction: (connection) => connectionOf(connection).commit(),
    rollbackTransaction: (connection) => connectionOf(connection).rollback(),
    releaseConnection: (connection) => connectionOf(connection).release(),
    destroy: async () => undefined,
  }
  const dialect: Dialect = {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => driver,
    createIntrospector: (database) => new PostgresIntrospector(database),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
  const builder = new Kysely<unknown>({
    dialect,
    log(event) {
      const error = event.level === 'error' ? event.error : undefined
      for (const observe of observers) observe(event.queryDurationMillis / 1000, error)
      recordSpan('store statement', {}, event.queryDurationMillis, error instanceof Error ? error.name : undefined)
    },
  })
  return {
    observeStatements: (observer) => void observers.push(observer),
    tables: <Tables>() => builder as Kysely<Tables>,
    async transaction<Tables, Result>(
      work: (transaction: Transaction<Tables>) => Promise<Result>,
      options: TransactionOptions = {},
    ): Promise<Result> {
      assert(
        contexts.getStore()?.stage !== 'working',
        'a transaction inside a transaction: use the one passed to the work',
      )
      const context: TransactionContext = { options, stage: 'starting' }
      const run = async (): Promise<Result> => {
        try {
          return await builder.transaction().execute(async (transaction) => {
            context.stage = 'working'
            return await work(concurrent<Tables>(transaction, { dialect, driver }, context))
          })
        } finally {
          context.stage = 'over'
        }
      }
      return inSpan('store transaction', {}, () => contexts.run(context, run))
    },
  }
}

/** The transaction, with statements sent as they are issued: the builder's own one waits for each answer. */
function concurrent<Tables>(
  transaction: Transaction<unknown>,
  { dialect, driver }: { readonly dialect: Dialect; readonly driver: Driver },
  { connection }: TransactionContext,
): Transaction<Tables> {
  assert(connection !== undefined, 'a transaction has begun on a connection')
  const executor = transaction.getExecutor().withConnectionProvider({
    provideConnection: (consumer) => consumer(connection),
  })
  return new Transaction({ config: { dialect }, driver, dialect, executor })
}

class BuilderConnection implements DatabaseConnection {
  readonly connection: StoreConnection

  constructor(connection: StoreConnection) {
    this.connection = connection
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { rows, affectedRows } = await this.connection.execute(query.sql, query.parameters)
    // The builder derives the row type from the caller's table types. It cannot be checked at run time.
    const typedRows = rows as unknown as Row[]
    return affectedRows === undefined ? { rows: typedRows } : { rows: typedRows, numAffectedRows: BigInt(affectedRows) }
  }

  // biome-ignore lint/correctness/useYield: the builder's interface requires it; lists are read in pages
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('the store does not stream rows: read pages')
  }
}

function connectionOf(connection: DatabaseConnection): StoreConnection {
  assert(connection instanceof BuilderConnection, 'another engine’s connection')
  return connection.connection
}

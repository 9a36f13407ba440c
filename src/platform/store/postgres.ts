/**
 * The PostgreSQL store engine: a connection pool for callers, and one more connection for notifications and heartbeats.
 * Its guarantees are documented at `Db`. It opens without a server, rejects callers while the server is unreachable,
 * and recovers automatically. It does not migrate. Several processes may share the server.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { CallerConnection, type EngineConnection } from './caller-connection.ts'
import { Corruption } from './corruption.ts'
import { type Db, STATEMENT_MILLISECONDS_MAX } from './db.ts'
import { NotificationListeners } from './notification-listeners.ts'
import { beginTextFor, limitTextFor, type PostgresConnection, serverMilliseconds } from './postgres-connection.ts'
import { PostgresPool } from './postgres-pool.ts'
import { PostgresWatch } from './postgres-watch.ts'
import { createQueries, type StoreConnection, type TransactionOptions } from './sql.ts'

export interface PostgresOptions {
  /**
   * `postgres://user:password@host:port/database?sslmode=…`. The service has its own connections, so no pooler in
   * transaction mode.
   */
  readonly url: string
  /** Connections for callers. One more receives notifications. */
  readonly connectionsMax: number
  readonly log: Log
  readonly clock: Clock
  /** A number in [0, 1): jitter that keeps many processes from reconnecting at the same moment. */
  readonly random: () => number
}

export function openPostgres({ url, connectionsMax, log, clock, random }: PostgresOptions): Db {
  const listeners = new NotificationListeners(log)
  const corruption = new Corruption(log, clock)
  const pool = new PostgresPool({ url, connectionsMax, clock })
  const watch = new PostgresWatch({
    url,
    listeners,
    clock,
    log,
    random,
    onLost: () => pool.dropIdle(),
    onDown: (reason) => pool.rejectWaiting(reason),
  })

  async function acquire({ statementMillisecondsMax }: TransactionOptions): Promise<StoreConnection> {
    const patienceMilliseconds = statementMillisecondsMax ?? STATEMENT_MILLISECONDS_MAX
    const deadlineMilliseconds = clock.monotonicMilliseconds() + patienceMilliseconds
    const left = () => deadlineMilliseconds - clock.monotonicMilliseconds()
    await watch.ready(left())
    const held = await pool.take(left(), STATEMENT_MILLISECONDS_MAX)
    return new CallerConnection({
      connection: engineConnection({ pool, corruption, clock }, held, patienceMilliseconds),
      clock,
      deadlineMilliseconds,
      statementMillisecondsMax: patienceMilliseconds,
      isFirstStatementOnly: statementMillisecondsMax !== undefined,
    })
  }

  return {
    engine: 'postgres',
    get available() {
      return watch.isUp
    },
    get problem() {
      return watch.problem
    },
    get corruption() {
      return corruption.first
    },
    connections: pool.connections,
    ...createQueries(acquire),
    async listen(channel, listener) {
      listeners.add(channel, listener)
      try {
        await watch.listen(channel, STATEMENT_MILLISECONDS_MAX)
      } catch (error) {
        listeners.remove(channel, listener)
        throw error
      }
      return async () => {
        listeners.remove(channel, listener)
        if (!listeners.has(channel)) await watch.unlisten(channel)
      }
    },
    async close() {
      await pool.close()
      await watch.close()
    },
  }
}

interface Parts {
  readonly pool: PostgresPool
  readonly corruption: Corruption
  readonly clock: Clock
}

/** A pool connection while one caller has it. */
function engineConnection(
  { pool, corruption, clock }: Parts,
  held: PostgresConnection,
  patienceMilliseconds: number,
): EngineConnection {
  let limitMilliseconds = serverMilliseconds(patienceMilliseconds)
  return {
    get isAlive() {
      return held.isAlive
    },
    beginText: beginTextFor(clock, patienceMilliseconds),
    limitText(millisecondsMax) {
      if (millisecondsMax >= limitMilliseconds) return undefined
      limitMilliseconds = serverMilliseconds(millisecondsMax)
      return limitTextFor(clock, limitMilliseconds)
    },
    run: (statements, millisecondsMax) => corruption.watch(held.runAll(statements, millisecondsMax)),
    giveBack: async () => pool.giveBack(held),
  }
}

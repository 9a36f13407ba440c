/**
 * The embedded store engine: PGlite on a folder, in its own thread. One database connection serves all callers, so they
 * wait for it in order. A transaction holds it from begin to commit. Guarantees are documented at `Db`. Commits also
 * survive a power loss, because a commit is synced before its answer (`durable-files`), together with later callers'
 * commits (`group-commit`). The folder belongs to one process, which `data-lock` enforces.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { CallerConnection, type EngineConnection } from './caller-connection.ts'
import { Corruption } from './corruption.ts'
import { type Db, type NotificationListener, STATEMENT_MILLISECONDS_MAX, StoreUnavailable } from './db.ts'
import { EmbeddedEngine, type EngineLife } from './embedded-engine.ts'
import { FLUSH_TEXT, GroupCommit } from './group-commit.ts'
import { START_MILLISECONDS_MAX, UPKEEP_STATEMENT_MILLISECONDS_MAX } from './limits.ts'
import { NotificationListeners } from './notification-listeners.ts'
import { Semaphore } from './semaphore.ts'
import { createQueries, isPatient, type StoreConnection, sql, type TransactionOptions } from './sql.ts'
import { EmbeddedUpkeep } from './upkeep/embedded-upkeep.ts'

export interface EmbeddedOptions {
  /** The data folder, created when it does not exist. */
  readonly folder: string
  readonly log: Log
  readonly clock: Clock
  /** Ends the opening: it then rejects with the signal's reason, after its thread has ended. */
  readonly signal?: AbortSignal | undefined
}

export async function openEmbedded({ folder, log, clock, signal }: EmbeddedOptions): Promise<Db> {
  const listeners = new NotificationListeners(log)
  const semaphore = new Semaphore(clock)
  const group = new GroupCommit(clock)
  const corruption = new Corruption(log, clock)
  let closed = false
  const engine = new EmbeddedEngine({
    folder,
    log,
    clock,
    listener: {
      onNotification: (channel, payload) => group.notify(() => listeners.notify(channel, payload)),
      onLost: (reason) => group.lost(reason),
      onRestart: () => listeners.reconnected(),
      channels: () => listeners.channels(),
    },
  })

  const acquire = createAcquire({ engine, semaphore, group, corruption, clock })
  const queries = createQueries(acquire)

  async function stopListening(channel: string, listener: NotificationListener): Promise<void> {
    listeners.remove(channel, listener)
    if (!closed && !listeners.has(channel)) await unlisten(queries, channel, listeners)
  }

  const upkeep = new EmbeddedUpkeep({
    clock,
    log,
    isIdle: () => semaphore.inUse === 0,
    newLogSegments: () => engine.newLogSegments,
    execute: (text) => executeAlone(acquire, text),
  })
  await engine.start(signal)
  upkeep.start()
  return {
    engine: 'embedded',
    get available() {
      return engine.life !== undefined
    },
    get problem() {
      return engine.problem
    },
    get corruption() {
      return corruption.first
    },
    connections: semaphore,
    ...queries,
    async listen(channel, listener) {
      listeners.add(channel, listener)
      try {
        await sql`listen ${sql.id(channel)}`.execute(queries.tables())
      } catch (error) {
        listeners.remove(channel, listener)
        throw error
      }
      return () => stopListening(channel, listener)
    },
    async close() {
      closed = true
      upkeep.stop()
      await engine.close(semaphore.close())
      // A caller that did not finish in time has prevented the flush for earlier commits.
      group.lost('it was closed')
    },
  }
}

type Acquire = (options: TransactionOptions) => Promise<StoreConnection>

/** Waits for the database connection, and wraps it for the caller. */
function createAcquire({ clock, ...parts }: Omit<Use, 'life'> & { readonly clock: Clock }): Acquire {
  const { engine, semaphore } = parts
  return async (options) => {
    const statementMillisecondsMax =
      options.statementMillisecondsMax ?? (isPatient() ? START_MILLISECONDS_MAX : undefined)
    const patienceMilliseconds = statementMillisecondsMax ?? STATEMENT_MILLISECONDS_MAX
    const deadlineMilliseconds = clock.monotonicMilliseconds() + patienceMilliseconds
    await semaphore.acquire(patienceMilliseconds)
    try {
      const life = await engine.ready(deadlineMilliseconds - clock.monotonicMilliseconds())
      return new CallerConnection({
        connection: engineConnection({ ...parts, life }, patienceMilliseconds),
        clock,
        deadlineMilliseconds,
        statementMillisecondsMax: patienceMilliseconds,
        isFirstStatementOnly: statementMillisecondsMax !== undefined,
      })
    } catch (error) {
      semaphore.release()
      throw error
    }
  }
}

/** One maintenance statement, outside any transaction. */
async function executeAlone(acquire: Acquire, text: string): Promise<readonly Record<string, unknown>[]> {
  const connection = await acquire({ statementMillisecondsMax: UPKEEP_STATEMENT_MILLISECONDS_MAX })
  try {
    return (await connection.execute(text, [])).rows
  } finally {
    await connection.release()
  }
}

async function unlisten(
  queries: Pick<Db, 'transaction'>,
  channel: string,
  listeners: NotificationListeners,
): Promise<void> {
  await queries.transaction(async (transaction) => {
    // A listener may have been added meanwhile.
    if (!listeners.has(channel)) await sql`unlisten ${sql.id(channel)}`.execute(transaction)
  })
}

/** One caller's use of the database connection. */
interface Use {
  readonly engine: EmbeddedEngine
  readonly life: EngineLife
  readonly semaphore: Semaphore
  readonly group: GroupCommit
  readonly corruption: Corruption
}

/** Read-only commands: no function in the schema writes. */
const READING = /^\s*(?:select|begin|commit|rollback)\b/i

/**
 * The only database connection, while this thread instance lives.
 * @param patienceMilliseconds longest that the flush for its commits may take, as any statement from the caller
 */
function engineConnection(use: Use, patienceMilliseconds: number): EngineConnection {
  const { engine, life, semaphore, group, corruption } = use
  const isFlushDeferred = semaphore.waiting > 0
  const mayHaveSeenUnflushed = isFlushDeferred || group.isOpen
  let hasWritten = false
  group.begin(isFlushDeferred)

  async function flushAndRelease(): Promise<void> {
    try {
      const flush = { statements: [{ text: FLUSH_TEXT, parameters: [] }], isFlushDeferred }
      const { failure } = await engine.run(life, flush, patienceMilliseconds)
      if (failure !== undefined) throw failure
      group.flushed()
    } finally {
      semaphore.release()
    }
  }

  return {
    get isAlive() {
      return engine.life === life
    },
    beginText: 'begin',
    limitText: () => undefined,
    run(statements, millisecondsMax) {
      hasWritten ||= statements.some(({ text }) => !READING.test(text))
      return corruption.watch(engine.run(life, { statements, isFlushDeferred }, millisecondsMax))
    },
    async giveBack() {
      if (engine.life !== life) {
        semaphore.release()
        if (mayHaveSeenUnflushed) throw new StoreUnavailable('the embedded store was lost before it had synced')
        return
      }
      if (group.end(hasWritten, semaphore.waiting)) {
        await flushAndRelease()
        return
      }
      const settled = group.settled()
      semaphore.release()
      await settled
    },
  }
}

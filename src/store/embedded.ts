/**
 * The embedded engine of the store: PGlite on a folder, in a thread of its own. One session serves everyone, so calls
 * take turns; a transaction holds its turn from begin to commit. What it promises is written at `Db`; beyond that it
 * survives a crash of the process, not a loss of power, because PGlite never calls fsync. The folder belongs to one
 * process, which `data-lock` sees to.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { CallerSession, type HeldConnection } from './caller-session.ts'
import { type Db, type NotificationListener, STATEMENT_MILLISECONDS_MAX } from './db.ts'
import { EmbeddedEngine, type EngineLife } from './embedded-engine.ts'
import { NotificationListeners } from './notification-listeners.ts'
import { createQueries, type Session, sql, type TransactionOptions } from './sql.ts'
import { TurnQueue } from './turn-queue.ts'

export interface EmbeddedOptions {
  /** The folder PGlite keeps its data in; made when it does not exist. */
  readonly folder: string
  readonly log: Log
  readonly clock: Clock
}

export async function openEmbedded({ folder, log, clock }: EmbeddedOptions): Promise<Db> {
  const listeners = new NotificationListeners(log)
  const turns = new TurnQueue(clock)
  let closed = false
  const engine = new EmbeddedEngine({
    folder,
    log,
    clock,
    listener: {
      onNotification: (channel, payload) => listeners.notify(channel, payload),
      onRestart: () => listeners.reconnected(),
      channels: () => listeners.channels(),
    },
  })

  async function acquire({ statementMillisecondsMax }: TransactionOptions): Promise<Session> {
    const patienceMilliseconds = statementMillisecondsMax ?? STATEMENT_MILLISECONDS_MAX
    const deadlineMilliseconds = clock.monotonicMilliseconds() + patienceMilliseconds
    await turns.take(patienceMilliseconds)
    try {
      const life = await engine.ready(deadlineMilliseconds - clock.monotonicMilliseconds())
      return new CallerSession({
        connection: heldConnection(engine, life, turns),
        clock,
        deadlineMilliseconds,
        statementMillisecondsMax: patienceMilliseconds,
        isFirstStatementOnly: statementMillisecondsMax !== undefined,
      })
    } catch (error) {
      turns.pass()
      throw error
    }
  }

  const queries = createQueries(acquire)

  async function stopListening(channel: string, listener: NotificationListener): Promise<void> {
    listeners.remove(channel, listener)
    if (!closed && !listeners.has(channel)) await unlisten(queries, channel, listeners)
  }

  await engine.start()
  return {
    engine: 'embedded',
    get available() {
      return engine.life !== undefined
    },
    get problem() {
      return engine.problem
    },
    turns,
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
      await engine.close(turns.close())
    },
  }
}

async function unlisten(
  queries: Pick<Db, 'transaction'>,
  channel: string,
  listeners: NotificationListeners,
): Promise<void> {
  await queries.transaction(async (transaction) => {
    // A listener may have been added while this waited for its turn.
    if (!listeners.has(channel)) await sql`unlisten ${sql.id(channel)}`.execute(transaction)
  })
}

/** The only session, for as long as this life of the thread lasts. */
function heldConnection(engine: EmbeddedEngine, life: EngineLife, turns: TurnQueue): HeldConnection {
  return {
    get isAlive() {
      return engine.life === life
    },
    beginText: 'begin',
    limitText: () => undefined,
    run: (text, parameters, millisecondsMax) => engine.run(life, text, parameters, millisecondsMax),
    giveBack: () => turns.pass(),
  }
}

/**
 * The embedded store's thread: PGlite (PostgreSQL in WebAssembly) on one folder. It answers one request at a time
 * with converted rows, so the main thread neither runs queries nor parses rows. Transactions and callers are handled by
 * `caller-connection`. A commit is synced to the disk before its answer, unless the request defers the sync to a later
 * flush. An error that is not PostgreSQL's own (a failed sync, WebAssembly out of memory, a broken folder) ends the
 * thread before any answer, because its memory may be inconsistent. The folder recovers on the next start.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../base/assert.ts'
import type { Outcomes, Statement, StatementOutcome } from './caller-connection.ts'
import { affectedRowsOf, ColumnTypeProblem, namedRows, SESSION_SETTINGS } from './column-types.ts'
import { DurableFiles, openDurably, type PGlite, type Results, requireDurability } from './durable-files.ts'
import { PLAN_SETTING, PreparedStatements } from './prepared-statements.ts'

export interface WorkerStart {
  /** Data folder. An empty or missing one becomes a new database. */
  readonly folder: string
  /** Notification channels to listen on before the first statement. */
  readonly channels: readonly string[]
}

/** A message to the thread. Null asks it to close the folder and end. */
export type WorkerMessage = WorkerRequest | null

export interface WorkerRequest {
  /** Executed in order, up to the first failure. */
  readonly statements: readonly Statement[]
  /** Whether a commit becomes durable only with the next flush. */
  readonly isFlushDeferred: boolean
}

export interface WorkerFailure {
  readonly message: string
  /** Empty when PostgreSQL executed the statement and a result value cannot be converted. */
  readonly sqlState: string
  readonly constraint: string | undefined
}

export type WorkerAnswer =
  | { readonly type: 'ready' }
  /** The last message from an ending thread. */
  | { readonly type: 'broken'; readonly reason: string }
  | ({ readonly type: 'result'; readonly newLogSegments: number; readonly failure?: WorkerFailure } & Pick<
      Outcomes,
      'outcomes'
    >)
  | { readonly type: 'notification'; readonly channel: string; readonly payload: string }

const ROWS_AS_TEXT = { rowMode: 'array' } as const

/** EX_SOFTWARE in sysexits.h: the thread ended after an internal error. */
const BROKEN_EXIT_CODE = 70

const port = parentPort
assert(port !== null, 'the store runs in its own thread')
const { folder, channels } = workerData as WorkerStart
/** The last PANIC or FATAL line in PostgreSQL's log. */
let panic = ''
let isFlushDeferred = false
const files = new DurableFiles(folder, (error) => end(panic || String(error)))
const database = await openDatabase()
const prepared = new PreparedStatements(database)
port.on('message', async (request: WorkerMessage) => {
  if (request === null) {
    await database.close()
    port.close()
    return
  }
  // A rejection here is not caught: it ends the thread, which is the answer to what `execute` throws.
  answer(await execute(request))
})
answer({ type: 'ready' })

function answer(message: WorkerAnswer): void {
  port?.postMessage(message)
}

/** Ends the thread within the failed call, so no answer follows. */
function end(reason: string): never {
  answer({ type: 'broken', reason })
  process.exit(BROKEN_EXIT_CODE)
}

async function openDatabase(): Promise<PGlite> {
  const opened = await openDurably(files, (line) => {
    if (line.includes('PANIC') || line.includes('FATAL')) panic = line.trim()
  })
  // Its own conversions would make floating point from int8 and dates from timestamptz, and differ from PostgreSQL's
  // driver.
  for (const type of Object.keys(opened.parsers)) opened.parsers[type] = (text) => text
  for (const type of Object.keys(opened.serializers)) opened.serializers[type] = (value) => value
  opened.onNotification((channel, payload) => answer({ type: 'notification', channel, payload }))
  await opened.exec(SESSION_SETTINGS)
  await opened.exec(PLAN_SETTING)
  await requireDurability(opened, files)
  for (const channel of channels) await opened.exec(`listen "${channel.replaceAll('"', '""')}"`)
  return opened
}

async function execute({ statements, isFlushDeferred: isDeferred }: WorkerRequest): Promise<WorkerAnswer> {
  const outcomes: StatementOutcome[] = []
  try {
    if (isDeferred !== isFlushDeferred) {
      await database.exec(`set synchronous_commit = ${isDeferred ? 'off' : 'on'}`)
      isFlushDeferred = isDeferred
    }
    for (const statement of statements) outcomes.push(await executeOne(statement))
    return { type: 'result', outcomes, newLogSegments: files.newLogSegments }
  } catch (error) {
    return { type: 'result', outcomes, failure: failureOf(error), newLogSegments: files.newLogSegments }
  }
}

async function executeOne({ text, parameters }: Statement): Promise<StatementOutcome> {
  const raw = parameters.length === 0 ? await executeTexts(text) : await prepared.execute(text, parameters)
  // PGlite may swallow an exception that is not PostgreSQL's. An executed statement has a command.
  if (raw?.command === undefined || raw.command === '') throw new Error('a statement ended without a result')
  const { command } = raw
  if (command === 'CHECKPOINT') files.checkpointed()
  return { rows: namedRows(raw.fields, raw.rows), command, affectedRows: affectedRowsOf(command, raw.rowCount) }
}

/** The simple protocol, as PostgreSQL's driver uses it without parameters: it takes several statements in one text. */
async function executeTexts(text: string): Promise<Results<(string | null)[]> | undefined> {
  const results = await database.exec(text, ROWS_AS_TEXT)
  await prepared.executedOthers(results.map(({ command }) => command ?? ''))
  return results.at(-1) as Results<(string | null)[]> | undefined
}

function failureOf(error: unknown): WorkerFailure {
  if (error instanceof ColumnTypeProblem) return { message: error.message, sqlState: '', constraint: undefined }
  if (!(error instanceof Error)) throw error
  const { severity, code, constraint } = error as Error & { severity?: string; code?: string; constraint?: string }
  if (severity !== 'ERROR' || code === undefined) throw error
  return { message: error.message, sqlState: code, constraint }
}

/**
 * The thread of the embedded store: PGlite, PostgreSQL in WebAssembly, on one folder. It answers one statement at a
 * time with converted rows, so that the thread of the streams neither computes nor parses. It knows no transactions
 * and no callers. An error that is not PostgreSQL's own (WebAssembly out of memory, a broken folder) ends the thread:
 * what is in memory then is worth nothing, and the folder recovers on the next start.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite, type Results } from '@electric-sql/pglite'
import { assert } from '../base/assert.ts'
import type { StatementOutcome, WrittenParameters } from './caller-session.ts'
import { affectedRowsOf, ColumnTypeProblem, namedRows, SESSION_SETTINGS } from './column-types.ts'

export interface WorkerStart {
  /** Data folder; an empty or missing one becomes a new database. */
  readonly folder: string
  /** Notification channels to listen on before the first statement. */
  readonly channels: readonly string[]
}

export interface WorkerRequest {
  /** A statement, or several without parameters; null asks the thread to close the folder and end. */
  readonly text: string | null
  readonly parameters: WrittenParameters
}

export interface WorkerFailure {
  readonly message: string
  /** Empty when it is not PostgreSQL that refused but a value that has no form here. */
  readonly sqlState: string
  readonly constraint: string | undefined
}

export type WorkerAnswer =
  | { readonly type: 'ready' }
  | ({ readonly type: 'result' } & StatementOutcome)
  | { readonly type: 'failure'; readonly failure: WorkerFailure }
  | { readonly type: 'notification'; readonly channel: string; readonly payload: string }

type RawResult = Results<(string | null)[]>

const ROWS_AS_TEXT = { rowMode: 'array' } as const

const port = parentPort
assert(port !== null, 'the store runs in a thread of its own')
const database = await openDatabase(workerData as WorkerStart)
port.on('message', async (request: WorkerRequest) => {
  if (request.text === null) {
    await database.close()
    port.close()
    return
  }
  // A rejection here is nobody's to catch: it ends the thread, which is the answer to what `execute` throws.
  answer(await execute(request.text, request.parameters))
})
answer({ type: 'ready' })

function answer(message: WorkerAnswer): void {
  port?.postMessage(message)
}

async function openDatabase({ folder, channels }: WorkerStart): Promise<PGlite> {
  const opened = await PGlite.create({ dataDir: folder })
  // Its own conversions would make floating point of int8 and dates of timestamptz, and differ from PostgreSQL's driver.
  for (const type of Object.keys(opened.parsers)) opened.parsers[type] = (text) => text
  for (const type of Object.keys(opened.serializers)) opened.serializers[type] = (value) => value
  opened.onNotification((channel, payload) => answer({ type: 'notification', channel, payload }))
  await opened.exec(SESSION_SETTINGS)
  for (const channel of channels) await opened.exec(`listen "${channel.replaceAll('"', '""')}"`)
  return opened
}

async function execute(text: string, parameters: WrittenParameters): Promise<WorkerAnswer> {
  try {
    // Without parameters the simple protocol, as PostgreSQL's driver does: it takes several statements in one text.
    const raw: RawResult =
      parameters.length === 0
        ? ((await database.exec(text, ROWS_AS_TEXT)).at(-1) as RawResult)
        : await database.query(text, [...parameters], ROWS_AS_TEXT)
    const command = raw.command ?? ''
    const rows = namedRows(raw.fields, raw.rows)
    return { type: 'result', rows, command, affectedRows: affectedRowsOf(command, raw.rowCount) }
  } catch (error) {
    return { type: 'failure', failure: failureOf(error) }
  }
}

function failureOf(error: unknown): WorkerFailure {
  if (error instanceof ColumnTypeProblem) return { message: error.message, sqlState: '', constraint: undefined }
  if (!(error instanceof Error)) throw error
  const { severity, code, constraint } = error as Error & { severity?: string; code?: string; constraint?: string }
  if (severity !== 'ERROR' || code === undefined) throw error
  return { message: error.message, sqlState: code, constraint }
}

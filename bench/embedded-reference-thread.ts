/**
 * The reference thread for the embedded store: an unmodified PGlite on a folder, without syncs, checkpoints and vacuum,
 * with 128 MB of shared buffers. Like the store's own thread, it answers one request at a time.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite, type Results } from '@electric-sql/pglite'
import type { Outcomes, Statement, StatementOutcome } from '../src/platform/store/caller-connection.ts'
import { affectedRowsOf, namedRows, SESSION_SETTINGS } from '../src/platform/store/column-types.ts'

export type ReferenceRequest = readonly Statement[]

const database = await PGlite.create({ dataDir: workerData as string })
for (const type of Object.keys(database.parsers)) database.parsers[type] = (text) => text
for (const type of Object.keys(database.serializers)) database.serializers[type] = (value) => value
await database.exec(SESSION_SETTINGS)

// An error ends the thread, and with it the benchmark.
parentPort?.on('message', async (statements: ReferenceRequest) => {
  const outcomes: StatementOutcome[] = []
  for (const statement of statements) outcomes.push(await execute(statement))
  parentPort?.postMessage({ outcomes } satisfies Outcomes)
})
parentPort?.postMessage('ready')

async function execute({ text, parameters }: Statement): Promise<StatementOutcome> {
  const raw =
    parameters.length === 0
      ? (await database.exec(text, { rowMode: 'array' })).at(-1)
      : await database.query(text, [...parameters], { rowMode: 'array' })
  const { fields, rows, rowCount, command = '' } = raw as Results<(string | null)[]>
  return { rows: namedRows(fields, rows), command, affectedRows: affectedRowsOf(command, rowCount) }
}

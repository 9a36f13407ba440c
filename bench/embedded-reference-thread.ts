/**
 * The reference thread for the embedded store: an unmodified PGlite on a folder, without syncs, checkpoints and vacuum,
 * with 128 MB of shared buffers. Like the store's own thread, it answers one statement at a time.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite, type Results } from '@electric-sql/pglite'
import { affectedRowsOf, namedRows, SESSION_SETTINGS } from '../src/platform/store/column-types.ts'

export interface ReferenceRequest {
  readonly text: string
  readonly parameters: readonly (string | Uint8Array | null)[]
}

const database = await PGlite.create({ dataDir: workerData as string })
for (const type of Object.keys(database.parsers)) database.parsers[type] = (text) => text
for (const type of Object.keys(database.serializers)) database.serializers[type] = (value) => value
await database.exec(SESSION_SETTINGS)

// An error ends the thread, and with it the benchmark.
parentPort?.on('message', async ({ text, parameters }: ReferenceRequest) => {
  const raw =
    parameters.length === 0
      ? (await database.exec(text, { rowMode: 'array' })).at(-1)
      : await database.query(text, [...parameters], { rowMode: 'array' })
  const { fields, rows, rowCount, command = '' } = raw as Results<(string | null)[]>
  const affectedRows = affectedRowsOf(command, rowCount)
  parentPort?.postMessage({ rows: namedRows(fields, rows), command, affectedRows })
})
parentPort?.postMessage('ready')

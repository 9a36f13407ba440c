/**
 * A process that only opens an embedded store, to measure its start: the built store, or an unmodified PGlite in a
 * thread. Arguments: `embedded` or `reference`, the folder, and `close` or `leave`. Two seconds after the store has
 * answered its first statement it writes one line of JSON: milliseconds and CPU milliseconds until that answer, and the
 * resident memory now. `leave` ends it without closing the folder, as a kill does.
 */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

const SETTLE_MILLISECONDS = 2_000
/** A busy machine increases the figures, but must not end the benchmark. */
const STATEMENT_MILLISECONDS_MAX = 60_000
const REFERENCE = `
  import('@electric-sql/pglite').then(async ({ PGlite }) => {
    const { parentPort, workerData } = require('node:worker_threads')
    const database = await PGlite.create({ dataDir: workerData })
    await database.query('select 1')
    parentPort.once('message', () => database.close().then(() => process.exit(0)))
    parentPort.postMessage('ready')
  })`

const [setUp, folder, end] = process.argv.slice(2)
const start = performance.now()
const close = setUp === 'embedded' ? await openStore() : await openReference()
const milliseconds = performance.now() - start
const { user, system } = process.cpuUsage()
await pause(SETTLE_MILLISECONDS)
const processorMilliseconds = (user + system) / 1_000
console.log(JSON.stringify({ milliseconds, processorMilliseconds, memoryBytes: process.memoryUsage.rss() }))
if (end === 'close') await close()
process.exit(0)

async function openStore() {
  const [{ openEmbedded }, { createLog }, { createSystemClock }, { sql }] = await Promise.all([
    import('../dist/store/embedded.js'),
    import('../dist/base/log.js'),
    import('../dist/base/clock.js'),
    import('../dist/store/sql.js'),
  ])
  const db = await openEmbedded({ folder, log: createLog('error'), clock: createSystemClock() })
  await db.transaction((transaction) => sql`select 1`.execute(transaction), {
    statementMillisecondsMax: STATEMENT_MILLISECONDS_MAX,
  })
  return () => db.close()
}

async function openReference() {
  const thread = new Worker(REFERENCE, { eval: true, workerData: folder })
  await once(thread, 'message')
  return async () => {
    thread.postMessage('close')
    await once(thread, 'exit')
  }
}

/** A process that writes rows one after the other and prints each once it is acknowledged. Argument: the folder. */
import { createLog } from '../../src/platform/base/log.ts'
import { openEmbedded } from '../../src/platform/store/embedded.ts'
import { sql } from '../../src/platform/store/sql.ts'
import { createSlowClock } from './slow-clock.ts'

const db = await openEmbedded({
  folder: process.argv[2] as string,
  log: createLog('silent'),
  clock: createSlowClock(),
})
await sql`create table if not exists survivor (n int primary key, half int)`.execute(db.tables())
for (let n = 0; ; n++) {
  await db.transaction(async (transaction) => {
    await sql`insert into survivor (n) values (${n})`.execute(transaction)
    await sql`update survivor set half = ${n} where n = ${n}`.execute(transaction)
  })
  process.stdout.write(`${n}\n`)
}

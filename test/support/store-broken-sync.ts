/**
 * A process whose disk fails to sync from some moment on, with a store in the folder named by its argument. It prints
 * the error and ends with code 70, as the store's thread does. The output `answered` would mean a lost commit.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DurableFiles, openDurably } from '../../src/platform/store/durable-files.ts'

const files = new DurableFiles(process.argv[2] as string, (error) => {
  fs.writeSync(1, `${error}\n`)
  process.exit(70)
})
const db = await openDurably(files)
await db.exec('create table mark (n int)')
fs.fsyncSync = () => {
  throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' })
}
syncBuiltinESMExports()
await db.exec('insert into mark values (1)')
fs.writeSync(1, 'answered\n')

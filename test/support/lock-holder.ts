/** A process that takes a folder's lock, reports it on stdout, and keeps it until it is ended. Argument: the folder. */
import { createLog } from '../../src/platform/base/log.ts'
import { acquireDataLock, DataFolderHeld, type DataLock } from '../../src/platform/store/data-lock.ts'

let lock: DataLock | undefined
// Every contender is started first and tries on command, so that the attempts really coincide.
process.stdout.write('started\n')
process.stdin.once('data', async () => {
  try {
    lock = await acquireDataLock(process.argv[2] as string, { log: createLog('error') })
    process.stdout.write('held\n')
  } catch (error) {
    if (!(error instanceof DataFolderHeld)) throw error
    process.stdout.write(`refused by ${error.holder.pid}\n`)
  }
})
process.once('SIGTERM', async () => {
  await lock?.release()
  process.exit(0)
})

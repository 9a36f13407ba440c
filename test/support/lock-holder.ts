/** A process that takes the lock of a folder, says so on stdout, and keeps it until it is ended. Argument: the folder. */
import { acquireDataLock, DataFolderHeld } from '../../src/store/data-lock.ts'

// Every contender is started first and tries when it is told to, so that they really meet.
process.stdout.write('started\n')
process.stdin.once('data', async () => {
  try {
    await acquireDataLock(process.argv[2] as string)
    process.stdout.write('held\n')
  } catch (error) {
    if (!(error instanceof DataFolderHeld)) throw error
    process.stdout.write(`refused by ${error.pid}\n`)
  }
})

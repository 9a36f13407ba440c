/** The thread that reads one past book: decompressing and parsing a recording would block the event loop. */
import { parentPort, workerData } from 'node:worker_threads'
import { type NotRecorded, type PastBook, type PastBookRequest, readPastBook } from './past-book.ts'

/** The only message of the thread; an error of the reading is its error. */
export type PastBookAnswer = PastBook | NotRecorded

parentPort?.postMessage((await readPastBook(workerData as PastBookRequest)) satisfies PastBookAnswer)

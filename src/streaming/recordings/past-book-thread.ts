/** The thread that reads one past book: decompressing and parsing a recording would block the event loop. */
import { parentPort, workerData } from 'node:worker_threads'
import { type NotRecorded, type PastBook, type PastBookRequest, readPastBook } from './past-book.ts'

/** The thread's only message. A read error becomes the thread's error. */
export type PastBookAnswer = PastBook | NotRecorded

parentPort?.postMessage((await readPastBook(workerData as PastBookRequest)) satisfies PastBookAnswer)

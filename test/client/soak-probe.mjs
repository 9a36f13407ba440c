/**
 * Loaded before the program of the README, which is not changed for it: prints every book that the program opens to stderr,
 * five times a second, and the memory of its process after a collection, every ten seconds.
 */
import { createHash } from 'node:crypto'
import { StreamClient } from '@tidegate/client'

const BOOK_MILLISECONDS = 200
const MEMORY_MILLISECONDS = 10_000

const print = (line) => process.stderr.write(`${JSON.stringify(line)}\n`)
const pairs = (levels) => levels.map(({ price, amount }) => [price, amount])
const { book: open } = StreamClient.prototype

StreamClient.prototype.book = async function (...args) {
  const book = await open.apply(this, args)
  setInterval(() => {
    const hash = createHash('sha256').update(JSON.stringify([pairs(book.bids()), pairs(book.asks())]))
    print({ book: { market: book.market, status: book.status, time: book.time, hash: hash.digest('hex') } })
  }, BOOK_MILLISECONDS).unref()
  return book
}
setInterval(() => {
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  print({ memory: { heapBytes: heapUsed, residentBytes: rss } })
}, MEMORY_MILLISECONDS).unref()

/**
 * The client of the soak: the books, the best prices and the executions of two markets. Once every 200 ms it prints the books
 * and the best prices as it has them, every ten seconds its memory after a collection, and the events of its connection as they
 * come.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Book, type Level, StreamClient, type TopOfBook } from '../../packages/client/src/index.ts'

const BOOK_MILLISECONDS = 200
const MEMORY_MILLISECONDS = 10_000

const credentials = JSON.parse(readFileSync(process.env.TIDEGATE_CREDENTIALS as string, 'utf8'))
const print = (line: object): void => console.log(JSON.stringify(line))
const client = new StreamClient({ credentials, onEvent: (event) => print({ event }) })
const books = new Map<string, Book>()
const tops = new Map<string, TopOfBook>()
const counts = { changes: 0, tops: 0, executions: 0, gaps: 0 }

async function followBook(market: string): Promise<void> {
  const book = await client.book(market)
  books.set(market, book)
  for await (const _change of book) counts.changes++
}

async function followExecutions(market: string): Promise<void> {
  for await (const { type } of await client.executions(market)) counts[type === 'GAP' ? 'gaps' : 'executions']++
}

async function followTop(market: string): Promise<void> {
  const top = await client.topOfBook(market)
  tops.set(market, top)
  for await (const _change of top) counts.tops++
}

/** Again and again: a market that is removed may be added again. */
async function persist(follow: () => Promise<void>): Promise<void> {
  while (true) {
    await follow().catch((error) => print({ ended: String(error) }))
    await sleep(1_000)
  }
}

const pairs = (levels: readonly Level[]) => levels.map(({ price, amount }) => [price, amount])

for (const market of ['BTCUSD', 'ETHUSD']) {
  void persist(() => followBook(market))
  void persist(() => followTop(market))
  void persist(() => followExecutions(market))
}
setInterval(() => {
  for (const book of books.values()) {
    const { market, status, time } = book
    const hash = createHash('sha256').update(JSON.stringify([pairs(book.bids()), pairs(book.asks())]))
    print({ book: { market, status, time, hash: hash.digest('hex') } })
  }
  for (const { market, status, time, bestBid, bestAsk } of tops.values())
    print({ top: { market, status, time, best: `${bestBid?.price} ${bestAsk?.price}` } })
}, BOOK_MILLISECONDS)
setInterval(() => {
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  print({ memory: { heapBytes: heapUsed, residentBytes: rss, ...counts } })
}, MEMORY_MILLISECONDS)

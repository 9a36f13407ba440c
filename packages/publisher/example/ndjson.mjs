/**
 * Publishes what another program writes to standard input, one JSON object per line: a complete adapter, and the pattern
 * for others. Environment: MARKETS=BTCUSD,ETHUSD DECIMALS=2,8 INGEST_URL AUTH_URL CLIENT_ID TIDEGATE_CLIENT_SECRET
 *
 *     {"market":"BTCUSD","full":true,"bids":[["60000.1","0.25"]],"asks":[["60001","1"]]}
 *     {"market":"BTCUSD","bids":[["60000.1","0"]],"trades":[{"id":"1","side":"buy","price":"60001","amount":"0.1"}]}
 */
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'
import { Publisher } from '../publisher.mjs'
import { logToStandardError as log } from '../runtime.mjs'

const { MARKETS = '', DECIMALS = '2,8', INGEST_URL = '', AUTH_URL = '', CLIENT_ID = '' } = process.env
const [price_decimals = 0, amount_decimals = 0] = DECIMALS.split(',').map(Number)
const instrument = { price_decimals, amount_decimals, state: /** @type {const} */ ('OPEN'), reason: '' }
const epoch = `ndjson-${new Date().toISOString().replaceAll(/\W/g, '')}-${process.pid}`
const newBook = () => ({ bids: new Map(), asks: new Map(), isKnown: false })
const books = new Map(MARKETS.split(',').map((market) => [market, newBook()]))
const levelsOf = (/** @type {Map<string, string>} */ side) => [...side].map(([price, amount]) => ({ price, amount }))
const setLevel = (
  /** @type {Map<string, string>} */ side,
  /** @type {string} */ price,
  /** @type {string} */ amount,
) => (/^[0.]+$/.test(amount) ? side.delete(price) : side.set(price, amount))
const bookOf = (/** @type {string} */ market) => books.get(market) ?? newBook()

const flow = new EventEmitter()
const publisher = new Publisher({
  url: INGEST_URL,
  authUrl: AUTH_URL,
  clientId: CLIENT_ID,
  clientSecret: process.env.TIDEGATE_CLIENT_SECRET ?? '',
  markets: [...books.keys()],
  snapshotOf(market) {
    const { bids, asks } = bookOf(market)
    return { time: new Date().toISOString(), instrument, bids: levelsOf(bids), asks: levelsOf(asks) }
  },
  onDrained: () => flow.emit('drained'),
  onRevoked: () => process.exit(1),
  log,
})
for (const market of books.keys()) publisher.begin(market, epoch)
publisher.start()

for await (const line of createInterface({ input: process.stdin })) {
  const { market, full = false, bids = [], asks = [], trades: executions = [] } = JSON.parse(line)
  const book = bookOf(market)
  if (full) Object.assign(book, { ...newBook(), isKnown: true })
  for (const [price, amount] of bids) setLevel(book.bids, price, amount)
  for (const [price, amount] of asks) setLevel(book.asks, price, amount)
  const changes = { bids: levelsOf(new Map(bids)), asks: levelsOf(new Map(asks)), executions }
  if (full) publisher.snapshot(market)
  else if (book.isKnown) publisher.update(market, { time: new Date().toISOString(), ...changes })
  // Nothing is read until Tidegate can take more.
  if (publisher.isFull) await once(flow, 'drained')
}
await publisher.stop()

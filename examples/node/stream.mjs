/**
 * Keeps the book of one market and prints its best prices whenever they change, with the client of packages/client: it
 * checks and repairs the book, gets tokens, and connects again.
 *
 *     node stream.mjs BTCUSD [demo-client.json]
 *
 * The credentials file is the second argument, or TIDEGATE_CREDENTIALS, or data/demo-client.json. Elsewhere than in this
 * repository: npm install PATH/packages/client, and with Node.js 20 also npm install ws. For a certificate from a private
 * CA: export NODE_EXTRA_CA_CERTS=ca.pem. Press Ctrl-C to stop.
 */
import { readFileSync } from 'node:fs'
import { StreamClient } from '@tidegate/client'

const [market, path = process.env.TIDEGATE_CREDENTIALS ?? 'data/demo-client.json'] = process.argv.slice(2)
const credentials = JSON.parse(readFileSync(path, 'utf8'))
const client = new StreamClient({
  credentials,
  onEvent: ({ type, reason }) => type === 'DISCONNECTED' && console.error(reason),
})

try {
  let shown = ''
  const book = await client.book(market)
  for await (const { status } of book) {
    const best = `${textOf(book.bestBid)} ${textOf(book.bestAsk)}`
    // Only a LIVE book is a market: any other is old, or has no source.
    if (status === 'LIVE' && best !== shown) console.log(`${book.time} ${market} ${best}`)
    shown = best
  }
} catch (error) {
  // What cannot be repaired: the message says what to do.
  console.error(error.message)
  process.exitCode = 1
}

function textOf(level) {
  return level === undefined ? '-' : `${level.price} x ${level.amount}`
}

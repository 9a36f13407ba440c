/**
 * The same stream with nothing installed: Node's own WebSocket. Like a browser's it cannot set headers, so the token
 * comes as a subprotocol. Prints each trade and each change of the best prices of one market, until the connection ends.
 *
 *     node stream-builtin.mjs BTCUSD [demo-client.json]                              Node.js 22 or later
 *     node --experimental-websocket stream-builtin.mjs BTCUSD [demo-client.json]     Node.js 20
 *
 * The credentials file is the second argument, else TIDEGATE_CREDENTIALS, else data/demo-client.json. For a certificate
 * of your own authority: export NODE_EXTRA_CA_CERTS=ca.pem.
 */
import { readFile } from 'node:fs/promises'
import { fetchToken } from './token.mjs'

const [market, path = process.env.TIDEGATE_CREDENTIALS ?? 'data/demo-client.json'] = process.argv.slice(2)
const credentials = JSON.parse(await readFile(path, 'utf8'))
const token = await fetchToken(credentials)

// The first is what the service selects. The second carries the token; it is never selected and never sent back.
const socket = new WebSocket(`${credentials.ws_url}/`, ['tidegate.default', `bearer.${token}`])

socket.addEventListener('open', () => {
  console.log(`open, ${socket.protocol}`)
  const channels = ['market_data.top_of_book', 'execution_data'].map((type) => ({ type, params: { market } }))
  socket.send(JSON.stringify({ type: 'subscribe', channels }))
})

socket.addEventListener('message', ({ data }) => {
  const { channel, payload, channels } = JSON.parse(data)
  if (channel === 'execution_data') {
    console.log(`${payload.executed_at} ${market} trade ${payload.price} x ${payload.amount}`)
  } else if (channel === 'market_data.top_of_book') {
    const [bid, ask] = [payload.bids[0], payload.asks[0]].map((level) =>
      level ? `${level.price} x ${level.amount}` : '-',
    )
    console.log(`${payload.timestamp} ${market} top ${bid} ${ask}`)
  } else {
    const refused = channels?.find((entry) => entry.error !== undefined)
    if (refused !== undefined) console.error(`${refused.error}: ${refused.message}`)
  }
})

socket.addEventListener('close', ({ code, reason }) => {
  console.error(`closed with ${code} ${reason}`)
  process.exitCode = code === 1000 ? 0 : 1
})

/**
 * Streams without dependencies, through Node's built-in WebSocket. It cannot set headers (nor can a browser's), so the
 * token is sent as a subprotocol. Prints each trade and each change of the best prices of one market, and reconnects.
 *
 *     node stream-builtin.mjs BTCUSD [demo-client.json]                              Node.js 22 or later
 *     node --experimental-websocket stream-builtin.mjs BTCUSD [demo-client.json]     Node.js 20
 *
 * The credentials file is the second argument, or TIDEGATE_CREDENTIALS, or data/demo-client.json. For a certificate
 * from a private CA: export NODE_EXTRA_CA_CERTS=ca.pem. Press Ctrl-C to stop.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fetchToken } from './token.mjs'

/** Heartbeats are sent every second by default. A connection without any message for this long is considered lost. */
const SILENCE_MILLISECONDS = 15_000
const BACKOFF_SECONDS_MAX = 30
/** Close codes after which reconnecting would fail in the same way. */
const FINAL_CODES = new Set([1002, 1007, 1009, 4003])

const [market, path = process.env.TIDEGATE_CREDENTIALS ?? 'data/demo-client.json'] = process.argv.slice(2)
const credentials = JSON.parse(await readFile(path, 'utf8'))

for (let failures = 0; ; failures++) {
  let retryAfterSeconds = 0
  try {
    // Each connection uses a new token: after 4001 the previous token is no longer accepted.
    const token = await fetchToken(credentials)
    const { code, reason, hadData } = await readStream(token)
    if (FINAL_CODES.has(code)) fail(`closed with ${code} ${reason}`)
    console.error(`closed with ${code} ${reason}`)
    if (hadData) failures = 0
    // This WebSocket does not report the status of a refused handshake; a plain HTTP request with the token does.
    else if (await isForbidden(token)) fail('the handshake was answered 403')
  } catch (error) {
    if (error.isFinal) fail(error.message)
    console.error(`no connection: ${error.message}`)
    retryAfterSeconds = error.retryAfterSeconds || 0
  }
  // Backoff with jitter, so that after a restart of the service not all clients reconnect at the same moment.
  const backoff = Math.random() * Math.min(BACKOFF_SECONDS_MAX, 2 ** failures)
  await sleep((retryAfterSeconds + backoff) * 1_000)
}

/** Runs one connection. Resolves when it has ended, or when it has been silent for too long. */
function readStream(token) {
  return new Promise((resolve) => {
    // The service selects the first subprotocol. The second carries the token; it is never selected or sent back.
    const socket = new WebSocket(`${credentials.ws_url}/`, ['tidegate.default', `bearer.${token}`])
    const subscribe = (channels) => socket.send(JSON.stringify({ type: 'subscribe', channels }))
    let hadData = false
    const end = (code, reason) => {
      clearTimeout(silence)
      resolve({ code, reason, hadData })
    }
    const silence = setTimeout(() => {
      socket.close()
      end(1006, 'silent for too long')
    }, SILENCE_MILLISECONDS)
    socket.addEventListener('open', () => {
      console.log(`open, ${socket.protocol}`)
      const channels = ['market_data.top_of_book', 'execution_data'].map((type) => ({ type, params: { market } }))
      subscribe([...channels, { type: 'heartbeat' }])
    })
    socket.addEventListener('message', ({ data }) => {
      silence.refresh()
      const message = JSON.parse(data)
      if (message.channel === undefined) return onReply(message, subscribe, () => socket.close())
      hadData = true
      show(message)
    })
    socket.addEventListener('close', ({ code, reason }) => end(code, reason))
    // Node.js 20 reports nothing else about a refused handshake.
    socket.addEventListener('error', () => end(1006, 'not reachable, or refused'))
  })
}

function show({ channel, payload }) {
  if (channel === 'execution_data') {
    console.log(`${payload.executed_at} ${market} trade ${payload.price} x ${payload.amount}`)
  } else if (channel === 'market_data.top_of_book') {
    const [bid, ask] = [payload.bids[0], payload.asks[0]].map((level) =>
      level ? `${level.price} x ${level.amount}` : '-',
    )
    console.log(`${payload.timestamp} ${market} top ${bid} ${ask}`)
  }
}

/** Handles the reply to a request. The program ends only when its request cannot succeed. */
function onReply(reply, subscribe, reconnect) {
  // The market was removed or changed: subscribe again. If it was removed, the new subscription is refused.
  if (reply.type === 'unsubscribe') return subscribe(reply.channels.map(({ type, params }) => ({ type, params })))
  for (const { error, message } of [reply, ...(reply.channels ?? [])]) {
    if (error === undefined || error === 'NO_EFFECT_ACTION') continue
    if (error !== 'INTERNAL_SERVER_ERROR') fail(`${error}: ${message}`)
    console.error(`${error}: ${message}`)
    return reconnect()
  }
}

/** Whether the service refuses this client access to the stream. */
async function isForbidden(token) {
  const address = credentials.ws_url.replace(/^ws/, 'http')
  const headers = { authorization: `Bearer ${token}` }
  const { status } = await fetch(`${address}/`, { headers, signal: AbortSignal.timeout(10_000) })
  return status === 403
}

function fail(message) {
  console.error(message)
  process.exit(1)
}

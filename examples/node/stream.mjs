/**
 * Keeps the book of one market and prints its best prices whenever they change.
 *
 *     npm install ws
 *     node stream.mjs BTCUSD [demo-client.json]
 *
 * The credentials file is the second argument, or TIDEGATE_CREDENTIALS, or data/demo-client.json. For a certificate
 * from a private CA: export NODE_EXTRA_CA_CERTS=ca.pem. Press Ctrl-C to stop. Node.js 20 or later.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { Book } from './book.mjs'
import { fetchToken } from './token.mjs'

/** Heartbeats are sent every second by default. A connection without any message for this long is considered lost. */
const SILENCE_MILLISECONDS = 15_000
const BACKOFF_SECONDS_MAX = 30
/** Close codes after which reconnecting would fail in the same way. */
const FINAL_CODES = new Set([1002, 1007, 1009, 4003])

const [market, path = process.env.TIDEGATE_CREDENTIALS ?? 'data/demo-client.json'] = process.argv.slice(2)
if (market === undefined) fail('usage: stream.mjs MARKET [CREDENTIALS]')
const credentials = JSON.parse(await readFile(path, 'utf8'))

for (let failures = 0; ; failures++) {
  let retryAfterSeconds = 0
  try {
    const token = await fetchToken(credentials)
    const { code, reason, hadData } = await readStream(token)
    if (FINAL_CODES.has(code)) fail(`closed with ${code} ${reason}`)
    console.error(`closed with ${code} ${reason}`)
    if (hadData) failures = 0
  } catch (error) {
    if (error.isFinal) fail(error.message)
    console.error(`no connection: ${error.message}`)
    retryAfterSeconds = error.retryAfterSeconds || 0
  }
  // Backoff with jitter, so that after a restart of the service not all clients reconnect at the same moment.
  const backoff = Math.random() * Math.min(BACKOFF_SECONDS_MAX, 2 ** failures)
  await sleep((retryAfterSeconds + backoff) * 1_000)
}

/** Runs one connection. Resolves when it has ended. */
function readStream(token) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const socket = new WebSocket(`${credentials.ws_url}/`, { headers })
    const channels = [{ type: 'market_data', params: { market } }, { type: 'heartbeat' }]
    const subscribe = (entries) => socket.send(JSON.stringify({ type: 'subscribe', channels: entries }))
    const book = new Book()
    let hadData = false
    let shown = ''
    const silence = setTimeout(() => socket.terminate(), SILENCE_MILLISECONDS)
    socket.on('open', () => subscribe(channels))
    socket.on('message', (text) => {
      silence.refresh()
      const message = JSON.parse(text)
      if (message.channel === undefined) onReply(message, subscribe, () => socket.close())
      if (message.channel !== 'market_data') return
      hadData = true
      book.apply(message.payload)
      const best = book.bestText()
      if (best !== shown) console.log(`${book.time} ${market} ${best}`)
      shown = best
    })
    socket.on('unexpected-response', (request, response) => {
      request.destroy()
      const error = new Error(`the handshake was refused with status ${response.statusCode}`)
      // 403: this client may not stream. 401: the token has expired. 429 and 503: retry later.
      const retryAfterSeconds = Number(response.headers['retry-after'])
      reject(Object.assign(error, { isFinal: response.statusCode === 403, retryAfterSeconds }))
    })
    socket.on('error', reject)
    socket.on('close', (code, reason) => {
      clearTimeout(silence)
      resolve({ code, reason, hadData })
    })
  })
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

function fail(message) {
  console.error(message)
  process.exit(1)
}

// A publisher that connects to Tidegate's ingest listener: one market whose book changes ten times a second.
//     npm install ws
//     TOKEN=… node push.mjs BTCUSD ws://127.0.0.1:9443/
// Instead of TOKEN: TOKEN_URL, CLIENT_ID and CLIENT_SECRET of a client with the scope exchange:publish_marketdata.
import { randomBytes } from 'node:crypto'
import { WebSocket } from 'ws'

const [market = 'BTCUSD', url = 'ws://127.0.0.1:9443/'] = process.argv.slice(2)
const { TOKEN, TOKEN_URL, CLIENT_ID, CLIENT_SECRET } = process.env
const KEPT_MESSAGES = 10_000
const UNSENT_BYTES_MAX = 8 * 1024 * 1024
const instrument = { price_decimals: 2, amount_decimals: 4, state: 'OPEN', reason: '' }

// The engine: replace it by yours. Prices are cents, amounts hundredths.
const book = { bids: new Map([[9990, 500]]), asks: new Map([[10010, 500]]) }
const epoch = `run-${randomBytes(6).toString('hex')}`
let seq = 0
let trades = 0
let socket // The connection, once the server has reported what it accepted.
const past = [] // The last messages, to continue after a reconnect.
const text = (value) => `${Math.floor(value / 100)}.${String(value % 100).padStart(2, '0')}`
const level = ([price, amount]) => ({ price: text(price), amount: amount === 0 ? '0' : text(amount) })
const time = () => new Date().toISOString()
const publication = (payload) =>
  JSON.stringify({ channel: 'publication', payload: { market, time: time(), ...payload }, stream: { epoch, seq } })

function snapshot() {
  return publication({ type: 'SNAPSHOT', instrument, bids: [...book.bids].map(level), asks: [...book.asks].map(level) })
}

function step() {
  const side = Math.random() < 0.5 ? 'bids' : 'asks'
  const offset = 1 + Math.floor(Math.random() * 10)
  const price = side === 'bids' ? 10_000 - offset : 10_000 + offset
  const before = book[side].get(price)
  const executions = []
  if (before !== undefined) {
    trades++
    executions.push({ id: `t${trades}`, side: side === 'bids' ? 'sell' : 'buy', ...level([price, before]) })
  }
  const amount = before === undefined ? 1 + Math.floor(Math.random() * 1000) : 0
  if (amount === 0) book[side].delete(price)
  else book[side].set(price, amount)
  seq++
  const message = publication({ type: 'UPDATE', [side]: [level([price, amount])], executions })
  past.push({ seq, message })
  if (past.length > KEPT_MESSAGES) past.shift()
  send(message)
}

// A server that does not read makes the engine wait for a new connection, not for memory.
function send(message) {
  if (socket?.readyState !== WebSocket.OPEN) return
  if (socket.bufferedAmount > UNSENT_BYTES_MAX) socket.terminate()
  else socket.send(message)
}

/** Continues after the message that the server accepted last, or begins with a SNAPSHOT. */
function begin(connection, accepted) {
  socket = connection
  const isKept = accepted?.epoch === epoch && accepted.seq < seq && accepted.seq + 1 >= (past[0]?.seq ?? 1)
  const follow = isKept ? past.filter((one) => one.seq > accepted.seq).map(({ message }) => message) : [snapshot()]
  for (const message of follow) send(message)
}

async function token() {
  if (TOKEN !== undefined) return TOKEN
  const form = { grant_type: 'client_credentials', client_id: CLIENT_ID, client_secret: CLIENT_SECRET }
  const body = new URLSearchParams({ ...form, scope: 'exchange:publish_marketdata' })
  // A redirected request would take the secret to another address.
  const answer = await fetch(TOKEN_URL, { method: 'POST', body, redirect: 'manual' })
  if (!answer.ok) throw new Error(`the token request was answered with ${answer.status}`)
  return (await answer.json()).access_token
}

async function connect() {
  const headers = { authorization: `Bearer ${await token()}` }
  const connection = new WebSocket(url, 'tidegate.publish.v1', { headers, handshakeTimeout: 10_000 })
  return new Promise((resolve) => {
    connection.on('error', (error) => console.error(error.message))
    connection.on('close', (code, reason) => resolve(`closed with ${code} ${reason}`))
    connection.on('message', (data) => {
      const { type, markets = [], message } = JSON.parse(data)
      const accepted = markets.find((one) => one.market === market)
      if (type === 'accepted' && socket !== connection) begin(connection, accepted)
      else if (type === 'snapshot_request') send(snapshot())
      else if (type === 'rejected') console.error(message)
    })
  })
}

setInterval(step, 100)
setInterval(() => send(JSON.stringify({ channel: 'heartbeat', payload: { timestamp: time() } })), 2_000)
for (;;) {
  const end = await connect().catch((error) => error.message)
  console.log(end)
  if (end.startsWith('closed with 4003')) process.exit(1) // Access was revoked: only a person can restore it.
  await new Promise((resolve) => setTimeout(resolve, 500 + Math.random() * 1_000))
}

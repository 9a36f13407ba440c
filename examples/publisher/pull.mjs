// A publisher to which Tidegate connects: one market whose book changes ten times a second.
//     npm install ws
//     TOKEN=secret node pull.mjs BTCUSD 9001
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'

const [market = 'BTCUSD', port = '9001'] = process.argv.slice(2)
const { TOKEN = 'secret' } = process.env
const KEPT_MESSAGES = 10_000
const UNSENT_BYTES_MAX = 8 * 1024 * 1024
const instrument = { price_decimals: 2, amount_decimals: 4, state: 'OPEN', reason: '' }

// The engine: replace it by yours. Prices are cents, amounts hundredths.
const book = { bids: new Map([[9990, 500]]), asks: new Map([[10010, 500]]) }
const epoch = `run-${randomBytes(6).toString('hex')}`
let seq = 0
let trades = 0
const past = [] // The last messages, for `resume`.

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
  for (const client of sockets.clients) if (client.isSubscribed) send(client, message)
}

// A client that does not read is closed: it comes back and resumes.
function send(client, message) {
  if (client.bufferedAmount > UNSENT_BYTES_MAX) client.terminate()
  else client.send(message)
}

/** Answers one entry of a request, and returns the messages that follow the acknowledgement. */
function answer(client, action, { type, params = {} }) {
  if (type === 'heartbeat') return { entry: { type, success: true }, follow: [] }
  if (type !== 'publication' || params.market !== market) {
    return { entry: { type, params, success: false, message: 'unknown channel or market' }, follow: [] }
  }
  client.isSubscribed = action === 'subscribe'
  const entry = { type, params: { market }, success: true }
  if (action === 'unsubscribe') return { entry, follow: [] }
  const [, after] = new RegExp(`^${epoch}\\.([0-9]{1,15})$`).exec(params.resume ?? '') ?? []
  const isKept = after !== undefined && Number(after) <= seq && Number(after) + 1 >= (past[0]?.seq ?? 1)
  const follow = isKept ? past.filter((one) => one.seq > Number(after)).map(({ message }) => message) : [snapshot()]
  return { entry: { ...entry, resumed: isKept }, follow }
}

const server = createServer((_request, response) => response.writeHead(404).end())
const sockets = new WebSocketServer({
  server,
  maxPayload: 65_536,
  handleProtocols: (offered) => (offered.has('tidegate.v1') ? 'tidegate.v1' : false),
  verifyClient: ({ req }) => req.headers.authorization === `Bearer ${TOKEN}`,
})
sockets.on('connection', (client) => {
  client.on('error', () => client.terminate())
  client.on('message', (data) => {
    try {
      const { type, channels } = JSON.parse(data)
      if (type !== 'subscribe' && type !== 'unsubscribe') throw new Error('unknown request')
      const answers = channels.map((entry) => answer(client, type, entry))
      send(client, JSON.stringify({ type, channels: answers.map(({ entry }) => entry) }))
      for (const message of answers.flatMap(({ follow }) => follow)) send(client, message)
    } catch (error) {
      send(client, JSON.stringify({ type: 'error', message: String(error) }))
    }
  })
})
setInterval(step, 100)
setInterval(() => {
  const heartbeat = JSON.stringify({ channel: 'heartbeat', payload: { timestamp: time() } })
  for (const client of sockets.clients) send(client, heartbeat)
}, 2_000)
server.listen(Number(port), '127.0.0.1', () => console.log(`listening on ws://127.0.0.1:${server.address().port}/`))

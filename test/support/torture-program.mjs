/** A client program for `torture`'s tests: it subscribes to one market, and ends when its connection does. */
import { readFileSync } from 'node:fs'
import { WebSocket } from 'ws'

const credentials = JSON.parse(readFileSync(process.env.TIDEGATE_CREDENTIALS, 'utf8'))
const { client_id, client_secret } = credentials
const scope = 'exchange:read_aggregated_marketdata_stream'
const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
const answer = await fetch(`${credentials.auth_url}/oauth2/token`, { method: 'POST', body })
const { access_token: token } = await answer.json()
const socket = new WebSocket(`${credentials.ws_url}/`, { headers: { authorization: `Bearer ${token}` } })
socket.on('open', () => {
  const channels = [{ type: 'market_data', params: { market: 'BTCUSD' } }]
  socket.send(JSON.stringify({ type: 'subscribe', channels }))
})
socket.on('close', (code) => {
  console.error(`ended by ${code}`)
  process.exit(3)
})

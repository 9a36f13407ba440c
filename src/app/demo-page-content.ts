/**
 * The page of the demo at `/`: a live ladder of one market, which reads the stream as any client does. Only the names of the
 * markets vary. It loads nothing from another origin, and its policy allows only the script and the style of this file.
 */
import { createHash } from 'node:crypto'

/** Path of the endpoint that gives the page its tokens. */
export const DEMO_TOKEN_PATH = '/demo/token'
/** A header field that a page of another origin can send only after a CORS preflight, which is never granted. */
export const DEMO_HEADER = 'x-tidegate-demo'

const STYLE = `
:root { color-scheme: dark; --line: #2a3340; --quiet: #8b98a9; --bid: #3fb68b; --ask: #e5646e; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem; background: #11151c; color: #e6ebf2;
  font: 15px/1.45 system-ui, sans-serif; }
header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap; }
h1 { font-size: 1.15rem; margin: 0; }
h2 { font-size: .8rem; font-weight: 600; color: var(--quiet); margin: 0 0 .5rem; }
a { color: #8ab4ff; }
select { font: inherit; color: inherit; background: #181e27; border: 1px solid var(--line); border-radius: 6px;
  padding: .3rem .5rem; }
:focus-visible { outline: 2px solid #6ea0ff; outline-offset: 1px; }
#status { margin: 1rem 0; color: var(--quiet); }
#status::before { content: "●"; margin-right: .5rem; color: var(--ask); }
#status.live::before { color: var(--bid); }
main { display: grid; grid-template-columns: 3fr 2fr; gap: 1rem; }
section { background: #181e27; border: 1px solid var(--line); border-radius: 8px; padding: .9rem; }
table { width: 100%; border-collapse: collapse; font: 13px/1.6 ui-monospace, monospace; }
td { text-align: right; padding: 0 .4rem; white-space: nowrap; height: 1.6em; }
td:first-child { text-align: left; }
#asks td:first-child { color: var(--ask); }
#bids td:first-child { color: var(--bid); }
#spread td { padding: .35rem .4rem; color: var(--quiet); border-block: 1px solid var(--line); }
@media (max-width: 42rem) { main { grid-template-columns: 1fr; } }
`

/** Prices and amounts stay text, and are compared as integers in units of their last decimal. */
const SCRIPT = `
const LEVELS = 14, TRADES = 31, DELAY_MAX = 15
const byId = (id) => document.getElementById(id)
const tables = { asks: byId('asks'), bids: byId('bids'), trades: byId('trades') }
const fill = (table, rows, cells) => { for (let row = 0; row < rows; row++) { const line = table.insertRow(); for (let cell = 0; cell < cells; cell++) line.insertCell() } }
fill(tables.asks, LEVELS, 2); fill(tables.bids, LEVELS, 2); fill(tables.trades, TRADES, 3)
let book, trades, socket, failures = 0, isDrawn = true
const units = (text) => BigInt(text.replace('.', ''))
const show = (text, isLive) => { byId('status').textContent = text; byId('status').className = isLive ? 'live' : '' }
const clear = () => { book = { bids: new Map(), asks: new Map() }; trades = []; schedule() }
const schedule = () => { if (isDrawn) requestAnimationFrame(draw); isDrawn = false }
byId('market').addEventListener('change', () => { failures = 0; connect() })

async function connect() {
  const before = socket, own = socket = {}
  before?.close?.()
  clear()
  show('Connecting')
  try {
    const answer = await fetch('${DEMO_TOKEN_PATH}', { method: 'POST', headers: { '${DEMO_HEADER}': '1' } })
    if (!answer.ok) throw new Error('no token: ' + answer.status)
    const { access_token } = await answer.json()
    if (socket !== own) return
    open(access_token)
  } catch (error) {
    if (socket === own) again(error.message)
  }
}

function open(token) {
  const market = byId('market').value
  const own = socket = new WebSocket(location.origin.replace(/^http/, 'ws') + '/', ['tidegate.default', 'bearer.' + token])
  const subscribe = (channels) => own.send(JSON.stringify({ type: 'subscribe', channels }))
  own.onopen = () => { if (socket === own) subscribe(['market_data', 'execution_data'].map((type) => ({ type, params: { market } }))) }
  own.onmessage = ({ data }) => { if (socket === own) receive(JSON.parse(data), market, subscribe) }
  own.onclose = ({ code }) => { if (socket === own) again('closed with ' + code) }
}

function again(why) {
  const delay = Math.random() * Math.min(DELAY_MAX, 2 ** failures++)
  show('Not connected (' + why + '), trying again')
  clear()
  const left = socket
  setTimeout(() => { if (socket === left) connect() }, delay * 1000)
}

function receive({ type, channel, payload, channels }, market, subscribe) {
  if (channel === 'market_data') {
    failures = 0
    if (payload.type === 'SNAPSHOT') { book = { bids: new Map(), asks: new Map() }; show(market + ', live', true) }
    for (const side of ['bids', 'asks']) for (const { price, amount } of payload[side]) {
      if (amount === '0') book[side].delete(price)
      else book[side].set(price, amount)
    }
    if (book.bids.size + book.asks.size === 0) show(market + ' has no book at the moment')
  } else if (channel === 'execution_data') {
    trades = [payload, ...trades].slice(0, TRADES)
  } else if (type === 'unsubscribe') {
    subscribe(channels.map((entry) => ({ type: entry.type, params: entry.params })))
  } else {
    const refused = channels?.find(({ error }) => error && error !== 'NO_EFFECT_ACTION')
    if (refused) show(refused.message)
  }
  schedule()
}

function draw() {
  isDrawn = true
  const best = (side, sign) => [...book[side]].map(([price, amount]) => ({ price, amount, order: units(price) }))
    .sort((left, right) => (left.order < right.order ? -sign : sign)).slice(0, LEVELS)
  const bids = best('bids', -1), asks = best('asks', 1)
  for (let index = 0; index < LEVELS; index++) {
    write(tables.bids.rows[index], [bids[index]?.price, bids[index]?.amount])
    write(tables.asks.rows[LEVELS - 1 - index], [asks[index]?.price, asks[index]?.amount])
  }
  byId('spread').rows[0].cells[1].textContent = bids[0] && asks[0] ? difference(asks[0].price, bids[0].price) : ''
  for (let index = 0; index < TRADES; index++) {
    const trade = trades[index]
    write(tables.trades.rows[index], trade ? [trade.executed_at.slice(11, 23), trade.price, trade.amount] : [])
  }
}

function write(row, texts) {
  for (const [index, cell] of [...row.cells].entries()) cell.textContent = texts[index] ?? ''
}

function difference(higher, lower) {
  const decimals = (higher.split('.')[1] ?? '').length
  const digits = String(units(higher) - units(lower)).padStart(decimals + 1, '0')
  return decimals === 0 ? digits : digits.slice(0, -decimals) + '.' + digits.slice(-decimals)
}

connect()
`

/** @param symbols the markets to choose from; the first one is shown first */
export function demoPage(symbols: readonly string[]): string {
  const options = symbols.map((symbol) => `<option>${escaped(symbol)}</option>`).join('')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>Tidegate demo</title>
<style>${STYLE}</style>
<header>
<h1>Tidegate demo</h1>
<label>Market <select id="market">${options}</select></label>
<a href="/docs/">the API</a>
</header>
<p id="status" role="status">Connecting</p>
<main>
<section><h2>Book</h2><table>
<tbody id="asks"></tbody>
<tbody id="spread"><tr><td>spread</td><td></td></tr></tbody>
<tbody id="bids"></tbody>
</table></section>
<section><h2>Trades</h2><table><tbody id="trades"></tbody></table></section>
</main>
<script type="module">${SCRIPT}</script>
</html>
`
}

/** @param streamOrigin origin of the WebSocket, which not every browser includes in `'self'` */
export function demoPagePolicy(streamOrigin: string): string {
  return [
    "default-src 'none'",
    `script-src ${hashOf(SCRIPT)}`,
    `style-src ${hashOf(STYLE)}`,
    'img-src data:',
    `connect-src 'self' ${streamOrigin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/**
 * The page of the demo at `/`: a live ladder of one market, which reads the stream as any client does. Only the names of the
 * markets vary. It loads nothing from another origin, and its policy allows only the script and the style of this file.
 */
import { BRAND, DOCUMENT_CARDS, hashOf, START_STYLE } from './start-page.ts'

/** Path of the endpoint that gives the page its tokens. */
export const DEMO_TOKEN_PATH = '/demo/token'
/** A header field that a page of another origin can send only after a CORS preflight, which is never granted. */
export const DEMO_HEADER = 'x-tidegate-demo'

const STYLE = `${START_STYLE}
header .note { color: var(--warn); font-size: .85rem; }
header label { margin-left: auto; color: var(--quiet); }
select { margin-left: .3rem; padding: .35rem .6rem; border: 1px solid var(--line); border-radius: 7px; background: var(--surface);
  color: var(--text); font: inherit; font-weight: 600; }
#status { margin-bottom: 1rem; color: var(--quiet); }
#status::before { content: ""; display: inline-block; width: .55rem; height: .55rem; margin-right: .5rem; border-radius: 50%;
  background: var(--ask); }
#status.live::before { background: var(--bid); }
.book { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1.15fr) minmax(0, 1fr); align-items: start; }
.book h2 { color: var(--quiet); font-weight: 600; }
.side { display: grid; gap: 1rem; }
table { width: 100%; border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
td { position: relative; z-index: 0; height: 1.65em; padding: 0 .4rem; text-align: right; white-space: nowrap; }
td:first-child { text-align: left; font-weight: 560; }
#trades td:first-child { color: var(--quiet); font-weight: 400; }
#asks td:first-child { color: var(--ask); }
#bids td:first-child { color: var(--bid); }
#asks tr, #bids tr { background: linear-gradient(to left, var(--bar) var(--share, 0%), transparent var(--share, 0%)); }
#asks { --bar: var(--ask-bar); }
#bids { --bar: var(--bid-bar); }
#spread td { height: 2.1em; border-block: 1px solid var(--line); color: var(--quiet); font-weight: 400; }
#depth { display: block; width: 100%; height: 150px; }
#depth path { stroke-width: 1.5; vector-effect: non-scaling-stroke; }
#depth .bids { fill: var(--bid-bar); stroke: var(--bid); }
#depth .asks { fill: var(--ask-bar); stroke: var(--ask); }
@media (max-width: 44rem) { .book { grid-template-columns: minmax(0, 1fr); } header label { margin-left: 0; } }
`

/** Prices and amounts stay text, and are compared as integers in units of their last decimal. */
const SCRIPT = `
const LEVELS = 16, DEPTH_LEVELS = 120, TRADES = 18, DELAY_MAX = 15, HEIGHT = 100, WIDTH = 200
const byId = (id) => document.getElementById(id)
const tables = { asks: byId('asks'), bids: byId('bids'), trades: byId('trades') }
const fill = (table, rows, cells) => { for (let row = 0; row < rows; row++) { const line = table.insertRow(); for (let cell = 0; cell < cells; cell++) line.insertCell() } }
fill(tables.asks, LEVELS, 3); fill(tables.bids, LEVELS, 3); fill(tables.trades, TRADES, 3)
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
    .sort((left, right) => (left.order < right.order ? -sign : sign)).slice(0, DEPTH_LEVELS)
  const bids = withSums(best('bids', -1)), asks = withSums(best('asks', 1))
  const most = [bids, asks].reduce((sum, side) => side.slice(0, LEVELS).reduce((high, level) => level.sum > high ? level.sum : high, sum), 1n)
  for (let index = 0; index < LEVELS; index++) {
    level(tables.bids.rows[index], bids[index], most)
    level(tables.asks.rows[LEVELS - 1 - index], asks[index], most)
  }
  byId('spread').rows[0].cells[1].textContent = bids[0] && asks[0] ? difference(asks[0].price, bids[0].price) : ''
  drawDepth(bids, asks)
  for (let index = 0; index < TRADES; index++) {
    const trade = trades[index]
    write(tables.trades.rows[index], trade ? [trade.executed_at.slice(11, 23), trade.price, trade.amount] : [])
  }
}

function withSums(levels) {
  let sum = 0n
  return levels.map((each) => ({ ...each, sum: sum += units(each.amount) }))
}

function level(row, each, most) {
  write(row, each ? [each.price, each.amount, text(each.sum, each.amount)] : [])
  row.style.setProperty('--share', each ? Number(each.sum * 1000n / most) / 10 + '%' : '0%')
}

/** Steps from the best level outwards. Only places of pixels are numbers. */
function drawDepth(bids, asks) {
  const low = bids.at(-1)?.order, high = asks.at(-1)?.order
  const most = [bids, asks].reduce((sum, side) => (side.at(-1)?.sum ?? 0n) > sum ? side.at(-1).sum : sum, 1n)
  const isShown = low !== undefined && high !== undefined && high > low
  for (const [name, side] of [['bids', bids], ['asks', asks]]) {
    const x = (order) => (Number((order - low) * 10000n / (high - low)) / 10000 * WIDTH).toFixed(2)
    const y = (sum) => (HEIGHT - Number(sum * 9500n / most) / 10000 * HEIGHT).toFixed(2)
    const path = !isShown ? '' : 'M' + x(side[0].order) + ' ' + HEIGHT + side.map((each) => 'H' + x(each.order) + 'V' + y(each.sum)).join('') + 'V' + HEIGHT + 'Z'
    byId('depth').querySelector('.' + name).setAttribute('d', path)
  }
}

function write(row, texts) {
  for (const [index, cell] of [...row.cells].entries()) cell.textContent = texts[index] ?? ''
}

function difference(higher, lower) {
  return text(units(higher) - units(lower), higher)
}

/** An integer in units of the last decimal of \`like\`, as text with its decimals. */
function text(value, like) {
  const decimals = (like.split('.')[1] ?? '').length
  const digits = String(value).padStart(decimals + 1, '0')
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
${BRAND}
<span class="note">Demo</span>
<label>Market<select id="market">${options}</select></label>
</header>
<main>
<p id="status" role="status">Connecting</p>
<div class="book">
<section><h2>Book</h2><table>
<tbody id="asks"></tbody>
<tbody id="spread"><tr><td>spread</td><td></td><td></td></tr></tbody>
<tbody id="bids"></tbody>
</table></section>
<div class="side">
<section><h2>Depth</h2><svg id="depth" viewBox="0 0 200 100" preserveAspectRatio="none" role="img" aria-label="Depth of the book"><path class="bids"/><path class="asks"/></svg></section>
<section><h2>Trades</h2><table><tbody id="trades"></tbody></table></section>
</div>
</div>
${DOCUMENT_CARDS}
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

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

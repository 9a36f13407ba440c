/**
 * The script of the demo's page, whose HTML is in `src/service/pages/demo-page-content.ts`. `<tidegate-book>` shows the chosen
 * market's book and checks it. This file gives it tokens from the page's own server, and draws the depth and the latest trades
 * over a connection of its own. Prices and amounts stay exact: only pixels are numbers.
 */
import { type Book, type Execution, type Level, StreamClient, type TokenSource } from '@tidegate/client'
import '@tidegate/client/element'

const DEPTH_LEVELS = 100
/** Prices that change more often cannot be read. */
const INTERVAL_MILLISECONDS = 100
const TRADES = 18
/** The chart's own units: its `viewBox`. */
const [WIDTH, HEIGHT] = [2_000, 1_000]

const element = found('tidegate-book')
const market = found<HTMLSelectElement>('#market')
const problem = found('#problem')
const tape = found<HTMLTableSectionElement>('#trades')
const charts = { bids: found<SVGPathElement>('#depth .bids'), asks: found<SVGPathElement>('#depth .asks') }

const tokens: TokenSource = {
  async token(signal) {
    const init = { method: 'POST', headers: { 'x-tidegate-demo': '1' }, signal: signal ?? null }
    const response = await fetch('/demo/token', init)
    if (!response.ok) throw new Error(`/demo/token answered ${response.status}`)
    return (await response.json()).access_token
  },
  discard() {
    // Every connection gets a new one.
  },
}
const client = new StreamClient({ url: element.getAttribute('url') ?? '', authenticate: tokens })
let shown = new AbortController()

element.authenticate = tokens
market.addEventListener('change', show)
show()

function show(): void {
  shown.abort()
  shown = new AbortController()
  const { signal } = shown
  element.setAttribute('market', market.value)
  tape.replaceChildren()
  problem.textContent = ''
  drawDepth([], [])
  for (const follow of [followDepth, followTrades])
    follow(market.value, signal).catch((error: Error) => {
      if (!signal.aborted) problem.textContent = `${error.message}. Reload the page to try again.`
    })
}

async function followDepth(symbol: string, signal: AbortSignal): Promise<void> {
  const book = await opened(symbol, signal)
  for await (const { status } of book) {
    // An old book is not drawn, as if it were the present one.
    if (status === 'LIVE') drawDepth(book.bids(DEPTH_LEVELS), book.asks(DEPTH_LEVELS))
    else drawDepth([], [])
  }
}

/** A market that publishes fewer levels is shown whole. */
async function opened(symbol: string, signal: AbortSignal): Promise<Book> {
  const options = { interval: INTERVAL_MILLISECONDS, signal }
  try {
    return await client.book(symbol, { ...options, depth: DEPTH_LEVELS })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'SUBSCRIPTION_REFUSED') throw error
    return client.book(symbol, options)
  }
}

async function followTrades(symbol: string, signal: AbortSignal): Promise<void> {
  for await (const event of await client.executions(symbol, { signal })) if (event.type === 'EXECUTION') addTrade(event)
}

function addTrade({ executedAt, price, amount }: Execution): void {
  const row = tape.rows.length < TRADES ? tape.insertRow(0) : (tape.rows[TRADES - 1] as HTMLTableRowElement)
  tape.prepend(row)
  for (const [index, text] of [executedAt.slice(11, 23), price, amount].entries())
    (row.cells[index] ?? row.insertCell()).textContent = text
}

/** Two stairs from the best prices outwards, as high as the sums of the amounts. */
function drawDepth(bids: readonly Level[], asks: readonly Level[]): void {
  const [low, high] = [bids.at(-1)?.scaledPrice ?? 0n, asks.at(-1)?.scaledPrice ?? 0n]
  const most = [sumOf(bids), sumOf(asks), 1n].reduce((left, right) => (left > right ? left : right))
  for (const [side, levels] of [['bids', bids] as const, ['asks', asks] as const]) {
    const x = (price: bigint) => ((price - low) * BigInt(WIDTH)) / (high - low)
    let sum = 0n
    const steps = () =>
      levels.map(({ scaledPrice, scaledAmount }) => {
        sum += scaledAmount
        return `H${x(scaledPrice)}V${BigInt(HEIGHT) - (sum * BigInt(HEIGHT) * 95n) / (most * 100n)}`
      })
    const best = levels[0]
    const isShown = best !== undefined && low > 0n && high > low
    charts[side].setAttribute('d', isShown ? `M${x(best.scaledPrice)} ${HEIGHT}${steps().join('')}V${HEIGHT}Z` : '')
  }
}

function sumOf(levels: readonly Level[]): bigint {
  return levels.reduce((sum, { scaledAmount }) => sum + scaledAmount, 0n)
}

function found(selector: 'tidegate-book'): HTMLElementTagNameMap['tidegate-book']
function found<E extends Element = HTMLElement>(selector: string): E
function found(selector: string): Element {
  const element = document.querySelector(selector)
  if (element === null) throw new Error(`the page has no ${selector}`)
  return element
}

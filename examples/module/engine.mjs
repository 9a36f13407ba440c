/**
 * A matching engine in Tidegate's process: a book that this module keeps in memory, published as SNAPSHOT and UPDATE
 * messages. Name it in the configuration, with a path relative to the file:
 *
 *     simulator: {allowed: true}   # because it says `simulated`; an engine with real trades does not
 *     markets:
 *       - {symbol: BTCUSD, base_asset: BTC, quote_asset: USD, price_decimals: 2, amount_decimals: 8, depth: 100,
 *          sources: ["module:./engine.mjs:BTCUSD"]}
 */
import { randomUUID } from 'node:crypto'

/** The version of the contract. */
export const tidegate = 1

const INSTRUMENT = { price_decimals: 2, amount_decimals: 8, state: 'OPEN', simulated: true }

/** Called once with the symbols that the configuration names. */
export function createSource({ symbols, log }) {
  const markets = new Map(symbols.map((symbol) => [symbol, createMarket()]))
  let listener
  let timer

  const send = (symbol, type, seq, content) => {
    const payload = { market: symbol, type, time: new Date().toISOString(), ...content }
    listener({ channel: 'publication', payload, stream: { epoch: markets.get(symbol).epoch, seq } })
  }
  const sendSnapshot = (symbol) => {
    const { seq, bids, asks } = markets.get(symbol)
    send(symbol, 'SNAPSHOT', seq, { instrument: INSTRUMENT, bids: levels(bids), asks: levels(asks) })
  }

  return {
    start(listen) {
      listener = listen
      for (const symbol of markets.keys()) sendSnapshot(symbol)
      timer = setInterval(() => {
        // What is thrown here would end the process: nothing of Tidegate calls this function.
        for (const [symbol, market] of markets) send(symbol, 'UPDATE', ++market.seq, trade(market))
      }, 20)
    },

    requestSnapshot(symbol, reason) {
      log.info({ symbol, reason }, 'snapshot requested')
      if (markets.has(symbol)) sendSnapshot(symbol)
    },

    async stop() {
      clearInterval(timer)
    },
  }
}

/** Prices in cents, amounts in hundredths: integers, so that sums are exact. */
function createMarket() {
  const bids = new Map([5999900, 5999800, 5999700].map((cents) => [cents, 100]))
  const asks = new Map([6000100, 6000200, 6000300].map((cents) => [cents, 100]))
  return { epoch: randomUUID(), seq: 0, bids, asks, trades: 0 }
}

/** A buyer takes a hundredth at the best ask; when only the worst ask is left, the others are filled again. */
function trade(market) {
  const best = Math.min(...market.asks.keys())
  const changed = new Map()
  const change = (cents, by) => {
    const amount = (market.asks.get(cents) ?? 0) + by
    if (amount === 0) market.asks.delete(cents)
    else market.asks.set(cents, amount)
    changed.set(cents, amount)
  }
  change(best, -1)
  if (market.asks.size === 1) for (const cents of [6000100, 6000200]) change(cents, 100)
  market.trades++
  const execution = { id: String(market.trades), side: 'buy', price: text(best, 2), amount: text(1, 2) }
  return { asks: levels(changed), executions: [execution] }
}

function levels(side) {
  return [...side].map(([cents, amount]) => ({ price: text(cents, 2), amount: text(amount, 2) }))
}

function text(value, decimals) {
  const digits = String(value).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

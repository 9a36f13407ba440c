/**
 * An engine with many quiet markets, as a module: 200 levels per side each. It has 300 messages per second over all
 * markets, each market's SNAPSHOT first.
 */
import { randomUUID } from 'node:crypto'

export const tidegate = 1

const INSTRUMENT = { price_decimals: 2, amount_decimals: 8, state: 'OPEN', simulated: true }
const LEVELS = 200
const STEP_MILLISECONDS = 100
const MESSAGES_PER_STEP = 30
const EPOCH = randomUUID()

const level = (price, amount) => ({ price: price.toFixed(2), amount: amount.toFixed(8) })

export function createSource({ symbols }) {
  const seqs = new Map(symbols.map((symbol) => [symbol, 0]))
  let listener
  let timer
  let next = 0

  const send = (market, type, content) => {
    const payload = { market, type, time: new Date().toISOString(), ...content }
    listener({ channel: 'publication', payload, stream: { epoch: EPOCH, seq: seqs.get(market) } })
  }
  const sendSnapshot = (market) => {
    const side = (sign) => Array.from({ length: LEVELS }, (_, rank) => level(1_000 + sign * (rank + 1), 1))
    send(market, 'SNAPSHOT', { instrument: INSTRUMENT, bids: side(-1), asks: side(1) })
  }

  return {
    start(listen) {
      listener = listen
      timer = setInterval(() => {
        for (let count = 0; count < MESSAGES_PER_STEP; count++) {
          const market = symbols[next % symbols.length]
          const round = Math.floor(next++ / symbols.length)
          if (round === 0) {
            sendSnapshot(market)
            continue
          }
          seqs.set(market, seqs.get(market) + 1)
          send(market, 'UPDATE', { bids: [level(999, 2 + (round % 2))] })
        }
      }, STEP_MILLISECONDS)
    },
    requestSnapshot: sendSnapshot,
    async stop() {
      clearInterval(timer)
    },
  }
}

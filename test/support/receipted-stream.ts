/** A stream that signs receipts, and the messages that sessions receive while two of its markets change at random. */
import type { ReceiptClaims } from '../../src/contract/receipt.ts'
import { ASK, BID, type LevelChange } from '../../src/streaming/market/event.ts'
import { deepBook, LiveStream } from '../streaming/gateway/live-stream.ts'
import { Random } from './random.ts'
import { newReceiptIssuer, partsOf, signerOf } from './receipts.ts'

export const MARKETS = ['AAAUSD', 'BBBUSD']
export const EXECUTIONS = 60
const STEPS = 300
const SEED = 20261123

export const issuer = newReceiptIssuer()

export interface ReceivingSession {
  /** Of market_data. */
  readonly params?: object
  readonly markets?: readonly string[]
}

/** The lines that these sessions receive during some seconds. Only the first steps have executions. */
export function received(sessions: readonly ReceivingSession[], stepsWithTrades = STEPS): string[][] {
  const random = new Random(SEED)
  const stream = new LiveStream({ markets: MARKETS, depth: 50, receipts: signerOf(issuer) })
  for (const market of MARKETS) stream.snapshot(deepBook(60, 10), market)
  const clients = sessions.map(({ params = {}, markets = MARKETS }) => {
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    const books = markets.map((market) => ({ type: 'market_data', params: { market, ...params } }))
    const executions = markets.map((market) => ({ type: 'execution_data', params: { market } }))
    return {
      client,
      lines: client.ask({ type: 'subscribe', channels: [...books, ...executions, { type: 'heartbeat' }] }),
    }
  })
  for (let step = 0; step < STEPS; step++) {
    const isTrade = step < stepsWithTrades && step % (STEPS / EXECUTIONS) === 0
    const trades = isTrade ? [{ price: 10_000_000, amount: 1 + step, id: `trade-${step}`, venue: 'kraken' }] : []
    stream.update([randomChange(random)], trades, random.pick(MARKETS))
    stream.clock.advance(random.integer(40))
    for (const { client, lines } of clients) lines.push(...client.read())
  }
  stream.clock.advance(2_000)
  return clients.map(({ client, lines }) => [...lines, ...client.read()])
}

function randomChange(random: Random): LevelChange {
  const side = random.integer(2) === 0 ? BID : ASK
  const rank = 1 + random.integer(60)
  return { side, price: side === BID ? 10_000_000 - rank : 10_000_000 + rank, amount: random.integer(4) * 5 }
}

/** A market's lines in one channel. */
export function linesOf(lines: readonly string[], channel: string, market = ''): string[] {
  return lines.filter((line) => line.startsWith(`{"channel":"${channel}"`) && line.includes(market))
}

/** All receipts of the lines, each once. */
export function receiptsOf(lines: readonly string[]): string[] {
  const lists = lines.flatMap((line) => [...line.matchAll(/"receipts":\[([^\]]+)\]/g)].map((match) => match[1]))
  return [...new Set(lists.flatMap((list) => (list as string).split(',').map((text) => text.slice(1, -1))))]
}

export function claimsOf(receipt: string) {
  const { iss: _issuer, ...claims } = partsOf(receipt).payload
  return claims as unknown as ReceiptClaims
}

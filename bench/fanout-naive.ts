/**
 * The naive implementation: a WebSocket server that encodes each message when it arrives and sends it in a loop over
 * the clients. The fan-out benchmark compares with it.
 */
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import { type WebSocket, WebSocketServer } from 'ws'
import { formatDecimal } from '../src/platform/base/decimal.ts'
import { answerCommands, Sockets, tickCommands, writeAnswer } from './fanout-driver.ts'
import { benchMarket, stamp } from './fanout-feed.ts'

interface Client {
  readonly webSocket: WebSocket
  readonly markets: ReadonlySet<string>
}

function main(marketCount: number, bytesMin: number): void {
  const sockets = new Sockets()
  const clients: Client[] = []
  const symbols = Array.from({ length: marketCount }, (_, index) => benchMarket(index).symbol)
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, backlog: 4096, perMessageDeflate: false })
  server.on('connection', (webSocket, request) => {
    // The path names the markets: /0,3,7
    const wanted = (request.url ?? '/').slice(1).split(',')
    clients.push({ webSocket, markets: new Set(wanted.map((index) => benchMarket(Number(index)).symbol)) })
    sockets.all.push(request.socket)
    request.socket.on('error', () => process.exit(0))
  })
  server.on('listening', () => writeAnswer({ port: (server.address() as AddressInfo).port }))
  const publish = (count: number, eventMicroseconds: number) => {
    const amount = formatDecimal(stamp(eventMicroseconds), 8)
    for (let number = 0; number < count; number++)
      for (const symbol of symbols) send(clients, symbol, textOf(symbol, number, amount).padEnd(bytesMin))
  }
  answerCommands(tickCommands(publish, () => sockets.areDrained()))
}

function textOf(market: string, number: number, amount: string): string {
  return JSON.stringify({
    channel: 'market_data',
    payload: {
      market,
      type: 'UPDATE',
      time: new Date().toISOString(),
      bids: [{ price: `969${90 - number}.00`, amount }],
      asks: [{ price: `970${10 + number}.00`, amount }],
    },
  })
}

function send(clients: readonly Client[], market: string, text: string): void {
  for (const { webSocket, markets } of clients) if (markets.has(market)) webSocket.send(text)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  main(Number(process.argv[2]), Number(process.argv[3]))

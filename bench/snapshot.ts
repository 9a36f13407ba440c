/**
 * A SNAPSHOT with 250,000 levels, all changed, pushed by a publisher or pulled: how long the receiving process's event
 * loop does not run, from the socket to the replica.
 */
import { once } from 'node:events'
import { cpus } from 'node:os'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { WebSocket, WebSocketServer } from 'ws'
import { Peer } from './fanout-processes.ts'
import { INGEST_MARKET, INGEST_TOKEN, messageText } from './ingest-messages.ts'
import { type BenchResult, resultTable } from './result.ts'

const LEVELS = 250_000
const ROUNDS = { quick: 3, full: 7 } as const
const RECEIVER_CORE = 0

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const path = fileURLToPath(new URL('snapshot-receiver.ts', import.meta.url))
  const receiver = new Peer('receiver', RECEIVER_CORE, process.execPath, ['--import', 'tsx', path, ''])
  const { port = 0 } = await receiver.answer()
  const results: BenchResult[] = []
  for (const way of ['push', 'pull'] as const) {
    const rows = [
      { name: `${way}: longest time without the event loop`, unit: 'ms', runs: [] as number[] },
      { name: `${way}: until the commit`, unit: 'ms', runs: [] as number[] },
      { name: `${way}: processor time`, unit: 'ms', runs: [] as number[] },
    ]
    const publisher = way === 'push' ? await connect(port) : await listen(receiver)
    // The first rounds warm up the compiler, and fill the book.
    for (let round = -2; round < ROUNDS[quick ? 'quick' : 'full']; round++) {
      const text = messageText(payload(round + 10), 'run', round + 10)
      await receiver.ask('begin')
      publisher(text)
      const { stallMilliseconds = 0, milliseconds = 0, cpuMilliseconds = 0 } = await receiver.ask('finish')
      if (round < 0) continue
      rows[0]!.runs.push(stallMilliseconds)
      rows[1]!.runs.push(milliseconds)
      rows[2]!.runs.push(cpuMilliseconds)
    }
    results.push(...rows)
  }
  await receiver.end()
  return results
}

async function connect(port: number): Promise<(text: string) => void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, ['tidegate.publish.v1'], {
    headers: { authorization: `Bearer ${INGEST_TOKEN}` },
  })
  await once(socket, 'open')
  socket.on('message', () => undefined)
  return (text) => socket.send(text)
}

async function listen(receiver: Peer): Promise<(text: string) => void> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'tidegate.v1' })
  await once(server, 'listening')
  const connected = once(server, 'connection') as Promise<[WebSocket]>
  await receiver.ask(`pull ${(server.address() as { port: number }).port}`)
  const [socket] = await connected
  const channels = [
    { type: 'heartbeat', success: true },
    { type: 'publication', params: { market: INGEST_MARKET.symbol }, success: true, resumed: false },
  ]
  socket.send(JSON.stringify({ type: 'subscribe', channels }))
  return (text) => socket.send(text)
}

function payload(round: number): string {
  const side = (sign: 1 | -1, first: number) =>
    Array.from({ length: LEVELS / 2 }, (_, index) => ({
      price: ((first + sign * index) / 100).toFixed(2),
      amount: `${((index * 7919 + round) % 99_999) + 1}.00000000`,
    }))
  return JSON.stringify({
    market: INGEST_MARKET.symbol,
    type: 'SNAPSHOT',
    time: '2026-11-20T12:00:00.123456789Z',
    instrument: { price_decimals: 2, amount_decimals: 8, state: 'OPEN' },
    bids: side(-1, 6_000_000),
    asks: side(1, 6_000_001),
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  if (cpus().length < 2) console.error('both processes share a core')
  console.log(resultTable(await run({ quick: process.argv.includes('--quick') })))
  process.exit(0)
}

/**
 * An engine and a subscriber in one thread. On the message `take` it answers with the milliseconds from each engine
 * change until its UPDATE arrived, ascending, for all changes since the last answer. An error ends the benchmark.
 */
import { once } from 'node:events'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import WebSocket from 'ws'
import { countedAmount, type EngineAccess, MARKET, startEngine } from './publishing-engine.ts'

export interface StreamThreadStart {
  readonly engine: EngineAccess
  readonly ws: string
  readonly token: string
}

/** Between two changes. */
const PAUSE_MILLISECONDS = 5

// `npm run bench` loads every file in this folder.
if (!isMainThread) await run(workerData as StreamThreadStart)

async function run({ engine, ws, token }: StreamThreadStart): Promise<void> {
  const sent = new Map<string, number>()
  let delays: number[] = []
  const socket = new WebSocket(ws, { headers: { authorization: `Bearer ${token}` } })
  socket.on('message', (data) => {
    const now = performance.now()
    const { payload } = JSON.parse(String(data)) as { payload?: { type?: string; bids?: { amount: string }[] } }
    if (payload?.type !== 'UPDATE') return
    for (const { amount } of payload.bids ?? []) {
      const then = sent.get(amount)
      if (then !== undefined) delays.push(now - then)
      sent.delete(amount)
    }
  })
  socket.on('close', (code) => {
    throw new Error(`the stream was closed with ${code}`)
  })
  await once(socket, 'open')
  const channels = [{ type: 'market_data', params: { market: MARKET.symbol } }]
  socket.send(JSON.stringify({ type: 'subscribe', channels }))
  startEngine(engine, PAUSE_MILLISECONDS, (number) => {
    const amount = countedAmount(number)
    sent.set(amount, performance.now())
    return amount
  })
  parentPort?.on('message', () => {
    const taken = Float64Array.from(delays).sort()
    delays = []
    parentPort?.postMessage(taken)
  })
}

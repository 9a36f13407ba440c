/**
 * Opening connections to two gateway processes: the processor time of all the service's processes for one, with a token
 * that none of them has verified before, and how the system spreads the connections over the processes.
 */
import { randomBytes } from 'node:crypto'
import { createConnection, type Socket } from 'node:net'
import { startServiceProcess, temporaryFolder, tokenOf } from '../test/support/running-service.ts'
import type { BenchResult } from './result.ts'
import { ServiceProcesses } from './service-processes.ts'

const PROCESSES = 2
const UNDER_WAY_MAX = 50

export async function measureConnects(count: number): Promise<BenchResult[]> {
  const folder = temporaryFolder()
  const service = await startServiceProcess('demo', folder.path, {
    'gateway.processes': PROCESSES,
    'stream.port': 0,
    'stream.drain_seconds': 0,
    'auth.token_rate_per_second': 10_000,
    'log.level': 'warn',
  })
  try {
    const client = await service.operator.createClient()
    const tokens: string[] = []
    while (tokens.length < count) tokens.push(await tokenOf(service, client))
    const processes = new ServiceProcesses(service.pid)
    const before = processes.socketsOfGateways()
    const begin = { seconds: processes.seconds(), milliseconds: performance.now() }
    const sockets = await openAll(Number(new URL(service.ws).port), tokens)
    const used = processes.seconds() - begin.seconds
    const rate = (1_000 * count) / (performance.now() - begin.milliseconds)
    const shares = processes.socketsOfGateways().map((open, place) => open - before[place]!)
    for (const socket of sockets) socket.destroy()
    return [
      {
        name: `${PROCESSES} gateway processes: processor time of one connect`,
        unit: 'ms',
        runs: [(1_000 * used) / count],
      },
      { name: `${PROCESSES} gateway processes: connects`, unit: '1/s', runs: [rate] },
      {
        name: `${PROCESSES} gateway processes: the smaller share of ${count} connections`,
        unit: '',
        runs: [Math.min(...shares)],
      },
    ]
  } finally {
    await service.stop()
    folder.remove()
  }
}

async function openAll(port: number, tokens: readonly string[]): Promise<readonly Socket[]> {
  const sockets: Socket[] = []
  const left = [...tokens]
  const work = async (): Promise<void> => {
    for (let token = left.pop(); token !== undefined; token = left.pop()) sockets.push(await open(port, token))
  }
  await Promise.all(Array.from({ length: UNDER_WAY_MAX }, work))
  return sockets
}

function open(port: number, token: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.on('error', reject)
    socket.once('data', (data) => {
      if (data.toString('latin1', 9, 12) === '101') resolve(socket.resume())
      else reject(new Error(data.toString()))
    })
    const head = [
      'GET / HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      'Sec-WebSocket-Version: 13',
      `Authorization: Bearer ${token}`,
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
  })
}

/**
 * Opening connections: the processor time of all the service's processes for one, with a token that none of them has
 * verified before, in one process and with two gateway processes, which a system spreads connections over. The reference
 * is `ws` alone, which verifies nothing: Node's HTTP server and the WebSocket handshake. The service has no market.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { canSharePorts } from '../src/platform/http/shared-port.ts'
import { OperatorApi, startVerb, temporaryFolder, tokenOf } from '../test/support/running-service.ts'
import { openStream } from './open-stream.ts'
import type { BenchResult } from './result.ts'
import { ServiceProcesses } from './service-processes.ts'

const PROCESSES = 2
const UNDER_WAY_MAX = 50
/** What is still being done for earlier connections and tokens ends within this time. */
const PAUSE_MILLISECONDS = 500
const REFERENCE = `
  import { WebSocketServer } from 'ws'
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false, backlog: 4096 })
  server.on('connection', (webSocket) => webSocket.on('error', () => undefined))
  server.on('listening', () => console.log(server.address().port))`

interface Target {
  readonly name: string
  readonly port: number
  readonly processes: ServiceProcesses
  newToken(): Promise<string>
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const [count, rounds] = quick ? [200, 1] : [1_000, 5]
  const ends: (() => unknown)[] = []
  try {
    const targets = [await startReference(ends), await startTarget(0, ends)]
    if (canSharePorts()) targets.push(await startTarget(PROCESSES, ends))
    const [reference] = targets
    const results = targets.map(
      ({ name }): BenchResult => ({
        name,
        unit: 'ms per connect',
        runs: [],
        ...(name === reference?.name ? {} : { reference: reference?.name as string }),
      }),
    )
    const shares: BenchResult = { name: `the smaller process's connections of ${count}`, unit: '', runs: [] }
    for (let round = 0; round <= rounds; round++) {
      for (const [index, target] of targets.entries()) {
        const { milliseconds, smallest } = await measure(target, count)
        process.stderr.write(`${target.name}: ${milliseconds.toFixed(3)} ms\n`)
        // The first round is a warm-up.
        if (round === 0) continue
        results[index]?.runs.push(milliseconds)
        if (smallest !== undefined) shares.runs.push(smallest)
      }
    }
    return [...results, ...(shares.runs.length > 0 ? [shares] : [])]
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function startReference(ends: (() => unknown)[]): Promise<Target> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', REFERENCE], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: import.meta.dirname,
  })
  ends.push(() => child.kill())
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  // As long as a token.
  const newToken = async () => randomBytes(450).toString('base64url')
  return { name: 'ws alone', port: Number(line), processes: new ServiceProcesses(child.pid as number), newToken }
}

async function startTarget(processes: number, ends: (() => unknown)[]): Promise<Target> {
  const folder = temporaryFolder()
  ends.push(() => folder.remove())
  const command = startVerb('serve', folder.path, {
    markets: '[]',
    'stream.drain_seconds': 0,
    'auth.token_rate_per_second': 10_000,
    'log.level': 'warn',
    ...(processes > 0 ? { 'gateway.processes': processes, 'stream.port': 0 } : {}),
  })
  ends.push(() => {
    command.child.kill('SIGTERM')
    return command.result
  })
  const { http, ws, operator, pid } = JSON.parse(await command.line((line) => line.startsWith('{')))
  const service = { http, ws, operator: new OperatorApi(operator, folder.path), folder: folder.path }
  const client = await service.operator.createClient()
  return {
    name: processes > 0 ? `${processes} gateway processes` : 'one process',
    port: Number(new URL(service.ws).port),
    processes: new ServiceProcesses(pid),
    newToken: () => tokenOf(service, client),
  }
}

async function measure({ port, processes, newToken }: Target, count: number) {
  const tokens: string[] = []
  while (tokens.length < count) tokens.push(await newToken())
  await wait(PAUSE_MILLISECONDS)
  const [before, used] = [processes.socketsOfGateways(), processes.seconds()]
  const sockets = await openAll(port, tokens)
  const milliseconds = (1_000 * (processes.seconds() - used)) / count
  const shares = processes.socketsOfGateways().map((open, place) => open - (before[place] as number))
  for (const socket of sockets) socket.destroy()
  return { milliseconds, smallest: shares.length > 0 ? Math.min(...shares) : undefined }
}

async function openAll(port: number, tokens: readonly string[]): Promise<readonly Socket[]> {
  const sockets: Socket[] = []
  const left = [...tokens]
  const work = async (): Promise<void> => {
    for (let token = left.pop(); token !== undefined; token = left.pop()) sockets.push(await openStream(port, token))
  }
  await Promise.all(Array.from({ length: UNDER_WAY_MAX }, work))
  return sockets
}

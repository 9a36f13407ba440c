/**
 * The client for as long as `TIDEGATE_SOAK_MINUTES` says, one minute by default: against a service whose markets change by
 * reload, whose connections the operator closes, and which is stopped and killed; and at the same time under `torture`, one
 * run after the other. Each book is compared with that of another client, written from the documentation alone, at equal
 * times. `TIDEGATE_SOAK_LOG` names a file for the result.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { readmeProgram } from '../support/client-program.ts'
import { startCommand, startProgram } from '../support/command-line.ts'
import { market, OperatorApi, STREAM_SCOPE, temporaryFolder, tokenOf } from '../support/running-service.ts'
import { SampleClient } from '../support/sample-client.ts'
import { runTorture } from '../support/torture-run.ts'

const minutes = Number(process.env.TIDEGATE_SOAK_MINUTES ?? 1)
const logFile = process.env.TIDEGATE_SOAK_LOG
const DISTURBANCE_MILLISECONDS = 4_000
const MARKETS = ['BTCUSD', 'ETHUSD']

const folder = temporaryFolder()
afterAll(() => folder.remove())

interface Status {
  readonly market: string
  readonly status: string
  readonly time: string
  readonly hash: string
}

/** A port that is free now: after a restart the service must have the same. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

class DisturbedService {
  readonly #file = join(folder.path, 'tidegate.yaml')
  readonly #ports: Readonly<Record<string, number>>
  #command: ReturnType<typeof startCommand> | undefined
  #decimals = 2
  operator!: OperatorApi
  http = ''
  ws = ''

  constructor(ports: Readonly<Record<string, number>>) {
    this.#ports = ports
  }

  async start(): Promise<void> {
    this.configure(true)
    const ports = Object.entries(this.#ports).flatMap(([name, port]) => [`--${name}`, String(port)])
    const data = ['--data_dir', join(folder.path, 'data'), '--simulator.rate', '50', '--stream.drain_seconds', '0']
    this.#command = startCommand(['serve', '--config', this.#file, ...ports, ...data])
    const ready = JSON.parse(await this.#command.line((line) => line.startsWith('{"ready":true')))
    this.operator = new OperatorApi(ready.operator, join(folder.path, 'data'))
    Object.assign(this, { http: ready.http, ws: ready.ws })
  }

  configure(hasEther: boolean): void {
    const markets = [market('BTC', this.#decimals, 50), ...(hasEther ? [market('ETH', 2, 50)] : [])]
    writeFileSync(this.#file, JSON.stringify({ simulator: { allowed: true }, markets }))
  }

  /** One disturbance after the other; each lasts a few seconds. */
  async disturb(number: number): Promise<void> {
    const child = this.#command?.child
    switch (number % 5) {
      case 0:
        this.#decimals = 5 - this.#decimals
        this.configure(true)
        child?.kill('SIGHUP')
        return
      case 1:
        this.configure(false)
        child?.kill('SIGHUP')
        await sleep(DISTURBANCE_MILLISECONDS)
        this.configure(true)
        child?.kill('SIGHUP')
        return
      case 2: {
        const { items } = await this.operator.call<{ items: { id: string }[] }>('GET', '/connections')
        for (const { id } of items) await this.operator.call('DELETE', `/connections/${id}`)
        return
      }
      default:
        await this.stop(number % 5 === 3 ? 'SIGTERM' : 'SIGKILL')
        await this.start()
    }
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#command?.child.kill(signal)
    await this.#command?.result
  }
}

/** The other client: the hash of each of its books, by market and time. */
class Reference {
  readonly hashes = new Map<string, string>()
  readonly problems: string[] = []
  readonly #connect: () => Promise<SampleClient>
  #isEnded = false
  #client: SampleClient | undefined

  constructor(connect: (onMessage: (client: SampleClient, market: string) => void) => Promise<SampleClient>) {
    this.#connect = () => connect((client, name) => this.#keep(client, name))
  }

  async run(): Promise<void> {
    while (!this.#isEnded) {
      try {
        this.#client = await this.#connect()
        for (const name of MARKETS) await this.#client.subscribe({ type: 'market_data', params: { market: name } })
        await this.#client.untilClosed(2_000_000_000)
      } catch {
        // Refused, or closed meanwhile: once more.
      }
      this.problems.push(...(this.#client?.problems ?? []))
      await sleep(300)
    }
  }

  end(): Promise<void> | undefined {
    this.#isEnded = true
    return this.#client?.close()
  }

  #keep(client: SampleClient, name: string): void {
    const { bids, asks, time, isComplete } = client.book(name)
    if (!isComplete) return
    const sorted = (side: ReadonlyMap<string, string>, sign: number) =>
      [...side].sort(([left], [right]) => sign * (Number(left) - Number(right)))
    const text = JSON.stringify([sorted(bids, -1), sorted(asks, 1)])
    this.hashes.set(`${name} ${time}`, createHash('sha256').update(text).digest('hex'))
  }
}

it(`keeps right books for ${minutes} minutes, without a leak`, async () => {
  const service = new DisturbedService({ 'http.port': await freePort(), 'operator.port': await freePort() })
  onTestFinished(() => service.stop('SIGKILL'))
  await service.start()
  const created = await service.operator.createClient()
  const credentials = {
    client_id: created.clientId,
    client_secret: created.clientSecret,
    scopes: [STREAM_SCOPE],
    ...{ base_url: service.http, auth_url: service.http, ws_url: service.ws },
  }
  const credentialsPath = join(folder.path, 'client.json')
  writeFileSync(credentialsPath, JSON.stringify(credentials))
  const reference = new Reference(async (onMessage) => {
    const token = await tokenOf({ ...service, folder: folder.path }, created)
    const onBook = (message: object, client: SampleClient): void => {
      const { channel, payload } = message as { channel?: string; payload?: { market?: string } }
      if (channel === 'market_data') onMessage(client, String(payload?.market))
    }
    return SampleClient.connect({ wsUrl: service.ws, token, messagesKept: 1, executionsKept: 1, onMessage: onBook })
  })
  const referenceRunning = reference.run()
  const program = ['--expose-gc', '--import', import.meta.resolve('tsx'), join(import.meta.dirname, 'soak-program.ts')]
  const env = { PATH: process.env.PATH, TIDEGATE_CREDENTIALS: credentialsPath }
  const client = startProgram(process.execPath, program, { cwd: folder.path, env })
  onTestFinished(() => void client.child.kill('SIGKILL'))
  const deadline = performance.now() + minutes * 60_000
  const torture = tortureUntil(deadline)
  let disturbances = 0
  for (; performance.now() < deadline; disturbances++) {
    await sleep(DISTURBANCE_MILLISECONDS)
    await service.disturb(disturbances)
  }
  await sleep(20_000)
  const lines = client
    .stdout()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  client.child.kill('SIGKILL')
  await client.result
  const ended = reference.end()
  const tortured = await torture
  await service.stop('SIGTERM')
  await ended
  await referenceRunning

  const books = lines.flatMap(({ book }) => (book === undefined ? [] : [book as Status]))
  const compared = books.filter(
    ({ market: name, time, status }) => status === 'LIVE' && reference.hashes.has(`${name} ${time}`),
  )
  const wrong = compared.filter(({ market: name, time, hash }) => reference.hashes.get(`${name} ${time}`) !== hash)
  const events = lines.flatMap(({ event }) => (event === undefined ? [] : [event]))
  const faults = events.filter(({ type, reason }) => type === 'RESYNC' && !/^the market was/.test(reason))
  const memory = lines.flatMap(({ memory: each }) => (each === undefined ? [] : [each]))
  const result = {
    minutes,
    disturbances,
    connections: events.filter(({ type }) => type === 'CONNECTED').length,
    compared: compared.length,
    wrong: wrong.length,
    faults: faults.length,
    heapBytes: memory.map(({ heapBytes }) => heapBytes),
    counts: memory.at(-1),
    tortured,
  }
  if (logFile !== undefined) appendFileSync(logFile, `${JSON.stringify(result)}\n`)
  expect({ wrong, faults, problems: reference.problems, torture: tortured.wrong }).toEqual({
    wrong: [],
    faults: [],
    problems: [],
    torture: [],
  })
  expect(compared.length).toBeGreaterThan(20 * minutes)
  expect(MARKETS.map((name) => books.findLast((book) => book.market === name)?.status)).toEqual(['LIVE', 'LIVE'])
  const [early = 0, late = 0] = [memory[1]?.heapBytes, memory.at(-1)?.heapBytes]
  expect(late).toBeLessThan(early + 4_000_000)
})

/** The program of the README under `torture`, again and again. */
async function tortureUntil(deadline: number): Promise<{ runs: number; right: number; wrong: string[] }> {
  const total = { runs: 0, right: 0, wrong: [] as string[] }
  const command = readmeProgram(folder.path)
  while (performance.now() < deadline) {
    const { error, results } = await runTorture(folder.path, ['--pace', '300', '--', ...command]).ended
    total.runs++
    total.right += results.filter(({ outcome }) => outcome === 'right').length
    const wrong = results.filter(({ outcome }) => outcome === 'wrong').map(({ name }) => name)
    total.wrong.push(...wrong, ...(error === '' ? [] : [error]))
  }
  return total
}

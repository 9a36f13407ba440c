/** SIGHUP on a real process: markets are added and removed under open connections, and nothing else is disturbed. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { until } from '../support/awaited.ts'
import { type RunningCommand, startCommand } from '../support/command-line.ts'
import { market, newToken, OperatorApi, type RunningService } from '../support/running-service.ts'
import { Waiters } from '../support/waiters.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-reload-'))
const file = join(folder, 'tidegate.yaml')
/** An engine that says that its prices are invented. */
const ENGINE = join(import.meta.dirname, '../../examples/module/engine.mjs')

let command: RunningCommand
let service: RunningService
let token: string

const BTC = market('BTC', 2, 10)
const ETH = market('ETH', 2, 10)
const SOL = market('SOL', 2, 10)

function configure(values: object): void {
  writeFileSync(file, JSON.stringify({ simulator: { allowed: true }, ...values }))
}

/** Sends SIGHUP and resolves to the first new log line with that event. */
async function reload(event: string): Promise<Record<string, unknown>> {
  const seen = command.stderr().split('\n').length - 1
  command.child.kill('SIGHUP')
  const isNew = (line: string) => command.stderr().split('\n').indexOf(line) >= seen
  return JSON.parse(await command.errorLine((line) => line.includes(`"event":"${event}"`) && isNew(line)))
}

class Client {
  readonly messages: Record<string, unknown>[] = []
  readonly socket: WebSocket
  readonly #waiters = new Waiters()
  isClosed = false

  constructor() {
    this.socket = new WebSocket(service.ws, { headers: { authorization: `Bearer ${token}` } })
    this.socket.on('message', (data) => {
      this.messages.push(JSON.parse(String(data)))
      this.#waiters.notify()
    })
    this.socket.on('close', () => {
      this.isClosed = true
    })
  }

  async open(): Promise<this> {
    await new Promise((resolve, reject) => this.socket.once('open', resolve).once('error', reject))
    return this
  }

  subscribe(...markets: string[]): void {
    const channels = markets.map((name) => ({ type: 'market_data', params: { market: name } }))
    this.socket.send(JSON.stringify({ type: 'subscribe', channels }))
  }

  until(what: string, isMet: (message: Record<string, unknown>) => boolean): Promise<void> {
    return this.#waiters.until(what, () => this.messages.some(isMet))
  }

  data(symbol: string): { type: string; time: string }[] {
    return this.messages.flatMap(({ payload }) => {
      const { market: name, ...rest } = (payload ?? {}) as { market?: string; type: string; time: string }
      return name === symbol ? [rest] : []
    })
  }
}

const isData = (symbol: string, type: string) => (message: Record<string, unknown>) => {
  const payload = message.payload as { market: string; type: string } | undefined
  return payload?.market === symbol && payload.type === type
}

beforeAll(async () => {
  configure({ markets: [BTC, ETH], log: { level: 'info' } })
  const args = ['serve', '--config', file, '--http.port', '0', '--operator.port', '0', '--data_dir', folder]
  command = startCommand(args)
  const ready = JSON.parse(await command.line((line) => line.startsWith('{"ready":true')))
  service = { http: ready.http, ws: ready.ws, operator: new OperatorApi(ready.operator, folder), folder }
  token = await newToken(service)
})

afterAll(async () => {
  command.child.kill('SIGTERM')
  expect((await command.result).code).toBe(0)
  rmSync(folder, { recursive: true })
})

it('a reload adds a market that can be subscribed, notifies subscribers of a removed one, and keeps the connection', async () => {
  const client = await new Client().open()
  client.subscribe('BTCUSD', 'ETHUSD')
  await client.until('updates of both', isData('BTCUSD', 'UPDATE'))
  await client.until('updates of both', isData('ETHUSD', 'UPDATE'))
  configure({ markets: [SOL, BTC] })
  expect(await reload('markets changed')).toMatchObject({ added: ['SOLUSD'], removed: ['ETHUSD'] })
  await client.until('the word', ({ type }) => type === 'unsubscribe')
  const notices = client.messages.filter(({ type }) => type === 'unsubscribe')
  expect(notices).toEqual([
    {
      type: 'unsubscribe',
      channels: [
        {
          type: 'market_data',
          params: { market: 'ETHUSD' },
          success: true,
          message: 'the market was removed: it is no longer served',
        },
      ],
    },
  ])
  const count = client.data('ETHUSD').length
  client.subscribe('SOLUSD')
  await client.until('the new market', isData('SOLUSD', 'UPDATE'))
  expect(client.data('SOLUSD')[0]?.type).toBe('SNAPSHOT')
  expect(client.data('ETHUSD')).toHaveLength(count)
  // One SNAPSHOT for the whole life of the connection: no message of the remaining market was lost.
  expect(client.data('BTCUSD').filter(({ type }) => type === 'SNAPSHOT')).toHaveLength(1)
  const { checks } = (await (await fetch(`${service.operator.url}/readyz`)).json()) as { checks: { name: string }[] }
  expect(checks.map(({ name }) => name).filter((name) => name.startsWith('market'))).toEqual([
    'market SOLUSD',
    'market BTCUSD',
  ])
  const before = client.data('SOLUSD').at(-1)?.time as string
  configure({ markets: [{ ...SOL, price_decimals: 3 }, BTC] })
  expect(await reload('markets changed')).toMatchObject({ added: ['SOLUSD'], removed: ['SOLUSD'] })
  await client.until(
    'the word',
    ({ channels, type }) => type === 'unsubscribe' && JSON.stringify(channels).includes('the market was changed'),
  )
  const known = client.messages.length
  client.subscribe('SOLUSD')
  await client.until(
    'the changed market',
    (message) => client.messages.indexOf(message) >= known && isData('SOLUSD', 'SNAPSHOT')(message),
  )
  expect((client.data('SOLUSD').findLast(({ type }) => type === 'SNAPSHOT')?.time as string) > before).toBe(true)
  expect(client.isClosed).toBe(false)
  client.socket.close()
})

it('a reload names a key that needs a restart and keeps its value, unlike a key that can change', async () => {
  configure({ markets: [BTC], stream: { subscriptions_max: 1, ping_seconds: 3 } })
  expect(await reload('keys that need a restart keep their old value')).toMatchObject({
    level: 'warn',
    keys: ['stream.ping_seconds'],
  })
  const client = await new Client().open()
  client.socket.send('{"type":"subscribe","channels":[{"type":"heartbeat"}]}')
  client.subscribe('BTCUSD')
  const answers = () => client.messages.filter(({ type }) => type === 'subscribe')
  await client.until('both answers', () => answers().length === 2)
  expect(answers().flatMap(({ channels }) => channels)).toMatchObject([
    { success: true },
    { success: false, error: 'NO_EFFECT_ACTION', message: 'the limit of 1 subscriptions per connection is reached' },
  ])
  client.socket.close()
})

it('a reload of a broken configuration changes nothing, and logs every problem', async () => {
  configure({ markets: [{ ...SOL, depth: -1 }], stream: { subscriptions_max: 0 } })
  expect(await reload('the configuration has problems: it stays as it was')).toMatchObject({
    level: 'error',
    problems: [expect.stringContaining('markets[0].depth'), expect.stringContaining('stream.subscriptions_max')],
  })
  writeFileSync(file, 'markets: [')
  await reload('the configuration has problems: it stays as it was')
  for (const [text, reason] of [
    ['', 'the configuration file is empty'],
    ['log: {level: info}\n', 'markets would be empty'],
  ] as const) {
    writeFileSync(file, text)
    const event = 'the configuration was not reloaded: it stays as it was'
    expect(await reload(event)).toMatchObject({ level: 'error', reason: expect.stringContaining(reason) })
  }
  await expect.poll(async () => (await fetch(`${service.operator.url}/readyz`)).status).toBe(200)
  const client = await new Client().open()
  client.subscribe('BTCUSD')
  await client.until('data', isData('BTCUSD', 'SNAPSHOT'))
  client.socket.close()
})

it('a reload changes the log level', async () => {
  configure({ markets: [BTC, ETH], log: { level: 'error' } })
  command.child.kill('SIGHUP')
  const readiness = async () => (await fetch(`${service.operator.url}/readyz`)).text()
  await until('readiness to name the market ETHUSD', async () => (await readiness()).includes('market ETHUSD'))
  expect(command.stderr()).not.toContain('"added":["ETHUSD"]')
  configure({ markets: [BTC], log: { level: 'info' } })
  expect(await reload('markets changed')).toMatchObject({ removed: ['ETHUSD'] })
})

it('a reload that forbids the simulator ends a market with simulated prices, and one that allows it continues the market', async () => {
  const markets = [{ ...market('SIM', 2, 10), amount_decimals: 8, sources: [`module:${ENGINE}:BTCUSD`] }]
  const stateOf = async () => {
    const { checks } = (await (await fetch(`${service.operator.url}/readyz`)).json()) as {
      checks: { name: string; detail: string }[]
    }
    return checks.find(({ name }) => name === 'market SIMUSD')?.detail
  }
  const until = (isMet: (detail: string) => boolean) =>
    vi.waitUntil(async () => isMet((await stateOf()) ?? ''), { timeout: 45_000, interval: 20 })
  configure({ markets })
  expect(await reload('markets changed')).toMatchObject({ added: ['SIMUSD'] })
  await until((detail) => detail === 'ok')
  configure({ markets, simulator: { allowed: false } })
  expect(await reload('source refused')).toMatchObject({ level: 'warn', market: 'SIMUSD' })
  await until((detail) => detail.includes('simulator.allowed must be true to serve it'))
  configure({ markets })
  await reload('configuration reloaded')
  await until((detail) => detail === 'ok')
})

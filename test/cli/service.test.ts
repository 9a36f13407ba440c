/**
 * The service as a process, from its first start to its last: its output, the files in its data folder, its answer to a
 * second start, its shutdown. One demo on one folder serves the cases in order.
 */

import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { servedScopes } from '../../src/contract/scopes.ts'
import { once } from '../support/awaited.ts'
import { type RunningCommand, runCommand, startCommand } from '../support/command-line.ts'
import { SIMULATED_ARGS } from '../support/simulated-markets.ts'

interface Ready {
  readonly http: string
  readonly ws: string
  readonly operator: string
  readonly pid: number
}

interface DemoFile {
  readonly client_id: string
  readonly client_secret: string
  readonly scopes: readonly string[]
  readonly base_url: string
  readonly auth_url: string
  readonly ws_url: string
}

const folder = mkdtempSync(join(tmpdir(), 'tidegate-service-'))
const FLAGS = ['--http.port', '0', '--operator.port=0', '--data_dir', folder]

const running = new Set<RunningCommand>()

function start(verb: 'demo' | 'serve', ...flags: string[]): RunningCommand {
  const command = startCommand([verb, ...FLAGS, ...(verb === 'serve' ? SIMULATED_ARGS : []), ...flags])
  running.add(command)
  void command.result.then(() => running.delete(command))
  return command
}

async function readyOf(command: RunningCommand): Promise<Ready> {
  return JSON.parse(await command.line((line) => line.startsWith('{"ready":true')))
}

function readDemoFile(): DemoFile {
  return JSON.parse(readFileSync(join(folder, 'demo-client.json'), 'utf8'))
}

async function fetchToken({ auth_url, client_id, client_secret }: DemoFile): Promise<string> {
  const scope = 'exchange:read_aggregated_marketdata_stream'
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  const response = await fetch(`${auth_url}/oauth2/token`, { method: 'POST', body })
  expect(response.status).toBe(200)
  return ((await response.json()) as { access_token: string }).access_token
}

async function openStream(demo: DemoFile): Promise<WebSocket> {
  const socket = new WebSocket(demo.ws_url, { headers: { authorization: `Bearer ${await fetchToken(demo)}` } })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return socket
}

async function expectSimulatedMarkets(operator: string): Promise<void> {
  const { checks } = (await (await fetch(`${operator}/readyz`)).json()) as { checks: object[] }
  const detail = 'simulated: its prices are invented'
  for (const symbol of ['BTCUSD', 'ETHUSD', 'SOLUSD']) {
    expect(checks).toContainEqual({ name: `market ${symbol}`, ok: true, detail })
  }
  expect(await (await fetch(`${operator}/metrics`)).text()).toContain('tidegate_market_simulated{market="BTCUSD"} 1')
}

afterAll(async () => {
  for (const command of running) command.child.kill('SIGKILL')
  await Promise.all([...running].map((command) => command.result))
  rmSync(folder, { recursive: true })
})

describe('demo', () => {
  let demo: RunningCommand
  let ready: Ready

  beforeAll(async () => {
    demo = start('demo')
    ready = await readyOf(demo)
  })

  it('demo prints all addresses in at most 15 lines, without a secret, and then that it is ready', async () => {
    const lines = demo.stdout().trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(16)
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ ready: true, ...ready })
    expect(ready.pid).toBe(demo.child.pid)
    const text = lines.join('\n')
    for (const shown of [ready.http, ready.ws, ready.operator, join(folder, 'demo-client.json'), 'watch BTCUSD']) {
      expect(text).toContain(shown)
    }
    const { client_secret } = readDemoFile()
    expect(text).not.toContain(client_secret)
    expect(demo.stderr()).not.toContain(client_secret)
  })

  it('demo leaves credentials with the current addresses that only the owner can read', () => {
    expect(Object.keys(readDemoFile())).toEqual([
      'client_id',
      'client_secret',
      'scopes',
      'base_url',
      'auth_url',
      'ws_url',
    ])
    expect(readDemoFile()).toMatchObject({
      base_url: ready.http,
      auth_url: ready.http,
      ws_url: ready.ws,
      scopes: servedScopes(true),
    })
    for (const name of ['demo-client.json', 'demo-token-request', 'operator-token', 'lock']) {
      expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600)
    }
  })

  it('demo prints a curl command that gets a token', async ({ skip }) => {
    const line =
      demo
        .stdout()
        .split('\n')
        .find((text) => text.includes('curl ')) ?? ''
    const hasCurl = await promisify(execFile)('curl', ['--version']).then(
      () => true,
      () => false,
    )
    if (!hasCurl) skip('curl is not installed')
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', line.trim()])
    expect(JSON.parse(stdout)).toMatchObject({ token_type: 'bearer', expires_in: 3600 })
  })

  it('demo prints a watch command that shows the market', async () => {
    const words =
      demo
        .stdout()
        .split('\n')
        .find((text) => text.includes('watch BTCUSD'))
        ?.trim()
        .split(' ') ?? []
    const watch = startCommand([...words.slice(2), '--seconds', '120'])
    running.add(watch)
    expect(await watch.line((line) => line.includes('snapshot BTCUSD'))).toMatch(/bids=\d/)
    watch.child.kill('SIGINT')
    expect((await watch.result).code).toBe(0)
    running.delete(watch)
  })

  it('demo is live and ready, and names every market', async () => {
    expect((await fetch(`${ready.operator}/livez`)).status).toBe(200)
    const response = await fetch(`${ready.operator}/readyz`)
    expect(response.status).toBe(200)
    const { checks } = (await response.json()) as { checks: { name: string; ok: boolean }[] }
    expect(checks.filter(({ name }) => name.startsWith('market '))).toEqual(
      ['BTCUSD', 'ETHUSD', 'SOLUSD'].map((symbol) => ({
        name: `market ${symbol}`,
        ok: true,
        detail: 'simulated: its prices are invented',
      })),
    )
    expect(await (await fetch(`${ready.operator}/metrics`)).text()).toContain('tidegate_commits_total{market="BTCUSD"}')
  })

  it('demo locks the folder: a second start names the holder and exits with 1', async () => {
    const second = await runCommand(['serve', ...FLAGS, '--log.level', 'error'])
    expect(second).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        `^tidegate: the data folder ${folder} is in use by process ${ready.pid} on host ${hostname()}, since [^\\n]+: stop it, or [^\\n]+ --data_dir\\n$`,
      ),
    })
    expect((await runCommand(['migrate', '--data_dir', folder])).code).toBe(1)
  })

  it('demo closes connections with 1012 and exits with 0 on SIGTERM', async () => {
    const socket = await openStream(readDemoFile())
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    demo.child.kill('SIGTERM')
    expect(await closed).toBe(1012)
    expect((await demo.result).code).toBe(0)
    expect(existsSync(join(folder, 'lock'))).toBe(false)
  })
})

describe('a later start', () => {
  let command: RunningCommand | undefined

  afterEach(async () => {
    if (command === undefined) return
    command.child.kill('SIGINT')
    expect((await command.result).code).toBe(0)
    command = undefined
  })

  it('a later start of the demo keeps the secret and writes the new addresses', async () => {
    const before = readDemoFile()
    command = start('demo')
    const { http } = await readyOf(command)
    expect(readDemoFile()).toEqual({ ...before, base_url: http, auth_url: http, ws_url: http.replace('http', 'ws') })
    await fetchToken(readDemoFile())
  })

  it('a later start of the demo replaces a lost secret, and gives customers the configured public address', async () => {
    const before = readDemoFile()
    rmSync(join(folder, 'demo-client.json'))
    const streamUrl = 'wss://stream.example/feed'
    command = start('demo', '--http.public_url', 'https://books.example/', '--stream.public_url', streamUrl)
    const { http } = await readyOf(command)
    expect(http).toContain('127.0.0.1')
    const now = readDemoFile()
    expect(now).toMatchObject({ base_url: 'https://books.example', ws_url: streamUrl })
    expect(now.client_id).toBe(before.client_id)
    expect(now.client_secret).not.toBe(before.client_secret)
    await fetchToken({ ...now, auth_url: http })
  })

  it('a later start of serve prints one line, serves simulated markets where allowed, and drains before it ends', async () => {
    command = start('serve', '--http.drain_delay_seconds', '6', '--stream.drain_seconds', '0')
    const ready = await readyOf(command)
    expect(command.stdout().split('\n')).toHaveLength(2)
    await expectSimulatedMarkets(ready.operator)
    const demo = { ...readDemoFile(), auth_url: ready.http, ws_url: ready.ws }
    const socket = await openStream(demo)
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    const stopping = command.errorLine((line) => line.includes('"event":"stopping"'))
    command.child.kill('SIGTERM')
    await stopping
    const response = await fetch(`${ready.operator}/readyz`)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({
      checks: expect.arrayContaining([expect.objectContaining({ name: 'draining', ok: false })]),
    })
    expect(await closed).toBe(1012)
    expect((await command.result).code).toBe(0)
    await expect(fetch(ready.http)).rejects.toThrow()
    // A second signal would end the process at once.
    command = undefined
  })
})

describe('serve without configured markets', () => {
  const ELSEWHERE = ['--http.port', '0', '--operator.port', '0', '--data_dir', join(folder, 'elsewhere')]

  it('serve starts without configured markets, and reports that where markets are looked up', async () => {
    const command = startCommand(['serve', ...ELSEWHERE])
    running.add(command)
    const { operator } = await readyOf(command)
    const response = await fetch(`${operator}/readyz`)
    expect(response.status).toBe(200)
    const { checks } = (await response.json()) as { checks: { name: string; detail: string }[] }
    expect(checks.filter(({ name }) => name.startsWith('market'))).toEqual([
      { name: 'markets', ok: true, detail: 'no market is configured' },
    ])
    expect(await (await fetch(`${operator}/metrics`)).text()).not.toContain('tidegate_market_live{')
    expect(command.stderr()).toContain('no markets are configured: the stream serves none')
    command.child.kill('SIGTERM')
    expect((await command.result).code).toBe(0)
    running.delete(command)
  })

  it('serve without configured markets refuses simulated markets unless allowed, in one line that names both keys', async () => {
    const [, markets = ''] = SIMULATED_ARGS
    const result = await runCommand(['serve', ...ELSEWHERE, '--markets', markets])
    expect(result).toMatchObject({ code: 1, stdout: '' })
    expect(result.stderr).toMatch(
      /^tidegate: markets\[0\]\.sources\[0\] is simulator, [^\n]*simulator\.allowed[^\n]*\n$/,
    )
    const check = await runCommand(['check-config', '--offline', '--markets', markets])
    expect(check.code).toBe(1)
    expect(check.stdout).toMatch(/^bad +configuration +markets\[0\]\.sources\[0\] is simulator, .*simulator\.allowed/)
  })
})

it('migrate reports that there is nothing to do, and releases the folder', async () => {
  const result = await runCommand(['migrate', '--data_dir', folder])
  expect(result).toEqual({ code: 0, stdout: 'the schema is current\n', stderr: '' })
  expect(existsSync(join(folder, 'lock'))).toBe(false)
})

it('a folder locked by another host is refused until --take-over is given', async () => {
  const facts = { pid: 12, host: 'other', boot_id: '', started: '2026-01-01T00:00:00.000Z', process_start: '' }
  const nonce = '0190a000-0000-7000-8000-000000000000'
  writeFileSync(join(folder, 'lock'), JSON.stringify({ ...facts, has_socket: true, nonce }))
  const refused = await runCommand(['migrate', '--data_dir', folder])
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/ in use by process 12 on another host, other, since 2026-01-01.*--take-over\n$/)
  const taken = await runCommand(['migrate', '--data_dir', folder, '--take-over'])
  expect(taken).toMatchObject({ code: 0, stdout: 'the schema is current\n' })
  expect(taken.stderr).toContain('the data folder was taken over from another host')
  expect(existsSync(join(folder, 'lock'))).toBe(false)
})

it('a port in use causes one error line, and the folder is released', async () => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  const result = await runCommand(['serve', ...FLAGS, '--http.port', String(port), '--log.level', 'error'])
  expect(result).toMatchObject({ code: 1, stdout: '' })
  expect(result.stderr).toMatch(
    /^tidegate: http\.port: another program listens on .*\(EADDRINUSE\): .*--http\.port 0 .*\n$/,
  )
  expect(existsSync(join(folder, 'lock'))).toBe(false)
  holder.close()
})

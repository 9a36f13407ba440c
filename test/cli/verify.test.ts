/** `tidegate verify` against a service that sends what the test specifies. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { registerVerify } from '../../src/cli/verify.ts'
import { until } from '../support/awaited.ts'
import { type CommandRun, type CommandRunOptions, runCommand } from '../support/command-run.ts'
import { acknowledgement, type FakeConnection, FakeService, type FakeServiceOptions } from '../support/fake-service.ts'
import { execution, heartbeat, nanosecondTime, snapshot, top, update } from '../support/wire.ts'

const M = 'BTCUSD'

let folder: string
let service: FakeService
let runs: CommandRun[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidegate-verify-'))
  runs = []
})

afterEach(async () => {
  for (const run of runs) run.interrupt()
  await Promise.all(runs.map((run) => run.ended))
  for (const run of runs) {
    expect(run.stdout.text + run.stderr.text).not.toMatch(new RegExp(`${service.clientSecret}|token-`))
    expect((await run.ended).error).not.toContain(service.clientSecret)
  }
  await service.close()
  await rm(folder, { recursive: true })
})

async function startService(options?: FakeServiceOptions, more: object = {}): Promise<string> {
  service = await FakeService.start(options)
  const path = join(folder, 'client.json')
  await writeFile(path, JSON.stringify({ ...service.credentialsFile, ...more }))
  return path
}

function verify(args: readonly string[], options?: CommandRunOptions): CommandRun {
  const run = runCommand(registerVerify, ['verify', ...args], options)
  runs.push(run)
  return run
}

function sendClean(connection: FakeConnection, market: string): void {
  connection.send(snapshot(market, 1, [['100.00', '1.5000']], [['101.00', '1.0000']]))
  connection.send(top(market, 1, ['100.00', '1.5000'], ['101.00', '1.0000']))
  connection.send(heartbeat(1))
  connection.send(execution(market, 2, '101.00', '0.5000'))
  connection.send(update(market, 2, [], [['101.00', '0.5000']]))
  connection.send(top(market, 2, ['100.00', '1.5000'], ['101.00', '0.5000']))
}

describe('verify', () => {
  it('verify reports that a correct service is correct, and ends with 0', async () => {
    const run = verify([M, '--seconds', '10', '--credentials', await startService()])
    const connection = await service.connection(0)
    sendClean(connection, M)
    await connection.received()
    run.clock.advance(10_000)
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
    expect(run.stdout.text).toBe(`ws://127.0.0.1:${service.port}, 10 s, 1 connection
  messages             7
  snapshots            1
  updates              1
  tops                 2
  executions           1
  heartbeats           1
  BTCUSD      1 bids, 1 asks at the end

No violations.
`)
    expect(run.stderr.text).toBe('')
  })

  it('verify subscribes again to a market that was changed, and stops checking one that was removed', async () => {
    const refusal = {
      success: false,
      error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
      message: 'there is no such market',
    }
    const onRequest: FakeServiceOptions['onRequest'] = (request, connection) =>
      connection.send(acknowledgement(request, connection.requests.length === 3 ? refusal : undefined))
    const run = verify([M, '--json', '--credentials', await startService({ onRequest })])
    const connection = await service.connection(0)
    sendClean(connection, M)
    const channels = connection.requests[0]?.channels?.slice(0, 3)
    const end = () =>
      connection.send({ type: 'unsubscribe', channels: channels?.map((entry) => ({ ...entry, success: true })) })
    end()
    await service.until('a second request', () => connection.requests.length === 2)
    expect(connection.requests[1]).toEqual({ type: 'subscribe', channels })
    // It has other decimals now.
    connection.send(snapshot(M, 3, [['50.000', '1.5']], []))
    connection.send(top(M, 3, ['50.000', '1.5'], undefined))
    end()
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
    expect(JSON.parse(run.stdout.text)).toMatchObject({ ok: true, violations: [], counts: { snapshots: 2 } })
  })

  it('verify names every broken rule and ends with 1', async () => {
    const run = verify([M, '--json', '--credentials', await startService()])
    const connection = await service.connection(0)
    sendClean(connection, M)
    for (const price of ['90.00', '91.00']) connection.send(update(M, 3, [[price, '0']], []))
    await connection.received()
    run.clock.advance(2_500)
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 1, error: '' })
    expect(JSON.parse(run.stdout.text)).toEqual({
      ok: false,
      service: `ws://127.0.0.1:${service.port}`,
      seconds: 2.5,
      connections: 1,
      counts: { messages: 9, snapshots: 1, updates: 3, tops: 2, executions: 1, heartbeats: 1 },
      books: [{ market: M, bids: 1, asks: 1 }],
      violations: [
        {
          name: 'unknown-level-removed',
          rule: 'only a level the client has is removed',
          count: 2,
          examples: [
            { market: M, detail: 'bids 90.00', atMilliseconds: 0 },
            { market: M, detail: 'bids 91.00', atMilliseconds: 0 },
          ],
        },
        {
          name: 'time-order',
          rule: 'every book message is strictly later than the previous one, and so is every top of book',
          count: 1,
          examples: [
            { market: M, detail: '2026-01-01T00:00:00.003Z after 2026-01-01T00:00:00.003Z', atMilliseconds: 0 },
          ],
        },
      ],
    })
  })

  it('verify does not call a service correct that sent no book', async () => {
    const run = verify([M, 'ETHUSD', '--seconds', '3', '--credentials', await startService()])
    const connection = await service.connection(0)
    sendClean(connection, M)
    await connection.received()
    run.clock.advance(3_000)
    expect((await run.ended).exitCode).toBe(1)
    expect(run.stdout.text).toContain('snapshot-missing')
    expect(run.stdout.text).toContain('ETHUSD: no SNAPSHOT on this connection')
  })

  it('verify ends at once when a subscription is refused', async () => {
    const path = await startService({
      onRequest: (request, connection) =>
        connection.send({
          type: 'subscribe',
          channels: request.channels?.map((entry) =>
            entry.params === undefined ? { ...entry, success: true } : { ...entry, success: false, error: 'UNKNOWN' },
          ),
        }),
    })
    const run = verify([M, '--credentials', path])
    expect((await run.ended).exitCode).toBe(1)
    expect(run.stdout.text).toContain('request-refused (3): a valid request succeeds')
    expect(run.stdout.text).toContain('BTCUSD: market_data: UNKNOWN')
  })

  it('verify --rest finds a falsified REST book, and reports what it compared', async () => {
    const time = '2026-01-01T00:00:00.001Z'
    const book = { market: M, cursor: 'c1', time, digest: '0000000000000000' }
    const bids = [{ price: '100.00', amount: '1.4000' }]
    const asks = [{ price: '101.00', amount: '1.0000' }]
    const headers = { etag: '"c1-0"' }
    let tagged = 0
    const marketData: FakeServiceOptions['marketData'] = (path, tag) => {
      if (!path.startsWith(`${M}/order-book`)) return { status: 503 }
      if (tag !== undefined) tagged++
      const depth = Number(/depth=(\d+)/.exec(path)?.[1] ?? 0)
      return tag === undefined
        ? { status: 200, headers, body: { ...book, depth, bids, asks } }
        : { status: 304, headers }
    }
    const path = await startService({ marketData })
    const run = verify([M, '--rest', '--json', '--heartbeat-seconds', '3600', '--credentials', path])
    const connection = await service.connection(0)
    const whole = snapshot(M, 1, [['100.00', '1.5000']], [['101.00', '1.0000']])
    connection.send({ ...whole, stream: { cursor: 'c1', covers: 1 } })
    const best = top(M, 1, ['100.00', '1.5000'], ['101.00', '1.0000'])
    connection.send({ ...best, stream: { cursor: 't1', covers: 0 } })
    const payload = { timestamp: nanosecondTime(1), books: [{ market: M, cursor: 'c1', live: false }] }
    connection.send({ channel: 'heartbeat', payload })
    await connection.received()
    while (tagged < 2) {
      run.clock.advance(10)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    run.interrupt()
    expect((await run.ended).exitCode).toBe(1)
    const { rest, violations } = JSON.parse(run.stdout.text)
    expect(rest.books).toBeGreaterThan(0)
    expect(rest.unchanged).toBeGreaterThan(0)
    expect(violations.map(({ name }: { name: string }) => name)).toEqual(['rest-book-differs'])
    expect(violations[0].examples[0].detail).toBe(
      "at c1, depth 0: bids level 1 is 100.00 x 1.4000, the stream's 100.00 x 1.5000",
    )
  })

  it('verify --rest continues when its token is not renewed at once', async () => {
    const tokens = [undefined, undefined, { status: 503 }]
    const marketData = () => ({ status: service.tokenRequests.length < 4 ? 401 : 503 })
    const run = verify([M, '--rest', '--json', '--credentials', await startService({ tokens, marketData })])
    const connection = await service.connection(0)
    const whole = snapshot(M, 1, [['100.00', '1.5000']], [['101.00', '1.0000']])
    connection.send({ ...whole, stream: { cursor: 'c1', covers: 1 } })
    await connection.received()
    while (service.tokenRequests.length < 4) {
      run.clock.advance(10)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 1, error: '' })
    const names = JSON.parse(run.stdout.text).violations.map(({ name }: { name: string }) => name)
    expect(names).toContain('rest-not-compared')
  })

  it('verify --rest names the scope that the client lacks', async () => {
    const body = { error: 'invalid_scope', error_description: 'the client does not hold it' }
    const run = verify([M, '--rest', '--credentials', await startService({ tokens: [{ status: 400, body }] })])
    expect(await run.ended).toEqual({
      exitCode: 1,
      error:
        '--rest needs the scope exchange:read_marketdata: ' +
        `${service.url}/oauth2/token answered 400: invalid_scope, the client does not hold it`,
    })
  })

  it('verify uses the markets of the credentials file when none are given', async () => {
    const run = verify(['--credentials', await startService({}, { markets: ['SOLUSD'] })])
    const connection = await service.connection(0)
    expect(connection.requests[0]?.channels?.[0]).toEqual({ type: 'market_data', params: { market: 'SOLUSD' } })
    run.interrupt()
  })

  it('verify asks for markets when none are named', async () => {
    const run = verify(['--credentials', await startService()])
    expect((await run.ended).error).toContain('name at least one market')
    expect(service.tokenRequests).toHaveLength(0)
  })

  it('verify shows progress on a terminal and clears it', async () => {
    const run = verify([M, '--credentials', await startService()], { terminal: { columns: 80, rows: 24 } })
    const connection = await service.connection(0)
    sendClean(connection, M)
    await connection.received()
    run.clock.advance(1_250)
    expect(run.stderr.text.endsWith('\r\u001b[2K1 of 30 s, 7 messages, 0 violations')).toBe(true)
    run.interrupt()
    await run.ended
    expect(run.stderr.text.endsWith('\r\u001b[2K')).toBe(true)
  })
})

describe('the connection of verify', () => {
  /** Resolves when the next attempt is due after this time, and lets it pass. */
  const retry = async ({ clock }: CommandRun, milliseconds: number): Promise<void> => {
    await until(`a timer of ${milliseconds} ms`, () => clock.isDueIn(milliseconds))
    clock.advance(milliseconds)
  }

  it.each([
    { title: 'the service restarts', code: 1012, text: 'as the test says' },
    { title: 'the market data is stale', code: 4002, text: 'as the test says' },
    { title: 'it is cut', code: 1006, text: 'connection lost' },
  ])('verify opens its connection again when $title', async ({ code, text }) => {
    const run = verify([M, '--seconds', '10', '--credentials', await startService()])
    const first = await service.connection(0)
    sendClean(first, M)
    await first.received()
    if (code === 1006) first.cut()
    else first.close(code, 'as the test says')
    await run.stderr.until('the reason', () => run.stderr.text === `disconnected: ${text}\n`)
    await retry(run, 250)
    const second = await service.connection(1)
    expect(service.handshakeTokens).toEqual(['Bearer token-1', 'Bearer token-2'])
    sendClean(second, M)
    await second.received()
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
    expect(run.stdout.text).toContain('2 connections')
  })

  it('verify opens its connection with growing delays while that fails, and never before Retry-After', async () => {
    const busy = { status: 503, headers: { 'retry-after': '7' } }
    const handshakes = [undefined, { status: 429 }, busy, { status: 500 }]
    const run = verify([M, '--credentials', await startService({ handshakes, tokens: [undefined, { status: 429 }] })])
    ;(await service.connection(0)).close(1012)
    for (const wait of [250, 500, 1_000, 7_000, 4_000]) await retry(run, wait)
    await service.connection(1)
    expect(service.handshakeTokens).toHaveLength(5)
  })

  it('verify pauses after it has sent too much', async () => {
    const run = verify([M, '--credentials', await startService()])
    ;(await service.connection(0)).close(1008)
    await retry(run, 5_000)
    await service.connection(1)
  })

  it('verify counts its connection as lost when nothing arrives for a minute', async () => {
    const run = verify([M, '--seconds', '600', '--credentials', await startService()])
    const connection = await service.connection(0)
    await connection.received()
    run.clock.advance(59_000)
    connection.send(heartbeat(1))
    await connection.received()
    run.clock.advance(59_999)
    expect(run.stderr.text).toBe('')
    run.clock.advance(1)
    await run.stderr.until('the reason', () => run.stderr.text === 'disconnected: connection lost\n')
  })

  it('verify keeps trying when a node does not know the key of a new token yet', async () => {
    const handshakes = [undefined, { status: 401 }, { status: 401 }]
    const run = verify([M, '--credentials', await startService({ handshakes })])
    ;(await service.connection(0)).close(4001, 'token revoked')
    for (const wait of [250, 500, 1_000]) await retry(run, wait)
    await service.connection(1)
    expect(service.handshakeTokens).toEqual([1, 2, 3, 4].map((number) => `Bearer token-${number}`))
  })

  it('verify gives up when a new token is refused', async () => {
    const body = { error: 'invalid_client', error_description: 'the client is disabled' }
    const run = verify([M, '--credentials', await startService({ tokens: [undefined, { status: 401, body }] })])
    ;(await service.connection(0)).close(4001, 'token revoked')
    await retry(run, 250)
    const error = `${service.url}/oauth2/token answered 401: invalid_client, the client is disabled`
    expect(await run.ended).toEqual({ exitCode: 1, error })
  })

  it.each([
    { code: 4003, error: 'the service closed the connection: 4003 access revoked' },
    { code: 1007, error: 'the service did not accept what we sent: 1007 access revoked' },
  ])('verify gives up on close code $code', async ({ code, error }) => {
    const run = verify([M, '--credentials', await startService()])
    ;(await service.connection(0)).close(code, 'access revoked')
    expect(await run.ended).toEqual({ exitCode: 1, error })
  })

  it.each([
    { status: 401, meaning: 'the token was not accepted' },
    { status: 403, meaning: 'streaming allow list' },
    { status: 404, meaning: 'there is no stream at this address' },
  ])('verify gives up when the handshake is answered $status', async ({ status, meaning }) => {
    const run = verify([M, '--credentials', await startService({ handshakes: [{ status }] })])
    const { exitCode, error } = await run.ended
    expect(exitCode).toBe(1)
    expect(error).toContain(`answered ${status}`)
    expect(error).toContain(meaning)
  })

  it('verify gives up when no service answers at the start', async () => {
    const path = await startService()
    await service.close()
    const error = `cannot reach ${service.url}/oauth2/token: ECONNREFUSED. Is the service running?`
    expect(await verify([M, '--credentials', path]).ended).toEqual({ exitCode: 1, error })
    service = await FakeService.start()
  })

  it('verify waits for a connection no longer than until the end', async () => {
    const run = verify([M, '--credentials', await startService()])
    const connection = await service.connection(0)
    sendClean(connection, M)
    await connection.received()
    connection.close(1012)
    await run.stderr.until('the reason', () => run.stderr.text.includes('disconnected'))
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
  })
})

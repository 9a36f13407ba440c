/** `tidegate verify` against a service that sends what the test specifies. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { registerVerify } from '../../src/cli/verify.ts'
import { type CommandRun, type CommandRunOptions, runCommand } from '../support/command-run.ts'
import { acknowledgement, type FakeConnection, FakeService, type FakeServiceOptions } from '../support/fake-service.ts'
import { execution, heartbeat, snapshot, top, update } from '../support/wire.ts'

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
  for (const run of runs) expect(run.stdout.text + run.stderr.text).not.toContain(service.clientSecret)
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
  it('reports that a correct service is correct, and ends with 0', async () => {
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

  it('subscribes again to a market that was changed, and stops checking one that was removed', async () => {
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

  it('names every broken rule and ends with 1', async () => {
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
          rule: 'only a level that the client has is removed',
          count: 2,
          examples: [
            { market: M, detail: 'bids 90.00', atMilliseconds: 0 },
            { market: M, detail: 'bids 91.00', atMilliseconds: 0 },
          ],
        },
        {
          name: 'time-order',
          rule: 'every message of a book is strictly later than the previous one, and so is every top of book',
          count: 1,
          examples: [
            { market: M, detail: '2026-01-01T00:00:00.003Z after 2026-01-01T00:00:00.003Z', atMilliseconds: 0 },
          ],
        },
      ],
    })
  })

  it('does not call a service correct that sent no book', async () => {
    const run = verify([M, 'ETHUSD', '--seconds', '3', '--credentials', await startService()])
    const connection = await service.connection(0)
    sendClean(connection, M)
    await connection.received()
    run.clock.advance(3_000)
    expect((await run.ended).exitCode).toBe(1)
    expect(run.stdout.text).toContain('snapshot-missing')
    expect(run.stdout.text).toContain('ETHUSD: no SNAPSHOT on this connection')
  })

  it('continues after a restart of the service', async () => {
    const run = verify([M, '--seconds', '10', '--credentials', await startService()])
    const first = await service.connection(0)
    sendClean(first, M)
    await first.received()
    first.close(1012, 'restarting')
    await run.stderr.until('the news', () => run.stderr.text.includes('disconnected: restarting'))
    run.clock.advance(250)
    const second = await service.connection(1)
    sendClean(second, M)
    await second.received()
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
    expect(run.stdout.text).toContain('2 connections')
  })

  it('ends at once when a subscription is refused', async () => {
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

  it('uses the markets of the credentials file when none are given', async () => {
    const run = verify(['--credentials', await startService({}, { markets: ['SOLUSD'] })])
    const connection = await service.connection(0)
    expect(connection.requests[0]?.channels?.[0]).toEqual({ type: 'market_data', params: { market: 'SOLUSD' } })
    run.interrupt()
  })

  it('asks for markets when none are named', async () => {
    const run = verify(['--credentials', await startService()])
    expect((await run.ended).error).toContain('name at least one market')
    expect(service.tokenRequests).toHaveLength(0)
  })

  it('shows progress on a terminal and clears it', async () => {
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

  it('fails when the service revokes its access', async () => {
    const run = verify([M, '--credentials', await startService()])
    ;(await service.connection(0)).close(4003, 'access revoked')
    expect(await run.ended).toEqual({ exitCode: 1, error: 'the service closed the connection: 4003 access revoked' })
  })
})

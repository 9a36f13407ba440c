/** `tidegate watch` against a service that sends what the test specifies, on a virtual clock. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { registerWatch } from '../../src/cli/watch.ts'
import { until } from '../support/awaited.ts'
import { type CommandRun, type CommandRunOptions, runCommand } from '../support/command-run.ts'
import { acknowledgement, FakeService, type FakeServiceOptions } from '../support/fake-service.ts'
import { NodeClock } from '../support/virtual-clock.ts'
import { execution, heartbeat, snapshot, update } from '../support/wire.ts'

const M = 'BTCUSD'
const BOOK = snapshot(
  M,
  1,
  [
    ['100.00', '1.5000'],
    ['99.00', '2.0000'],
  ],
  [
    ['100.50', '1.0000'],
    ['102.00', '3.0000'],
  ],
)

let folder: string
let service: FakeService
let runs: CommandRun[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidegate-watch-'))
  runs = []
})

afterEach(async () => {
  for (const run of runs) run.interrupt()
  await Promise.all(runs.map((run) => run.ended))
  // In no case may a secret or a token have been shown.
  for (const run of runs) {
    expect(run.stdout.text + run.stderr.text).not.toContain(service.clientSecret)
    expect((await run.ended).error).not.toContain(service.clientSecret)
    expect(run.stdout.text + run.stderr.text).not.toContain('token-')
  }
  await service.close()
  await rm(folder, { recursive: true })
})

async function startService(options?: FakeServiceOptions): Promise<string> {
  service = await FakeService.start(options)
  const path = join(folder, 'client.json')
  await writeFile(path, JSON.stringify(service.credentialsFile))
  return path
}

function watch(args: readonly string[], options?: CommandRunOptions): CommandRun {
  const run = runCommand(registerWatch, ['watch', ...args], { clock: new NodeClock(), ...options })
  runs.push(run)
  return run
}

function untilLine(run: CommandRun, text: string): Promise<void> {
  return run.stdout.until(`a line with ${text}`, () => run.stdout.text.includes(text))
}

/** Resolves when a timer of this delay is scheduled. */
async function untilDueIn({ clock }: CommandRun, milliseconds: number): Promise<void> {
  await until(`a timer of ${milliseconds} ms`, () => clock.isDueIn(milliseconds))
}

describe('watch without a terminal', () => {
  it('watch without a terminal prints one line per event and ends with 0 when interrupted', async () => {
    const run = watch([M, '--credentials', await startService()])
    const connection = await service.connection(0)
    expect(connection.requests).toHaveLength(1)
    expect(connection.requests[0]?.type).toBe('subscribe')
    expect(connection.requests[0]?.channels).toHaveLength(3)
    expect(connection.requests[0]?.channels).toEqual(
      expect.arrayContaining([
        { type: 'market_data', params: { market: M } },
        { type: 'execution_data', params: { market: M } },
        { type: 'heartbeat' },
      ]),
    )
    expect(service.handshakeTokens).toEqual(['Bearer token-1'])
    connection.send(BOOK)
    await untilLine(run, ' top ')
    connection.send(execution(M, 2, '100.50', '1.0000', { side: 'buy', venue: 'kraken' }))
    connection.send(execution(M, 2, '100.25', '0.5000'))
    connection.send(update(M, 2, [], [['100.50', '0']]))
    await untilLine(run, ' update ')
    connection.send(heartbeat(1000))
    await untilLine(run, ' heartbeat ')
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
    expect(run.stdout.lines()).toEqual([
      `2026-01-01T00:00:00.000Z connected BTCUSD host=127.0.0.1:${service.port} protocol=tidegate.default`,
      '2026-01-01T00:00:00.001Z snapshot BTCUSD levels=4 bids=100.00:1.5000 asks=100.50:1.0000',
      '2026-01-01T00:00:00.001Z top BTCUSD bid=100.00 bid_amount=1.5000 ask=100.50 ask_amount=1.0000 spread=0.50 spread_bp=49.875',
      '2026-01-01T00:00:00.002Z trade BTCUSD price=100.50 amount=1.0000 side=buy venue=kraken',
      '2026-01-01T00:00:00.002Z trade BTCUSD price=100.25 amount=0.5000 side= venue=',
      '2026-01-01T00:00:00.002Z update BTCUSD levels=1 bids=100.00:1.5000 asks=102.00:3.0000',
      '2026-01-01T00:00:00.002Z top BTCUSD bid=100.00 bid_amount=1.5000 ask=102.00 ask_amount=3.0000 spread=2.00 spread_bp=198.020',
      '2026-01-01T00:00:01.000000000Z heartbeat BTCUSD',
    ])
    await service.until('a clean close', () => connection.closed?.code === 1000)
  })

  it('watch without a terminal prints an empty side, and no top while the best prices stay', async () => {
    const run = watch([M, '--credentials', await startService()])
    const connection = await service.connection(0)
    connection.send(BOOK)
    await untilLine(run, ' top ')
    connection.send(update(M, 2, [['99.00', '0']], []))
    await untilLine(run, ' update ')
    connection.send(update(M, 3, [['100.00', '0']], []))
    await untilLine(run, 'bid= bid_amount= ask=100.50 ask_amount=1.0000 spread= spread_bp=')
    expect(run.stdout.text.match(/ top /g)).toHaveLength(2)
  })

  it('watch without a terminal shows as many levels as --depth requests', async () => {
    const run = watch([M, '--depth', '5', '--credentials', await startService()])
    const connection = await service.connection(0)
    connection.send(BOOK)
    await untilLine(run, 'bids=100.00:1.5000,99.00:2.0000 asks=100.50:1.0000,102.00:3.0000')
  })

  it('watch without a terminal ends after --seconds', async () => {
    const run = watch([M, '--seconds', '5', '--credentials', await startService()])
    await service.connection(0)
    run.clock.advance(4_999)
    expect((await service.connection(0)).closed).toBeUndefined()
    run.clock.advance(1)
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
  })

  it('watch without a terminal prints one update for all that came while its own output was not drained', async () => {
    const run = watch([M, '--credentials', await startService()])
    const connection = await service.connection(0)
    await untilLine(run, 'connected')
    run.stdout.isReaderFast = false
    connection.send(BOOK)
    await untilLine(run, ' top ')
    for (let index = 0; index < 1_000; index++) {
      connection.send(update(M, 2 + index, [['100.00', `1.${1000 + index}`]], []))
      connection.send(heartbeat(2 + index))
    }
    await connection.received()
    expect(run.stdout.lines()).toHaveLength(3)
    run.stdout.isReaderFast = true
    run.stdout.emit('drain')
    await untilLine(run, '2026-01-01T00:00:01.001Z update BTCUSD levels=1 bids=100.00:1.1999')
    expect(run.stdout.text.match(/ update /g)).toHaveLength(1)
  })

  it('watch without a terminal ends when it is interrupted while its output is not drained', async () => {
    const run = watch([M, '--credentials', await startService()])
    const connection = await service.connection(0)
    run.stdout.isReaderFast = false
    connection.send(BOOK)
    await untilLine(run, ' top ')
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
  })

  it('watch without a terminal ends when it is interrupted in the tick in which its output becomes full', async () => {
    const run = watch([M, '--credentials', await startService()])
    const connection = await service.connection(0)
    const write = run.stdout.write.bind(run.stdout)
    run.stdout.write = (text) => {
      write(text)
      if (text.includes(' top ')) run.interrupt()
      return !text.includes(' top ')
    }
    connection.send(BOOK)
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
  })

  it('watch without a terminal ends without an error when its output is closed', async () => {
    const run = watch([M, '--credentials', await startService()])
    await service.connection(0)
    run.stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
  })

  it('watch without a terminal sends no control characters of the service to the terminal', async () => {
    const run = watch([M, '--credentials', await startService()])
    const connection = await service.connection(0)
    connection.send(execution(M, 2, '1.00', '1.0000', { venue: 'a\u001b[2J\nfake line' }))
    await untilLine(run, 'venue=a?[2J?fake line')
  })
})

describe('watch of a market without a source', () => {
  const answer = (state: string, since: string) => ({
    status: 200,
    body: {
      items: [
        { market: 'OTHER', state: 'LIVE' },
        { market: M, state, state_since: since },
      ],
    },
  })
  /** The next question is due. */
  const ask = async (run: CommandRun): Promise<void> => {
    await untilDueIn(run, 1_000)
    run.clock.advance(1_000)
  }

  it('watch of a market without a source prints the states that the service reports, asking once per second', async () => {
    let markets = answer('STARTING', '2026-01-01T00:00:00.000Z')
    const run = watch([M, '--credentials', await startService({ markets: () => markets })])
    await service.connection(0)
    await ask(run)
    await untilLine(run, ' starting BTCUSD since=2026-01-01T00:00:00.000Z')
    expect(service.marketRequests).toEqual(['Bearer token-1'])
    markets = answer('STALE', '2026-01-01T00:00:18.000Z')
    await ask(run)
    await untilLine(run, ' stale BTCUSD since=2026-01-01T00:00:18.000Z')
    markets = answer('LIVE', '2026-01-01T00:00:29.000Z')
    ;(await service.connection(0)).send(BOOK)
    await untilLine(run, ' snapshot ')
    await ask(run)
    await untilLine(run, ' live BTCUSD since=2026-01-01T00:00:29.000Z')
    expect(run.stdout.text.match(/ (live|stale|starting) /g)).toHaveLength(3)
  })

  it('watch of a market without a source asks nothing while the book is live', async () => {
    const run = watch([M, '--credentials', await startService()])
    ;(await service.connection(0)).send(BOOK)
    await untilLine(run, ' snapshot ')
    for (let second = 0; second < 3; second++) await ask(run)
    await untilDueIn(run, 1_000)
    expect(service.marketRequests).toEqual([])
  })

  it("watch shows STALE with the age on a terminal, by the service's clock", async () => {
    const markets = () => answer('STALE', '2026-01-01T00:00:18.000Z')
    const run = watch([M, '--credentials', await startService({ markets })], { terminal: { columns: 100, rows: 24 } })
    const connection = await service.connection(0)
    connection.send(heartbeat(30_000))
    await connection.received()
    await drawn(run, 'STALE for 1')
    expect(run.stdout.text).toMatch(/STALE for 1[2-9] s/)
    expect(run.stdout.text).not.toContain('● live')
  })
})

describe('watch, when the connection ends', () => {
  it.each([
    { title: 'the service restarts', end: 1012, reason: 'closed with 1012 as the test says' },
    { title: 'the market data is stale', end: 4002, reason: 'closed with 4002 as the test says' },
    { title: 'the connection is cut', end: 1006, reason: 'the connection was lost' },
  ])('watch shows why a connection ended, and the book of the next one: $title', async ({ end, reason }) => {
    const run = watch([M, '--credentials', await startService()])
    const first = await service.connection(0)
    first.send(BOOK)
    await untilLine(run, ' top ')
    if (end === 1006) first.cut()
    else first.close(end, 'as the test says')
    await untilLine(run, `disconnected BTCUSD code=${end} retry_ms=500 reason="${reason}"`)
    run.clock.advance(499)
    expect(service.connections).toHaveLength(1)
    run.clock.advance(1)
    const second = await service.connection(1)
    second.send(snapshot(M, 5, [['1.00', '1.0000']], []))
    await untilLine(run, 'snapshot BTCUSD levels=1 bids=1.00:1.0000 asks=')
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
    const lines = run.stdout.lines()
    expect(lines.filter((line) => line.includes(' connected '))).toHaveLength(2)
    // Trades of the time in between are not sent in the base protocol.
    expect(lines.filter((line) => line.includes(' gap '))).toEqual([
      `2026-01-01T00:00:00.500Z gap BTCUSD reason="${reason}"`,
    ])
  })

  it('watch repairs a wrong book, and shows why', async () => {
    const run = watch([M, '--credentials', await startService()])
    const connection = await service.connection(0)
    connection.send(BOOK)
    await untilLine(run, ' top ')
    connection.send(update(M, 2, [['1.00', '0']], []))
    await untilLine(run, 'resync BTCUSD channel=market_data reason="1.00, which an UPDATE removes')
    run.clock.advance(1)
    await service.until('a new subscription', () => connection.requests.length === 3)
    connection.send(snapshot(M, 3, [['50.00', '1.5000']], []))
    await untilLine(run, 'snapshot BTCUSD levels=1 bids=50.00:1.5000')
  })

  it.each([
    { code: 4003, error: 'closed with 4003 access revoked. Ask the operator of the service' },
    { code: 1007, error: 'closed with 1007 access revoked' },
  ])('watch gives up on close code $code', async ({ code, error }) => {
    const run = watch([M, '--credentials', await startService()])
    ;(await service.connection(0)).close(code, 'access revoked')
    expect(await run.ended).toEqual({ exitCode: 1, error: expect.stringContaining(error) })
  })

  it.each([403, 404])('watch gives up when the handshake is answered %i', async (status) => {
    const handshakes = [{ status, body: { detail: 'the reason' } }]
    const run = watch([M, '--credentials', await startService({ handshakes })])
    const error = expect.stringContaining(`ws://127.0.0.1:${service.port} answered ${status}: the reason`)
    expect(await run.ended).toEqual({ exitCode: 1, error })
  })

  it('watch gives up when no token is granted', async () => {
    const body = { error: 'invalid_client', error_description: 'unknown client or wrong secret' }
    const run = watch([M, '--credentials', await startService({ tokens: [{ status: 401, body }] })])
    const error = expect.stringContaining(
      `${service.url}/oauth2/token answered 401 invalid_client: unknown client or wrong secret`,
    )
    expect(await run.ended).toEqual({ exitCode: 1, error })
  })

  it('watch gives up when no service answers at the start', async () => {
    const path = await startService()
    await service.close()
    const { exitCode, error } = await watch([M, '--credentials', path]).ended
    expect(exitCode).toBe(1)
    expect(error).toContain(`cannot reach ${service.url}/oauth2/token: ECONNREFUSED`)
    service = await FakeService.start()
  })

  it('watch subscribes again after its market was changed, and gives up after it was removed', async () => {
    const refusal = {
      success: false,
      error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
      message: 'there is no such market',
    }
    const onRequest: FakeServiceOptions['onRequest'] = (request, connection) => {
      const isLast = connection.requests.length === 3
      connection.send(acknowledgement(request, isLast ? refusal : undefined))
    }
    const run = watch([M, '--credentials', await startService({ onRequest })])
    const connection = await service.connection(0)
    const types = ['market_data', 'execution_data']
    const channels = types.map((type) => ({ type, params: { market: M }, success: true }))
    const end = (message: string) =>
      connection.send({ type: 'unsubscribe', channels: channels.map((entry) => ({ ...entry, message })) })
    connection.send(BOOK)
    await untilLine(run, ' top ')
    end('the market was changed: subscribe again')
    await untilLine(run, 'resync BTCUSD channel=market_data reason="the market was changed: subscribe again"')
    run.clock.advance(1)
    await service.until('a second request', () => connection.requests.length === 2)
    // It has other decimals now.
    connection.send(snapshot(M, 5, [['50.000', '1.5000']], []))
    await untilLine(run, 'snapshot BTCUSD levels=1 bids=50.000:1.5000')
    end('the market was removed: it is no longer served')
    await untilLine(run, 'it is no longer served')
    run.clock.advance(5_000)
    const error = expect.stringContaining('BTCUSD: there is no such market (UNKNOWN_CHANNEL_PARAMS_CONFIGURATION)')
    expect(await run.ended).toEqual({ exitCode: 1, error })
  })

  it("watch reports the service's refusals", async () => {
    const refusal = {
      success: false,
      error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
      message: 'there is no market NOPE',
    }
    const path = await startService({
      onRequest: (request, connection) => connection.send(acknowledgement(request, refusal)),
    })
    const error = expect.stringContaining('NOPE: there is no market NOPE (UNKNOWN_CHANNEL_PARAMS_CONFIGURATION)')
    expect(await watch(['NOPE', '--credentials', path]).ended).toEqual({ exitCode: 1, error })
  })
})

describe('the credentials of watch', () => {
  it('watch reads its credentials from the environment, with --url', async () => {
    await startService()
    const variables = { TIDEGATE_CLIENT_ID: service.clientId, TIDEGATE_CLIENT_SECRET: service.clientSecret }
    watch([M, '--url', `${service.url}/`], { variables })
    await service.connection(0)
    expect(service.tokenRequests[0]?.get('scope')).toBe('exchange:read_aggregated_marketdata_stream')
  })

  it.each([
    { title: 'only half of them', variables: { TIDEGATE_CLIENT_ID: 'a' }, args: [], error: 'must be set together' },
    {
      title: 'no address',
      variables: { TIDEGATE_CLIENT_ID: 'a', TIDEGATE_CLIENT_SECRET: 'b' },
      args: [],
      error: '--url is required',
    },
    {
      title: 'no file',
      variables: {},
      args: ['--credentials', '/nowhere/x.json'],
      error: 'no credentials at /nowhere/x.json (ENOENT)',
    },
    { title: 'depth 0', variables: {}, args: ['--depth', '0'], error: 'whole number from 1' },
  ])('watch rejects its credentials with the reason: $title', async ({ variables, args, error }) => {
    await startService()
    const ended = await watch([M, ...args], { variables: variables as Record<string, string> }).ended
    expect(ended.exitCode).toBe(1)
    expect(ended.error).toContain(error)
  })

  it.each([
    {
      title: 'no JSON',
      text: '{"client_secret": "a-secret-that-must-never-be-printed"',
      error: 'is not a JSON object',
    },
    { title: 'no secret', text: '{"client_id": "a"}', error: 'has no client_secret' },
    {
      title: 'a wrong address',
      text: JSON.stringify({ client_id: 'a', client_secret: 'b', auth_url: 'ftp://x', ws_url: 'ws://x' }),
      error: "'ftp://x' must begin with http:// or https://",
    },
  ])('watch rejects an invalid credentials file with the reason: $title', async ({ text, error }) => {
    const path = await startService()
    await writeFile(path, text)
    const ended = await watch([M, '--credentials', path]).ended
    expect(ended.exitCode).toBe(1)
    expect(ended.error).toContain(error)
  })
})

describe('watch on a terminal', () => {
  const ENTER = '\u001b[?1049h\u001b[?25l'
  const LEAVE = '\u001b[?25h\u001b[?1049l'

  it('watch on a terminal draws at most every 50 ms, and restores the terminal', async () => {
    const run = watch([M, '--credentials', await startService()], { terminal: { columns: 100, rows: 24 } })
    const connection = await service.connection(0)
    expect(run.stdout.text.startsWith(ENTER)).toBe(true)
    connection.send(BOOK)
    connection.send(update(M, 2, [['100.00', '1.2345']], []))
    await connection.received()
    run.clock.advance(49)
    expect(run.stdout.text).not.toContain('1.2345')
    run.clock.advance(1)
    expect(run.stdout.text).toContain('1.2345')
    expect(run.stdout.text).not.toContain('1.5000')
    // After a pause a change is drawn at once.
    run.clock.advance(100)
    connection.send(update(M, 3, [['100.00', '1.3456']], []))
    await connection.received()
    expect(run.stdout.text).toContain('1.3456')
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
    expect(run.stdout.text).toContain(`${LEAVE}BTCUSD 100.00 x 1.3456 / 100.50 x 1.0000, spread 0.50 (49.875 bp)\n`)
    expect(run.stdout.listenerCount('resize')).toBe(0)
  })

  it('watch on a terminal redraws when the size changes', async () => {
    const run = watch([M, '--credentials', await startService()], { terminal: { columns: 100, rows: 24 } })
    const connection = await service.connection(0)
    connection.send(BOOK)
    await connection.received()
    run.clock.advance(50)
    expect(run.stdout.text).toContain('102.00')
    run.stdout.text = ''
    run.stdout.columns = 40
    run.stdout.rows = 8
    run.stdout.emit('resize')
    expect(run.stdout.text.startsWith('\u001b[H\u001b[2J')).toBe(true)
    expect(run.stdout.text).toContain('100.50')
    // Eight rows do not fit a second level per side.
    expect(run.stdout.text).not.toContain('102.00')
  })

  it('watch on a terminal shows the state of the connection while it is not connected', async () => {
    const run = watch([M, '--credentials', await startService()], { terminal: { columns: 100, rows: 24 } })
    const connection = await service.connection(0)
    connection.close(1012, 'restarting')
    await drawn(run, 'restarting, trying again in 1 s')
  })

  it('watch on a terminal restores the terminal before it fails', async () => {
    const run = watch([M, '--credentials', await startService()], { terminal: { columns: 100, rows: 24 } })
    ;(await service.connection(0)).close(4003, 'access revoked')
    expect((await run.ended).exitCode).toBe(1)
    expect(run.stdout.text).toContain(LEAVE)
  })

  it.each([
    ['dumb terminal', { terminal: { columns: 100, rows: 24 }, variables: { TERM: 'dumb' } }],
    ['terminal without a size', { terminal: { columns: 0, rows: 0 } }],
  ])('watch on a terminal prints lines on a %s', async (_name, options) => {
    const run = watch([M, '--credentials', await startService()], options)
    ;(await service.connection(0)).send(BOOK)
    await untilLine(run, 'snapshot BTCUSD')
    expect(run.stdout.text).not.toContain('\u001b')
  })
})

/** Advances virtual time frame by frame, with real ticks of the event loop, until the screen shows the text. */
async function drawn(run: CommandRun, text: string): Promise<void> {
  const pump = setInterval(() => run.clock.advance(50), 1)
  try {
    await run.stdout.until(`a frame with ${text}`, () => run.stdout.text.includes(text))
  } finally {
    clearInterval(pump)
  }
}

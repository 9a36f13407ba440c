/**
 * The adapters as programs: the FIX adapter and the complete example of docs/how-to/writing-an-adapter.md are started with node
 * alone, publish to the fake ingest server and end in order; their configuration is checked, and no secret is written.
 */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { ConfigurationError, loadConfiguration } from '../../packages/fix-adapter/configuration.mjs'
import { temporaryFolder } from '../support/running-service.ts'
import { Waiters } from '../support/waiters.ts'
import { CLIENT, FakeIngest } from './fake-ingest.ts'
import { FixAcceptor } from './fix-acceptor.ts'
import { EngineBook } from './fix-stage.ts'

const ROOT = join(import.meta.dirname, '../..')
const FIX_SECRET = 'fix-secret-4712'
const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function start(file: string, argument: string, environment: Readonly<Record<string, string>>) {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [join(ROOT, file), argument], { env: { PATH, ...environment } })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  ends.push(() => child.kill('SIGKILL'))
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)))
  return { child, ended, text: () => text }
}

function folder(): string {
  const created = temporaryFolder()
  ends.push(() => created.remove())
  return created.path
}

/** The FIX adapter as a program, once it has published its engine's book. */
async function startFix() {
  const waiters = new Waiters()
  const acceptor = await FixAcceptor.start('FIX.4.4', waiters)
  const ingest = await FakeIngest.start(['BTCUSD'], waiters)
  ends.push(() => Promise.all([acceptor.stop(), ingest.stop()]))
  const engine = new EngineBook('BTC/USD')
  acceptor.onSubscribe = (_, requestId) => acceptor.send('W', engine.full(requestId))
  const path = folder()
  const example = JSON.parse(readFileSync(join(ROOT, 'packages/fix-adapter/example.json'), 'utf8'))
  const configuration = {
    ...example,
    fix: { ...example.fix, host: '127.0.0.1', port: acceptor.port, username: 'market' },
    market_data: { keyed_by: 'price' },
    tidegate: {
      url: ingest.options.url,
      auth_url: ingest.options.authUrl,
      client_id: CLIENT.clientId,
      client_secret_file: 's',
    },
  }
  writeFileSync(join(path, 's'), `${CLIENT.clientSecret}\n`)
  writeFileSync(join(path, 'fix.json'), JSON.stringify(configuration))
  const program = start('packages/fix-adapter/main.mjs', join(path, 'fix.json'), { FIX_PASSWORD: FIX_SECRET })
  const book = ingest.book('BTCUSD')
  await ingest.until('the book', () => book.snapshots === 1)
  return { acceptor, ingest, engine, program, book }
}

describe('the FIX adapter', () => {
  it('the FIX adapter runs from a configuration file, and logs out at SIGTERM', async () => {
    const { acceptor, ingest, engine, program, book } = await startFix()
    expect(book.side('sell')).toEqual(engine.levels('sell'))
    program.child.kill('SIGTERM')
    expect(await program.ended).toBe(0)
    expect([acceptor.of('5').length, book.state, acceptor.of('A')[0]?.get(554)]).toEqual([1, 'lost', FIX_SECRET])
    expect([...acceptor.violations, ...ingest.violations]).toEqual([])
    expect(program.text()).toContain('logged on to the FIX engine')
    expect(program.text()).not.toMatch(/secret|token-of/)
  })

  it('the FIX adapter logs out and ends with status 1 when Tidegate revokes its access', async () => {
    const { acceptor, ingest, program } = await startFix()
    ingest.close(4003)
    expect(await program.ended).toBe(1)
    expect([acceptor.of('5').length, ingest.connections]).toEqual([1, 1])
    expect(program.text()).toContain('revoked')
  })

  it('the FIX adapter ends with status 2 where its configuration is wrong', async () => {
    const program = start('packages/fix-adapter/main.mjs', join(folder(), 'missing.json'), {})
    expect(await program.ended).toBe(2)
    expect(program.text()).toContain('missing.json')
  })

  it('the FIX adapter names the member of a configuration that is wrong, and never a secret', () => {
    const path = folder()
    const file = join(path, 'fix.json')
    writeFileSync(join(path, 'ca.pem'), 'authority')
    const right = {
      fix: { host: 'h', port: 1, sender_comp_id: 'a', target_comp_id: 'b' },
      markets: [{ market: 'M', symbol: 'S', price_decimals: 2, amount_decimals: 8 }],
      tidegate: { url: 'ws://h/', auth_url: 'http://h/', client_id: 'c' },
    }
    const load = (document: object, environment: Record<string, string> = { TIDEGATE_CLIENT_SECRET: 'secret' }) => {
      writeFileSync(file, JSON.stringify(document))
      try {
        return loadConfiguration(file, environment)
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigurationError)
        expect((error as Error).message).not.toContain('secret-value')
        return (error as Error).message
      }
    }
    expect(load(right)).toMatchObject({
      fix: { version: 'FIX.4.4', heartbeatSeconds: 30, resetSequenceNumbers: true, tls: undefined },
      markets: [{ keyedBy: 'price', depth: 0, refresh: 'incremental', securityStatus: false }],
      tidegate: { authUrl: 'http://h', clientSecret: 'secret' },
    })
    const [market] = right.markets
    const wrong: readonly (readonly [object, string])[] = [
      [{ ...right, extra: 1 }, 'the file: extra is not a known member'],
      [{ ...right, fix: { ...right.fix, port: 0 } }, 'fix: port must be an integer from 1 to 65535'],
      [{ ...right, fix: { ...right.fix, version: 'FIX.4.2' } }, 'fix: version must be one of FIX.4.4, FIXT.1.1'],
      [{ ...right, fix: { ...right.fix, password_file: 'none' } }, 'fix: password_file ENOENT'],
      [{ ...right, fix: { ...right.fix, tls: true, tls_ca_file: 'none' } }, 'fix: tls_ca_file ENOENT'],
      [{ ...right, fix: { ...right.fix, tls_ca_file: 'ca.pem' } }, 'fix: tls_ca_file needs "tls": true'],
      [{ ...right, fix: { ...right.fix, tls: false, tls_ca_file: 'ca.pem' } }, 'fix: tls_ca_file needs "tls": true'],
      [{ ...right, markets: [] }, 'markets: at least one is needed'],
      [{ ...right, markets: [market, market] }, 'markets: two have the same market'],
      [
        { ...right, market_data: { trading_status: { 99: 'OPENED' } } },
        'market_data: trading_status must have values of OPEN, HALTED, AUCTION, CLOSED',
      ],
      [
        { ...right, tidegate: { ...right.tidegate, client_secret: 'secret-value' } },
        'tidegate: client_secret is not a known member',
      ],
    ]
    for (const [document, message] of wrong) expect(load(document)).toBe(message)
    expect(load(right, {})).toBe('tidegate: client_secret_file or TIDEGATE_CLIENT_SECRET must be set')
    expect(load(right, { TIDEGATE_CLIENT_SECRET: 'secret-value\n2' })).toMatch(/must be one line/)
  })
})

describe('the example for other adapters', () => {
  it('the example for other adapters publishes its standard input, and reports its books as lost at the end', async () => {
    const ingest = await FakeIngest.start(['BTCUSD', 'ETHUSD'])
    ends.push(() => ingest.stop())
    const { url, authUrl, clientId, clientSecret } = ingest.options
    const variables = { MARKETS: 'BTCUSD,ETHUSD', INGEST_URL: url, AUTH_URL: authUrl, CLIENT_ID: clientId }
    const program = start('packages/publisher/example/ndjson.mjs', '', {
      ...variables,
      TIDEGATE_CLIENT_SECRET: clientSecret,
    })
    const write = (line: object) => program.child.stdin.write(`${JSON.stringify(line)}\n`)
    const book = ingest.book('BTCUSD')
    write({ market: 'BTCUSD', bids: [['1', '1']] })
    write({
      market: 'BTCUSD',
      full: true,
      bids: [
        ['60000.1', '0.25'],
        ['60000', '2'],
      ],
      asks: [['60001', '1']],
    })
    write({ market: 'ETHUSD', full: true })
    await ingest.until('both books', () => book.snapshots === 1 && ingest.book('ETHUSD').snapshots === 1)
    const trade = { id: '1', side: 'buy', price: '60001', amount: '0.1' }
    write({ market: 'BTCUSD', bids: [['60000.1', '0']], asks: [['60001', '0.9']], trades: [trade] })
    await ingest.until('the update', () => book.updates === 1)
    expect([book.side('buy'), book.side('sell'), book.executions]).toEqual([
      [{ price: '60000', amount: '2' }],
      [{ price: '60001', amount: '0.9' }],
      [trade],
    ])
    ingest.requestSnapshot('BTCUSD')
    await ingest.until('the snapshot', () => book.snapshots === 2)
    expect(book.side('buy')).toHaveLength(1)
    program.child.stdin.end()
    expect(await program.ended).toBe(0)
    expect([book.state, ingest.violations]).toEqual(['lost', []])
  })

  it('the example for other adapters is the one that the page links to, of 50 lines of code', () => {
    const code = readFileSync(join(ROOT, 'packages/publisher/example/ndjson.mjs'), 'utf8').replace(
      /^\/\*\*[\s\S]*?\*\/\n/,
      '',
    )
    const page = readFileSync(join(ROOT, 'docs/how-to/writing-an-adapter.md'), 'utf8')
    expect(page).toContain('](../../packages/publisher/example/ndjson.mjs)')
    expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(50)
  })

  it('the example for other adapters imports, as all adapters, only the members of node and ws', () => {
    const files = [
      'publisher/publisher',
      'publisher/connection',
      'publisher/token',
      'publisher/runtime',
      'publisher/example/ndjson',
    ]
    const fix = [
      'adapter',
      'book',
      'configuration',
      'decimal',
      'entries',
      'main',
      'market',
      'message',
      'session',
      'trades',
    ]
    const names = [...files, ...fix.map((name) => `fix-adapter/${name}`), 'fix-adapter/trading-state']
    for (const name of names) {
      const text = readFileSync(join(ROOT, `packages/${name}.mjs`), 'utf8')
      expect(text.startsWith('/**')).toBe(true)
      expect(text.split('\n').length).toBeLessThanOrEqual(401)
      const targets = [...text.matchAll(/^import .* from '([^']+)'/gm)].map(([, target = '']) => target)
      expect(
        targets.filter(
          (target) => !/^(node:|ws$|\.\/[a-z-]+\.mjs$|\.\.\/[a-z-]+\.mjs$|\.\.\/publisher\/)/.test(target),
        ),
      ).toEqual([])
    }
  })
})

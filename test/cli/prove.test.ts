/** `tidegate prove` with the messages of a stream: what receipts cover, and every way in which files can be wrong. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { registerProve } from '../../src/cli/prove.ts'
import { NaiveBook } from '../../src/conformance/judge/naive-book.ts'
import type { ReceiptClaims } from '../../src/contract/receipt.ts'
import { nanosecondText } from '../../src/platform/base/clock.ts'
import { ASK, BID, type LevelChange } from '../../src/streaming/market/event.ts'
import type { RecordedEntry } from '../../src/streaming/recordings/recording.ts'
import { Cursors } from '../../src/streaming/sequencing/cursor.ts'
import { ReceiptSigner } from '../../src/streaming/sequencing/receipt-signer.ts'
import { deepBook, LiveStream } from '../streaming/gateway/live-stream.ts'
import { runCommand } from '../support/command-run.ts'
import { Random } from '../support/random.ts'
import { keySetOf, newReceiptIssuer, partsOf, signReceipt } from '../support/receipts.ts'
import { RECORDING_START, writeRecording } from '../support/recording-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-prove-'))
afterAll(() => rmSync(folder, { recursive: true }))

const issuer = newReceiptIssuer()
const SEED = 20261123

/** The lines that sessions with these params receive while two markets change at random for some seconds. */
function received(
  sessions: readonly { readonly params?: object; readonly markets?: readonly string[] }[],
  steps = 300,
) {
  const random = new Random(SEED)
  const markets = ['AAAUSD', 'BBBUSD']
  const stream = new LiveStream({
    markets,
    depth: 50,
    settings: { heartbeatSeconds: 1 },
    receipts: (clock) => new ReceiptSigner({ clock, current: () => issuer, onSigned: () => undefined }),
  })
  for (const market of markets) stream.snapshot(deepBook(60, 10), market)
  const clients = sessions.map(({ params = {}, markets: subscribed = markets }) => {
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    const books = subscribed.map((market) => ({ type: 'market_data', params: { market, ...params } }))
    const executions = subscribed.map((market) => ({ type: 'execution_data', params: { market } }))
    return {
      client,
      lines: client.ask({ type: 'subscribe', channels: [...books, ...executions, { type: 'heartbeat' }] }),
    }
  })
  for (let step = 0; step < steps; step++) {
    const trades = step % 5 === 0 ? [{ price: 10_000_000, amount: 1 + step, id: `trade-${step}`, venue: 'kraken' }] : []
    stream.update([randomChange(random)], trades, random.integer(2) === 0 ? 'AAAUSD' : 'BBBUSD')
    stream.clock.advance(random.integer(40))
    for (const { client, lines } of clients) lines.push(...client.read())
  }
  stream.clock.advance(1_000)
  return clients.map(({ client, lines }) => [...lines, ...client.read()])
}

function randomChange(random: Random): LevelChange {
  const side = random.integer(2) === 0 ? BID : ASK
  const rank = 1 + random.integer(60)
  return { side, price: side === BID ? 10_000_000 - rank : 10_000_000 + rank, amount: random.integer(4) * 5 }
}

let files = 0
function save(lines: readonly string[]): string {
  const path = join(folder, `${files++}.jsonl`)
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  return path
}

interface Report {
  readonly exitCode: number
  readonly ok: boolean
  readonly receipts: number
  readonly matched: number
  readonly unmatched: number
  readonly messages: { readonly covered: number; readonly total: number }
  readonly executions: { readonly covered: number; readonly total: number }
  readonly books: readonly { readonly market: string; readonly depth: number; readonly matched: number }[]
  readonly failures: readonly { readonly name: string; readonly count: number }[]
}

async function prove(
  lines: readonly string[],
  more: readonly string[] = [],
  keys: object = keySetOf(issuer),
): Promise<Report> {
  const run = runCommand(registerProve, [
    'prove',
    save(lines),
    '--keys',
    save([JSON.stringify(keys)]),
    '--json',
    ...more,
  ])
  const { exitCode, error } = await run.ended
  expect(error).toBe('')
  return { exitCode, ...(JSON.parse(run.stdout.text) as Omit<Report, 'exitCode'>) }
}

const namesOf = ({ failures }: Report) => failures.map(({ name }) => name)

const linesOf = (lines: readonly string[], channel: string): string[] =>
  lines.filter((line) => line.startsWith(`{"channel":"${channel}"`))

/** All receipts of the lines, each once. */
function receiptsOf(lines: readonly string[]): string[] {
  return [
    ...new Set(lines.flatMap((line) => [...line.matchAll(/"receipt":"([^"]+)"/g)].map((match) => match[1] as string))),
  ]
}

const claimsOf = (receipt: string) => {
  const { iss: _issuer, ...claims } = partsOf(receipt).payload
  return claims as unknown as ReceiptClaims
}

/** The lines with one receipt replaced by another one, wherever it occurs. */
const replaced = (lines: readonly string[], receipt: string, by: string) =>
  lines.map((line) => line.replaceAll(receipt, by))

const [lines] = received([{}]) as [string[]]
const all = receiptsOf(lines)
const last = all.at(-1) as string

describe('prove, with the messages of a session', () => {
  it("prove matches every receipt in a session's messages, and reports which books at which times, and its coverage", async () => {
    expect(all.length).toBeGreaterThan(10)
    const report = await prove(lines)
    expect(report).toMatchObject({
      exitCode: 0,
      ok: true,
      receipts: all.length,
      matched: all.length,
      unmatched: 0,
      messages: { covered: all.length, total: linesOf(lines, 'market_data').length },
      executions: { covered: 0, total: linesOf(lines, 'execution_data').length },
      failures: [],
    })
    expect(report.messages.total).toBeGreaterThan(5 * all.length)
    expect(report.executions.total).toBe(60)
    expect(report.books.map(({ market, depth }) => [market, depth])).toEqual([
      ['AAAUSD', 50],
      ['BBBUSD', 50],
    ])
    const run = runCommand(registerProve, ['prove', save(lines), '--keys', save([JSON.stringify(keySetOf(issuer))])])
    await run.ended
    expect(run.stdout.text).toContain(
      `${all.length} receipts, ${all.length} with the checksum of the books from the messages`,
    )
    expect(run.stdout.text).toContain(
      `covered: ${all.length} of ${report.messages.total} book messages, 0 of 60 executions`,
    )
    expect(run.stdout.text).toContain('signed by https://service.test, key key-1')
    expect(run.stdout.text).toMatch(/AAAUSD, depth 50: \d+ matched, from 2026-01-01T00:00:\d\d\.\d{9}Z to /)
    expect(run.stdout.text).toMatch(/No errors found in what is covered. Version 1 receipts are checksums, not a proof/)
  })

  it('prove matches receipts of a limited depth, and those that another file has', async () => {
    const [deep] = received([{ params: { depth: 5 } }]) as [string[]]
    expect(await prove(deep)).toMatchObject({ exitCode: 0, matched: receiptsOf(deep).length })
    const other = save([...all.slice(0, 3), lines.findLast((line) => line.includes(last)) as string])
    expect(await prove(lines, ['--receipts', other])).toMatchObject({ exitCode: 0, matched: expect.any(Number) })
  })

  it('prove reports receipts of conflated versions, and those from before the first message, as unmatched', async () => {
    const [current, throttled] = received([{}, { params: { interval_ms: 250 } }]) as [string[], string[]]
    expect(await prove(current)).toMatchObject({ exitCode: 0, unmatched: 0 })
    const report = await prove(throttled)
    expect(report).toMatchObject({ exitCode: 0, receipts: receiptsOf(throttled).length })
    expect(report.unmatched).toBeGreaterThan(0)
    expect(report.matched + report.unmatched).toBe(report.receipts)
  })

  it('prove fails when no receipt belongs to a book in the files', async () => {
    const [, throttled] = received([{}, { params: { interval_ms: 250 } }]) as [string[], string[]]
    for (const receipt of receiptsOf(throttled)) {
      const report = await prove(throttled, ['--receipts', save([receipt])])
      if (report.unmatched < report.receipts) continue
      expect(report).toMatchObject({ exitCode: 1, failures: [{ name: 'receipts-unmatched' }] })
      return
    }
    expect.unreachable('every version was sent')
  })

  it('prove follows a book over connections that resume', async () => {
    const half = Math.floor(lines.length / 2)
    const paths = [save(lines.slice(0, half)), save(lines.slice(half))]
    const keys = save([JSON.stringify(keySetOf(issuer))])
    const run = runCommand(registerProve, ['prove', ...paths, '--keys', keys, '--json'])
    expect((await run.ended).exitCode).toBe(0)
    expect(JSON.parse(run.stdout.text)).toMatchObject({ ok: true, matched: all.length })
    // Without the first file, the book that the second one continues is not known.
    const alone = runCommand(registerProve, ['prove', paths[1] as string, '--keys', keys, '--json'])
    expect((await alone.ended).exitCode).toBe(1)
    expect(alone.stdout.text).toContain('message-missing')
  })
})

describe('prove, with a recording', () => {
  it("prove reports the first and last matching book's origin in a recording, and how much of it is covered", async () => {
    const path = join(folder, 'origins.recording')
    const origins = ['run.7', 'run.9', 'run.12']
    const entries = origins.map((origin, index): RecordedEntry => {
      const levels: LevelChange[] = [{ side: BID, price: 100, amount: 1 + index }]
      const atMilliseconds = RECORDING_START + index
      const commit = { epoch: 'one', version: index + 1, milliseconds: atMilliseconds, nanoseconds: 0 }
      const trade = { price: 100, amount: 1, id: `trade-${index}`, venue: 'kraken' }
      const events = [
        { type: 'snapshot', levels },
        { type: 'update', changes: [], executions: [trade] },
      ] as const
      return { market: 0, atMilliseconds, events, commit, origin }
    })
    await writeRecording(path, [{ entries }])
    const receipts = [0, 1].map((index) => {
      const book = new NaiveBook()
      book.set('bids', '1.00', `0.0000000${1 + index}`)
      return signReceipt(issuer, {
        ...claimsOf(last),
        market: 'BTCUSD',
        depth: 10,
        price_decimals: 2,
        amount_decimals: 8,
        digest: book.digest(),
        time: nanosecondText(RECORDING_START + index, 0),
        cursor: new Cursors('BTCUSD', 'market_data', 10).token({ id: 'one', base: 0 }, index + 1),
      })
    })
    const args = ['prove', path, '--receipts', save(receipts), '--keys', save([JSON.stringify(keySetOf(issuer))])]
    const run = runCommand(registerProve, [...args, '--json'])
    expect(await run.ended).toMatchObject({ exitCode: 0, error: '' })
    const [first, second] = [0, 1].map((index) => nanosecondText(RECORDING_START + index, 0))
    const book = { market: 'BTCUSD', depth: 10, matched: 2, first, last: second }
    const report = JSON.parse(run.stdout.text) as Report
    expect(report.books).toEqual([{ ...book, firstOrigin: 'run.7', lastOrigin: 'run.9' }])
    expect([report.messages, report.executions]).toEqual([
      { covered: 2, total: 3 },
      { covered: 0, total: 3 },
    ])
    const text = runCommand(registerProve, args)
    await text.ended
    expect(text.stdout.text).toContain('covered: 2 of 3 commits, 0 of 3 executions')
    expect(text.stdout.text).toContain(`from ${first} to ${second}, of the origins run.7 to run.9`)
  })
})

describe('prove, with what receipts of version 1 do not cover', () => {
  it('prove accepts a change that is reverted between two receipts of version 1, and does not count its messages as covered', async () => {
    const receipted = new Set(all.map((receipt) => claimsOf(receipt).cursor))
    const updates = linesOf(lines, 'market_data').filter((line) => line.includes('"AAAUSD"'))
    const pair = updates.findIndex((line, index) => {
      const cursors = [line, updates[index + 1] ?? ''].map((text) => /"cursor":"([^"]+)"/.exec(text)?.[1] ?? '')
      return line.includes('"UPDATE"') && !receipted.has(cursors[0] as string) && cursors[1] !== ''
    })
    const [first, second] = [updates[pair], updates[pair + 1]] as [string, string]
    const withAsk = (line: string, amount: string): string =>
      line.replace(/"asks":\[/, `"asks":[{"price":"1.23","amount":"${amount}"},`).replace('},]', '}]')
    const changed = lines.map((line) =>
      line === first ? withAsk(line, '9.9999') : line === second ? withAsk(line, '0') : line,
    )
    expect(changed).not.toEqual(lines)
    const honest = await prove(lines)
    expect(await prove(changed)).toEqual({ ...honest, files: expect.anything() })
    expect(honest.messages.covered).toBeLessThan(honest.messages.total)
  })

  it('prove accepts a changed execution with receipts of version 1, and covers none', async () => {
    const changed = lines.map((line) => line.replace('"id":"trade-5"', '"id":"trade-6"'))
    expect(changed).not.toEqual(lines)
    expect(await prove(changed)).toMatchObject({ exitCode: 0, executions: { covered: 0, total: 60 } })
  })
})

describe('prove reports', () => {
  it.each(['dropped', 'repeated', 'moved'])('prove reports an execution that was %s', async (how) => {
    const executions = linesOf(lines, 'execution_data').filter((line) => line.includes('"AAAUSD"'))
    const place = lines.indexOf(executions[10] as string)
    const line = lines[place] as string
    const without = lines.toSpliced(place, 1)
    const changed = { dropped: without, repeated: lines.toSpliced(place, 0, line), moved: [...without, line] }[how]
    const report = await prove(changed as string[])
    expect(report.exitCode).toBe(1)
    expect(namesOf(report)).toEqual(['execution-missing'])
  })

  it('prove reports a message that was removed', async () => {
    const place = lines.findIndex((line, index) => index > 20 && line.includes('"UPDATE"'))
    const report = await prove(lines.toSpliced(place, 1))
    expect(report.exitCode).toBe(1)
    expect(namesOf(report)).toEqual(['message-missing', 'cursor-unknown'])
  })

  it('prove reports an amount that was changed', async () => {
    const place = lines.findIndex((line) => line.includes('"SNAPSHOT"') && line.includes('AAAUSD'))
    const changed = lines.with(place, (lines[place] as string).replace('"amount":"0.0010"', '"amount":"0.0011"'))
    const report = await prove(changed)
    expect(report.exitCode).toBe(1)
    expect(namesOf(report)).toEqual(['digest-differs'])
    expect(report.books.map(({ market }) => market)).toContain('BBBUSD')
  })

  it.each<[string, string, (receipt: string) => string]>([
    [
      'a changed payload',
      'signature-wrong',
      (receipt) => signedLike(receipt, { ...claimsOf(receipt), digest: '0'.repeat(16) }),
    ],
    [
      'another digest',
      'digest-differs',
      (receipt) => signReceipt(issuer, { ...claimsOf(receipt), digest: '0'.repeat(16) }),
    ],
    [
      'a cursor that was never sent',
      'cursor-unknown',
      (receipt) => signReceipt(issuer, { ...claimsOf(receipt), cursor: 'KbYAR8_u.1' }),
    ],
    [
      'a later time',
      'time-differs',
      (receipt) => signReceipt(issuer, { ...claimsOf(receipt), time: '2026-01-02T00:00:00.000000000Z' }),
    ],
    ['a smaller depth', 'depth-differs', (receipt) => signReceipt(issuer, { ...claimsOf(receipt), depth: 5 })],
    ['another market', 'market-differs', (receipt) => signReceipt(issuer, { ...claimsOf(receipt), market: 'CCCUSD' })],
    [
      'a missing member',
      'receipt-malformed',
      (receipt) => signReceipt(issuer, { ...claimsOf(receipt), digest: undefined as never }),
    ],
    ['the type of a token', 'receipt-type', (receipt) => signReceipt(issuer, claimsOf(receipt), { typ: 'at+jwt' })],
    ['no algorithm', 'receipt-type', (receipt) => signReceipt(issuer, claimsOf(receipt), { alg: 'none' })],
    ['an unknown key', 'key-unknown', (receipt) => signReceipt(newReceiptIssuer('key-2'), claimsOf(receipt))],
    [
      'a key that is not that of its id',
      'signature-wrong',
      (receipt) => signReceipt(newReceiptIssuer(), claimsOf(receipt)),
    ],
    ['noise', 'receipt-malformed', () => 'noise'],
  ])('a receipt with %s as %s, and proves the others', async (_, name, forge) => {
    const report = await prove(replaced(lines, last, forge(last)))
    expect(namesOf(report)).toEqual([name])
    expect(report).toMatchObject({ exitCode: 1, ok: false, matched: all.length - 1 })
  })

  it('prove reports lines that are not messages of tidegate.v1, and a file without receipts', async () => {
    const base = lines.map((line) => line.replace(/,"stream":.*$/, '}'))
    expect(namesOf(await prove(base))).toEqual(['frame-malformed', 'cursor-unknown'])
    expect(namesOf(await prove([...lines, '{"channel":']))).toEqual(['frame-malformed'])
    const without = lines.filter((line) => !line.includes('"receipt"'))
    expect(await prove(without)).toMatchObject({ exitCode: 1, failures: [{ name: 'receipts-missing' }] })
  })

  it('prove reports files and keys that cannot be read', async () => {
    const errorOf = async (...args: readonly string[]) =>
      (await runCommand(registerProve, ['prove', ...args]).ended).error
    const frames = save(lines)
    expect(await errorOf(join(folder, 'none'), '--keys', frames)).toMatch(/none cannot be read: ENOENT/)
    expect(await errorOf(frames, '--keys', join(folder, 'none'))).toMatch(/the keys in .*none cannot be read: ENOENT/)
    expect(await errorOf(frames, '--keys', save(['[]']))).toMatch(/are not a JWK Set/)
    expect(await errorOf(frames, '--keys', save(['{']))).toMatch(/are not JSON/)
  })
})

describe('the digest of prove', () => {
  it('the digest in prove is the one documented for the extended protocol', () => {
    const book = new NaiveBook()
    expect(book.digest()).toBe('0000000000000000')
    book.set('bids', '100.00', '1.5000')
    expect(book.digest()).toBe('720a0d8edf5f56db')
    book.set('asks', '100.01', '12345678.9012')
    expect(book.digest()).toBe('7a6182355f8de12d')
    book.set('bids', '99.99', '0.0001')
    book.set('asks', '200.00', '1.0000')
    expect(book.digest()).toBe('d40b92e8fa3df3b5')
    expect(book.digest(1)).toBe('7a6182355f8de12d')
    book.set('bids', '99.99', '0')
    book.set('asks', '200.00', '0')
    expect(book.digest()).toBe('7a6182355f8de12d')
  })
})

/** The receipt with other claims and the old signature. */
function signedLike(receipt: string, claims: ReceiptClaims): string {
  const [header, , signature] = receipt.split('.')
  const payload = Buffer.from(JSON.stringify({ iss: issuer.issuer, ...claims })).toString('base64url')
  return `${header}.${payload}.${signature}`
}

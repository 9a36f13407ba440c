/** `tidegate prove` with the messages of a stream and with recordings: its numbers, and which files and receipts it refuses. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { registerProve } from '../../src/cli/prove.ts'
import { NaiveBook } from '../../src/conformance/judge/naive-book.ts'
import { hashedBook } from '../../src/conformance/judge/receipts/hashed-book.ts'
import type { ReceiptClaims } from '../../src/contract/receipt.ts'
import { nanosecondText } from '../../src/platform/base/clock.ts'
import { BID, type LevelChange } from '../../src/streaming/market/event.ts'
import type { RecordedEntry } from '../../src/streaming/recordings/recording.ts'
import { Cursors } from '../../src/streaming/sequencing/cursor.ts'
import { runCommand } from '../support/command-run.ts'
import { claimsOf, EXECUTIONS, issuer, linesOf, receiptsOf, received } from '../support/receipted-stream.ts'
import { keySetOf, newReceiptIssuer, signReceipt } from '../support/receipts.ts'
import { RECORDING_START, writeRecording } from '../support/recording-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-prove-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
function save(lines: readonly string[]): string {
  const path = join(folder, `${files++}.jsonl`)
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  return path
}

interface Covered {
  readonly covered: number
  readonly total: number
}

interface Report {
  readonly exitCode: number
  readonly ok: boolean
  readonly receipts: number
  readonly books: Covered
  readonly executions: Covered
  readonly executionWindows: Covered
  readonly updates: Covered
  readonly unreached: number
  readonly views: readonly { readonly market: string; readonly depth: number; readonly matched: number }[]
  readonly failures: readonly { readonly name: string; readonly count: number }[]
}

const keyFile = save([JSON.stringify(keySetOf(issuer))])

async function prove(lines: readonly string[], more: readonly string[] = []): Promise<Report> {
  const run = runCommand(registerProve, ['prove', save(lines), '--keys', keyFile, '--json', ...more])
  const { exitCode, error } = await run.ended
  expect(error).toBe('')
  return { exitCode, ...(JSON.parse(run.stdout.text) as Omit<Report, 'exitCode'>) }
}

const namesOf = ({ failures }: Report) => failures.map(({ name }) => name)

/** The lines with one receipt replaced by another one, wherever it occurs. */
const replaced = (lines: readonly string[], receipt: string, by: string) =>
  lines.map((line) => line.replaceAll(receipt, by))

const whole = (total: number): Covered => ({ covered: total, total })

const [lines] = received([{}]) as [string[]]
const all = receiptsOf(lines)
const last = all.at(-1) as string
const updates = linesOf(lines, 'market_data').filter((line) => line.includes('"UPDATE"')).length

describe('prove, with the messages of a session', () => {
  it('prove proves every book, execution and UPDATE that a full-rate session was sent, and prints the three numbers', async () => {
    expect(all.length).toBeGreaterThan(10)
    const report = await prove(lines)
    expect(report).toMatchObject({
      exitCode: 0,
      ok: true,
      receipts: all.length,
      books: whole(all.length),
      executions: whole(EXECUTIONS),
      executionWindows: whole(report.executionWindows.total),
      updates: whole(updates),
      unreached: 0,
      failures: [],
    })
    expect(updates).toBeGreaterThan(200)
    expect(report.executionWindows.total).toBeGreaterThan(5)
    expect(report.views.map(({ market, depth }) => [market, depth])).toEqual([
      ['AAAUSD', 50],
      ['BBBUSD', 50],
    ])
    const run = runCommand(registerProve, ['prove', save(lines), '--keys', keyFile])
    await run.ended
    const { total } = report.executionWindows
    expect(run.stdout.text).toContain(`proven: ${all.length} of ${all.length} books at receipts\n`)
    expect(run.stdout.text).toContain(`proven: 60 of 60 executions, in ${total} of ${total} windows with executions\n`)
    expect(run.stdout.text).toMatch(
      new RegExp(`proven: ${updates} of ${updates} UPDATEs, in (\\d+) of \\1 windows with UPDATEs\n`),
    )
    expect(run.stdout.text).toMatch(/proven: \d of 2 SNAPSHOTs\n/)
    expect(run.stdout.text).toContain('signed by https://service.test, key key-1')
    expect(run.stdout.text).toMatch(/AAAUSD, depth 50: \d+ matched, from 2026-01-01T00:00:\d\d\.\d{9}Z to /)
    expect(run.stdout.text).toContain('No errors found. Only what is counted as proven is.')
  })

  it.each<[string, object]>([
    ['a limited depth', { depth: 5 }],
    ['levels that name their venues', { attribution: true }],
  ])('prove proves every message of a view with %s', async (_name, params) => {
    const [own] = received([{ params }]) as [string[]]
    const ownUpdates = linesOf(own, 'market_data').filter((line) => line.includes('"UPDATE"')).length
    expect(await prove(own)).toMatchObject({
      exitCode: 0,
      books: whole(receiptsOf(own).length),
      executions: whole(EXECUTIONS),
      updates: whole(ownUpdates),
    })
  })

  it('prove proves the books and executions of a throttled session, whatever its interval, and none of its conflated UPDATEs', async () => {
    for (const interval of [50, 250, 1000]) {
      const [throttled] = received([{ params: { interval_ms: interval } }]) as [string[]]
      const report = await prove(throttled)
      expect(report).toMatchObject({ exitCode: 0, unreached: 0, books: whole(report.receipts) })
      expect(report.executions).toEqual(whole(EXECUTIONS))
      expect(report.updates.covered).toBeLessThan(report.updates.total / 2)
    }
  })

  it('prove compares the receipts of another session with the same view', async () => {
    const other = save([...all.slice(0, 3), lines.findLast((line) => line.includes(last)) as string])
    const report = await prove(lines, ['--receipts', other])
    expect(report).toMatchObject({ exitCode: 0, books: whole(report.receipts) })
    expect(report.updates.covered).toBeLessThan(updates)
  })

  it('prove reports receipts of books that the messages skip as unreached, and fails when there is no other', async () => {
    const [, throttled] = received([{}, { params: { interval_ms: 250 } }]) as [string[], string[]]
    const cursorOf = (line: string): string => JSON.parse(line).stream.cursor
    const sent = new Set(linesOf(throttled, 'market_data').map(cursorOf))
    const skipped = linesOf(lines, 'market_data', 'AAAUSD').find((line) => !sent.has(cursorOf(line))) as string
    const claims = {
      ...claimsOf(last),
      market: 'AAAUSD',
      cursor: cursorOf(skipped),
      time: `${timeOf(skipped).slice(0, -1)}000000Z`,
    }
    const receipt = signReceipt(issuer, claims)
    const report = await prove(throttled, ['--receipts', save([receipt])])
    expect(report).toMatchObject({ exitCode: 1, unreached: 1, books: { covered: 0, total: 1 } })
    expect(namesOf(report)).toEqual(['receipts-unreached'])
    const both = await prove(throttled, ['--receipts', save([receipt, ...receiptsOf(throttled)])])
    expect(both).toMatchObject({ exitCode: 0, unreached: 1, books: { covered: both.receipts - 1 } })
  })

  it('prove follows a book over files of connections that resume', async () => {
    const half = Math.floor(lines.length / 2)
    const paths = [save(lines.slice(0, half)), save(lines.slice(half))]
    const run = runCommand(registerProve, ['prove', ...paths, '--keys', keyFile, '--json'])
    expect((await run.ended).exitCode).toBe(0)
    expect(JSON.parse(run.stdout.text)).toMatchObject({ ok: true, books: whole(all.length), updates: whole(updates) })
    // Without the first file, the book that the second one continues is not known.
    const alone = runCommand(registerProve, ['prove', paths[1] as string, '--keys', keyFile, '--json'])
    expect((await alone.ended).exitCode).toBe(1)
    expect(alone.stdout.text).toContain('message-missing')
  })
})

describe('prove, with a recording', () => {
  it("prove reports the first and last matching book's origin in a recording, and the numbers for it", async () => {
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
        book: hashedBook(book).sha256,
        time: nanosecondText(RECORDING_START + index, 0),
        cursor: new Cursors('BTCUSD', 'market_data', 10).token({ id: 'one', base: 0 }, index + 1),
      })
    })
    const args = ['prove', path, '--receipts', save(receipts), '--keys', keyFile]
    const run = runCommand(registerProve, [...args, '--json'])
    expect(await run.ended).toMatchObject({ exitCode: 0, error: '' })
    const [first, second] = [0, 1].map((index) => nanosecondText(RECORDING_START + index, 0))
    const view = { market: 'BTCUSD', depth: 10, matched: 2, first, last: second }
    const report = JSON.parse(run.stdout.text) as Report
    expect(report.views).toEqual([{ ...view, firstOrigin: 'run.7', lastOrigin: 'run.9' }])
    expect([report.books, report.updates, report.executions]).toEqual([
      { covered: 2, total: 2 },
      { covered: 0, total: 3 },
      { covered: 0, total: 3 },
    ])
    const text = runCommand(registerProve, args)
    await text.ended
    expect(text.stdout.text).toContain('proven: 2 of 2 books at receipts')
    expect(text.stdout.text).toContain('proven: 0 of 3 commits, because a recording has no UPDATEs')
    expect(text.stdout.text).toContain(`from ${first} to ${second}, of the origins run.7 to run.9`)
  })
})

describe('prove reports', () => {
  it.each<[string, string, (receipt: string) => string]>([
    ['a changed payload', 'signature-wrong', (receipt) => signedLike(receipt, { ...claimsOf(receipt), book: OTHER })],
    ['another book', 'book-differs', (receipt) => signReceipt(issuer, { ...claimsOf(receipt), book: OTHER })],
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
      'other decimals',
      'decimals-differ',
      (receipt) => signReceipt(issuer, { ...claimsOf(receipt), amount_decimals: 5 }),
    ],
    [
      'a missing member',
      'receipt-malformed',
      (receipt) => signReceipt(issuer, { ...claimsOf(receipt), book: undefined as never }),
    ],
    [
      'a negative count',
      'receipt-malformed',
      (receipt) => signReceipt(issuer, { ...claimsOf(receipt), updates: { ...claimsOf(receipt).updates, count: -1 } }),
    ],
    ['the end cut off', 'receipt-malformed', (receipt) => receipt.slice(0, -10)],
    [
      'the type of version 1',
      'receipt-type',
      (receipt) => signReceipt(issuer, claimsOf(receipt), { typ: 'tidegate-receipt+jws' }),
    ],
    [
      'another issuer',
      'issuer-differs',
      (receipt) => signReceipt({ ...issuer, issuer: 'https://other.test' }, claimsOf(receipt)),
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
  ])('prove reports a receipt with %s as %s, and proves the others', async (_, name, forge) => {
    const report = await prove(replaced(lines, last, forge(last)))
    expect(namesOf(report)).toEqual([name])
    expect(report).toMatchObject({ exitCode: 1, ok: false, receipts: all.length })
    expect(report.books.covered).toBeGreaterThanOrEqual(all.length - 1)
  })

  it('prove reports lines that are not messages of tidegate.v1, and a file without receipts', async () => {
    const base = lines.map((line) => line.replace(/,"stream":.*$/, '}'))
    expect(namesOf(await prove(base))).toEqual(['frame-malformed', 'cursor-unknown'])
    expect(namesOf(await prove([...lines, '{"channel":']))).toEqual(['frame-malformed'])
    const without = lines.filter((line) => !line.includes('"receipts"'))
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
    expect(await errorOf(folder, '--keys', frames)).toBe(`${folder} is not a regular file`)
    expect(await errorOf(frames, '--keys', 'http://127.0.0.1:9/keys')).toMatch(
      /^the keys at http:\/\/127\.0\.0\.1:9\/keys cannot be read: /,
    )
  })
})

/** A hash of something else. */
const OTHER = 'A'.repeat(43)

const timeOf = (line: string): string => JSON.parse(line).payload.time

/** The receipt with other claims and the old signature. */
function signedLike(receipt: string, claims: ReceiptClaims): string {
  const [header, , signature] = receipt.split('.')
  const payload = Buffer.from(JSON.stringify({ iss: issuer.issuer, ...claims })).toString('base64url')
  return `${header}.${payload}.${signature}`
}

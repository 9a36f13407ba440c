/** `tidegate prove` with recordings that the recorder made, and the receipts that sessions received meanwhile. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { registerProve } from '../../src/cli/prove.ts'
import { BID, type LevelChange } from '../../src/streaming/market/event.ts'
import { CommitRecorder } from '../../src/streaming/recordings/commit-recorder.ts'
import { openRecordingWriter } from '../../src/streaming/recordings/writer.ts'
import { deepBook, LiveStream } from '../streaming/gateway/live-stream.ts'
import { runCommand } from '../support/command-run.ts'
import { claimsOf, receiptsOf } from '../support/receipted-stream.ts'
import { keySetOf, newReceiptIssuer, signerOf, signReceipt } from '../support/receipts.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-prove-recording-'))
afterAll(() => rmSync(folder, { recursive: true }))

const issuer = newReceiptIssuer()
const STALE_SECONDS = 2
let files = 0

function save(lines: readonly string[]): string {
  const path = join(folder, `${files++}.jsonl`)
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  return path
}

const bid = (amount: number): LevelChange[] => [{ side: BID, price: 9_999_999, amount }]

/** A recorded stream, and what a session of it receives. */
async function record(params: object, play: (stream: LiveStream, recorder: CommitRecorder) => void) {
  const stream = new LiveStream({ receipts: signerOf(issuer), settings: { staleSeconds: STALE_SECONDS } })
  const { clock, bus, replicas } = stream
  const markets = [...replicas.values()].map(({ market }) => market)
  const path = join(folder, `${files++}.recording`)
  const startedAtMilliseconds = clock.wallInstant().milliseconds
  const header = {
    writtenBy: 'tidegate 0.0.0',
    startedAtMilliseconds,
    markets: markets.map((definition) => ({ definition, sources: ['simulator'] })),
  }
  const onFailure = (error: Error): never => {
    throw error
  }
  const writer = await openRecordingWriter({ path, header, overwrites: false, clock, onFailure })
  const recorder = new CommitRecorder({ markets, bus, clock, writer })
  recorder.writeKeyframe()
  stream.snapshot(deepBook(4, 10))
  const client = stream.connect({ subprotocol: 'tidegate.v1' })
  const book = { type: 'market_data', params: { market: 'AAAUSD', ...params } }
  client.receive({ type: 'subscribe', channels: [book, { type: 'heartbeat' }] })
  clock.advance(1_500)
  play(stream, recorder)
  clock.advance(1_500)
  recorder.stop()
  await writer.close()
  return { path, receipts: receiptsOf(client.read()) }
}

async function prove(path: string, receipts: readonly string[]) {
  const keys = save([JSON.stringify(keySetOf(issuer))])
  const run = runCommand(registerProve, ['prove', path, '--receipts', save(receipts), '--keys', keys, '--json'])
  const { exitCode, error } = await run.ended
  expect(error).toBe('')
  const { failures, books } = JSON.parse(run.stdout.text) as { failures: readonly { name: string }[]; books: object }
  return { exitCode, failures: failures.map(({ name }) => name), books }
}

/** The book is lost for long enough to be withdrawn, and restored. */
function outage(stream: LiveStream): void {
  stream.update(bid(15))
  stream.clock.advance(1_000)
  stream.lose()
  stream.clock.advance(STALE_SECONDS * 1_000 + 1_500)
  stream.update([], [{ price: 10_000_000, amount: 1, id: 'while stale', venue: 'kraken' }])
  stream.clock.advance(1_500)
  stream.snapshot(deepBook(4, 20))
}

describe('prove, with the recording of a stream', () => {
  it.each<[string, object]>([
    ['the published depth', {}],
    ['a smaller depth', { depth: 1 }],
    ['levels that name their venues', { attribution: true }],
  ])('prove matches every receipt of a view with %s, that of its withdrawn book too', async (_name, params) => {
    const { path, receipts } = await record(params, outage)
    expect(receipts.length).toBeGreaterThanOrEqual(4)
    const total = receipts.length
    expect(await prove(path, receipts)).toEqual({ exitCode: 0, failures: [], books: { covered: total, total } })
  })

  it('prove matches the receipt of a withdrawn book with a recording that begins after the withdrawal', async () => {
    const { path, receipts } = await record({}, (stream, recorder) => {
      stream.update(bid(15))
      stream.lose()
      stream.clock.advance(STALE_SECONDS * 1_000 + 1_500)
      recorder.writeKeyframe()
      stream.clock.advance(1_500)
    })
    const total = receipts.length
    expect(await prove(path, receipts)).toEqual({ exitCode: 0, failures: [], books: { covered: total, total } })
  })

  it('prove reports a receipt that states levels for a withdrawn book', async () => {
    const { path, receipts } = await record({}, outage)
    const { book } = claimsOf(receipts[0] as string)
    const forged = receipts.map((receipt) => signReceipt(issuer, { ...claimsOf(receipt), book }))
    expect(await prove(path, forged)).toMatchObject({ exitCode: 1, failures: ['book-differs'] })
  })
})

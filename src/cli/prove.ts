/**
 * `tidegate prove`: checks receipts against the messages a client received, or against a service's recording, and
 * reports how many books, executions and UPDATEs they prove. It needs no service, only the files and the public keys.
 * Exit code 1 when anything failed, or there is no receipt.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Command } from 'commander'
import { collectReceipts, FramesProof } from '../conformance/judge/receipts/prove-frames.ts'
import { endRecordings, proveRecording, type RecordingFormat } from '../conformance/judge/receipts/prove-recording.ts'
import {
  type Covered,
  type MatchedView,
  type ReceiptFinding,
  ReceiptList,
} from '../conformance/judge/receipts/receipt-list.ts'
import { type ReceiptKeys, readReceiptKeys } from '../conformance/judge/receipts/receipt-proof.ts'
import { fileErrorText, readRegularFile } from '../platform/base/regular-file.ts'
import { reasonOf } from '../service/doctor/finding.ts'
import { openRecording } from '../streaming/recordings/reader.ts'
import { RecordingError, readSignature, SIGNATURE_BYTES_MAX } from '../streaming/recordings/recording.ts'
import { Cursors } from '../streaming/sequencing/cursor.ts'
import { type CommandEnvironment, processEnvironment } from './terminal/environment.ts'
import { linesOf } from './terminal/line-reader.ts'
import { printable, printableJson } from './terminal/styled-line.ts'
import { countText } from './terminal/table.ts'

interface ProveOptions {
  readonly receipts?: string
  readonly keys: string
  readonly json?: boolean
}

interface Verdict {
  readonly ok: boolean
  readonly files: readonly string[]
  /** What the receipts were compared with. */
  readonly against: 'messages' | 'recording'
  readonly receipts: number
  /** Receipts whose book is the files' book at their cursor. */
  readonly books: Covered
  /** In windows for which the client was subscribed as a whole. */
  readonly executions: Covered
  /** The receipts' windows with executions. */
  readonly executionWindows: Covered
  /** In windows of which the client received each UPDATE by itself. Of a recording: commits. */
  readonly updates: Covered
  readonly updateWindows: Covered
  /** Of a receipt's book. */
  readonly snapshots: Covered
  /** Valid, but for books between two of this client's messages. */
  readonly unreached: number
  readonly signers: readonly { readonly issuer: string; readonly keyId: string }[]
  readonly views: readonly MatchedView[]
  readonly failures: readonly ReceiptFinding[]
}

const KEYS_BYTES_MAX = 1_048_576
const REQUEST_MILLISECONDS_MAX = 10_000

const HELP = `
FILE contains the messages which one client received over tidegate.v1, one per line (verify --save writes such a file), or
is a recording by the service. Several files of one kind are read in the given order.

The report has three numbers, n of m each. Books: how many receipts have the book that the messages give at their cursor.
Executions: how many are in receipts' windows with the same hash, and in how many windows. UPDATEs: the same; conflated
ones are in none. Of SNAPSHOTs those are proven which are a receipt's book. The others are not proven. A recording is
compared by books only. See docs/explanation/receipts.md.

Examples:
  $ tidegate prove frames.jsonl --keys receipt-keys.json
  $ tidegate prove frames.jsonl --keys https://stream.example/.well-known/tidegate-receipt-keys.json
  $ tidegate prove 2026-11-23T14.recording --receipts frames.jsonl --keys receipt-keys.json --json`

export function registerProve(program: Command, environment: CommandEnvironment = processEnvironment()): void {
  program
    .command('prove')
    .summary('checks receipts')
    .description('Compares books, executions and UPDATEs in files with the receipts signed by the service.')
    .argument('<files...>', 'tidegate.v1 messages, one per line, or recordings')
    .requiredOption('--keys <file|url>', 'the public receipt keys, a JWK Set')
    .option('--receipts <file>', 'lines with receipts, or with messages around them (default: the messages)')
    .option('--json', 'report as JSON')
    .addHelpText('after', HELP)
    .action((files: string[], options: ProveOptions) => prove(files, options, environment))
}

async function prove(files: readonly string[], options: ProveOptions, environment: CommandEnvironment): Promise<void> {
  const kinds = await Promise.all(files.map(isRecording))
  const areRecordings = kinds[0] === true
  if (kinds.some((kind) => kind !== areRecordings))
    throw new Error('the files mix messages and recordings: give only one kind')
  if (areRecordings && options.receipts === undefined) {
    throw new Error('a recording has no receipts: name the file with them in --receipts')
  }
  const receipts = new ReceiptList(await loadKeys(options.keys))
  for (const file of options.receipts === undefined ? files : [options.receipts]) {
    for await (const line of linesOf(file)) collectReceipts(line.trim(), receipts)
  }
  if (receipts.count === 0) receipts.report('receipts-missing', 'there is none')
  if (areRecordings) await proveRecordings(files, receipts)
  else await proveFrames(files, receipts, options.receipts === undefined)
  if (receipts.count > 0 && receipts.countOf('unreached') === receipts.count) {
    receipts.report('receipts-unreached', 'no receipt belongs to a book in the files')
  }
  const verdict: Verdict = {
    ok: receipts.findings.length === 0,
    files,
    against: areRecordings ? 'recording' : 'messages',
    receipts: receipts.count,
    books: receipts.books,
    executions: receipts.executions,
    executionWindows: receipts.executionWindows,
    updates: receipts.updates,
    updateWindows: receipts.updateWindows,
    snapshots: receipts.snapshots,
    unreached: receipts.countOf('unreached'),
    signers: receipts.signers(),
    views: receipts.views(),
    failures: receipts.findings,
  }
  environment.stdout.write(options.json === true ? `${printableJson(verdict)}\n` : reportText(verdict))
  if (!verdict.ok) environment.setExitCode(1)
}

const FORMAT: RecordingFormat = {
  isDamage: (error) => error instanceof RecordingError,
  cursorsOf(market, depth) {
    return [false, true].map((isAttributed) => {
      const cursors = new Cursors(market, 'market_data', depth, isAttributed)
      return (epoch, version) => cursors.token({ id: epoch, base: 0 }, version)
    })
  },
}

async function proveRecordings(files: readonly string[], receipts: ReceiptList): Promise<void> {
  for (const file of files) {
    const reader = await openRecording(file)
    try {
      await proveRecording(reader, FORMAT, receipts)
    } finally {
      await reader.close()
    }
  }
  endRecordings(receipts)
}

async function proveFrames(files: readonly string[], receipts: ReceiptList, areOwn: boolean): Promise<void> {
  const proof = new FramesProof(receipts, areOwn)
  for (const file of files) for await (const line of linesOf(file)) proof.onLine(line.trim())
  proof.end()
}

async function isRecording(path: string): Promise<boolean> {
  // Without O_NONBLOCK, opening a pipe blocks until it has a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${fileErrorText(error)}`)
  })
  try {
    if (!(await file.stat()).isFile()) throw new Error(`${path} is not a regular file`)
    const bytes = Buffer.alloc(SIGNATURE_BYTES_MAX)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
    return readSignature(bytes.subarray(0, bytesRead)) !== undefined
  } finally {
    await file.close()
  }
}

async function loadKeys(place: string): Promise<ReceiptKeys> {
  const refuse = (error: unknown): never => {
    throw new Error(`the keys at ${place} cannot be read: ${reasonOf(error)}`)
  }
  const text = /^https?:\/\//.test(place) ? await fetchText(place).catch(refuse) : readText(place)
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    throw new Error(`the keys at ${place} are not JSON`, { cause: error })
  }
  const keys = readReceiptKeys(document)
  if (keys === undefined) throw new Error(`the keys at ${place} are not a JWK Set`)
  return keys
}

function readText(path: string): string {
  try {
    return readRegularFile(path, KEYS_BYTES_MAX).toString('utf8')
  } catch (error) {
    throw new Error(`the keys in ${path} cannot be read: ${fileErrorText(error)}`)
  }
}

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(REQUEST_MILLISECONDS_MAX) })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`the answer has status ${response.status}`)
  }
  const decoder = new TextDecoder()
  let text = ''
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true })
    if (text.length > KEYS_BYTES_MAX) throw new Error('the answer is too long')
  }
  return text
}

function reportText(verdict: Verdict): string {
  const { files, against, receipts, books, executions, executionWindows, unreached } = verdict
  const { updates, updateWindows, snapshots, signers, views, failures, ok } = verdict
  const isRecording = against === 'recording'
  const lines = [
    `${files.join(', ')}: ${countText(receipts, 'receipt')}`,
    `  proven: ${coveredText(books)} books at receipts`,
    `  proven: ${coveredText(executions)} executions, in ${coveredText(executionWindows)} windows with executions`,
    ...(isRecording
      ? [`  proven: ${coveredText(updates)} commits, because a recording has no UPDATEs`]
      : [
          `  proven: ${coveredText(updates)} UPDATEs, in ${coveredText(updateWindows)} windows with UPDATEs`,
          `  proven: ${coveredText(snapshots)} SNAPSHOTs`,
        ]),
    ...signers.map(({ issuer, keyId }) => `  signed by ${issuer}, key ${keyId}`),
    ...views.map(
      ({ market, depth, matched: ofView, first, last, firstOrigin, lastOrigin }) =>
        `  ${market}, ${depth === 0 ? 'all levels' : `depth ${depth}`}: ${ofView} matched, from ${first} to ${last}` +
        (firstOrigin === undefined && lastOrigin === undefined
          ? ''
          : `, of the origins ${firstOrigin ?? 'unknown'} to ${lastOrigin ?? 'unknown'}`),
    ),
  ]
  if (unreached > 0) lines.push(`  ${unreached} valid, but for a book before the first message or between two`)
  for (const { name, rule, count, examples } of failures) {
    lines.push('', `${name} (${count}): ${rule}`, ...examples.map((example) => `  ${example}`))
  }
  lines.push('', ok ? 'No errors found. Only what is counted as proven is.' : `${countText(sum(failures), 'failure')}.`)
  return lines.map((line) => `${printable(line)}\n`).join('')
}

function coveredText({ covered, total }: Covered): string {
  return `${covered} of ${total}`
}

function sum(failures: readonly ReceiptFinding[]): number {
  return failures.reduce((total, { count }) => total + count, 0)
}

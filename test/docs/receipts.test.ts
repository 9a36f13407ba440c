/**
 * The commands of docs/explanation/receipts.md, executed against a service that signs receipts and records: what its page says is
 * compared is compared, with the messages and with the recording.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerProve } from '../../src/cli/prove.ts'
import { registerVerify } from '../../src/cli/verify.ts'
import type { ReceiptClaims } from '../../src/contract/receipt.ts'
import { runCommand } from '../support/command-run.ts'
import { keySetOf, newReceiptIssuer, partsOf, signReceipt } from '../support/receipts.ts'
import { market, type ServiceInside, startServiceInside, temporaryFolder } from '../support/running-service.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/explanation/receipts.md'), 'utf8')
const commands = page.split('\n').filter((line) => /^(tidegate|curl) /.test(line))

const folder = temporaryFolder()
const inFolder = (name: string) => join(folder.path, name)
/** Placeholders of the page, and what they are here. */
const words = new Map<string, string>()
let service: ServiceInside

beforeAll(async () => {
  const recordings = inFolder('recordings')
  service = await startServiceInside(folder.path, [market('BTC', 2, 100)], {
    'receipts.enabled': 'true',
    'recording.dir': recordings,
    'stream.drain_seconds': 0,
  })
  const { clientId, clientSecret } = await service.operator.createClient()
  const credentials = { client_id: clientId, client_secret: clientSecret, auth_url: service.http, ws_url: service.ws }
  writeFileSync(inFolder('client.json'), JSON.stringify(credentials))
  words.set('https://stream.example', service.http)
  for (const name of ['frames.jsonl', 'receipt-keys.json']) words.set(name, inFolder(name))
})
afterAll(() => folder.remove())

function argumentsOf(command: string): string[] {
  return command.split(' ').map((word) => {
    for (const [placeholder, value] of words) if (word.startsWith(placeholder)) return word.replace(placeholder, value)
    return word
  })
}

const commandWith = (text: string) => argumentsOf(commands.find((command) => command.includes(text)) as string).slice(1)

async function prove(args: readonly string[]) {
  const run = runCommand(registerProve, [...args, '--json'])
  const { exitCode, error } = await run.ended
  expect(error).toBe('')
  return { exitCode, report: JSON.parse(run.stdout.text) }
}

describe('the commands of the page about receipts', () => {
  it('the commands of the page about receipts keep messages and keys, and compare the receipts with the messages', async () => {
    const verify = commandWith('verify').map((word) => (word === '3600' ? '60' : word))
    const run = runCommand(registerVerify, [...verify, '--credentials', inFolder('client.json')])
    const receipts = () => readFileSync(inFolder('frames.jsonl'), 'utf8').match(/"receipts":\["[^"]+"\]/g)?.length ?? 0
    await expect.poll(receipts).toBeGreaterThanOrEqual(3)
    const [, , keyFile, keyAddress] = argumentsOf(commands.find((command) => command.startsWith('curl')) as string)
    writeFileSync(keyFile as string, await (await fetch(keyAddress as string)).text())
    const args = commandWith('prove frames.jsonl')
    // A second may have no execution.
    const countProven = async () => {
      const text = readFileSync(inFolder('frames.jsonl'), 'utf8')
      writeFileSync(inFolder('begun.jsonl'), text.slice(0, text.lastIndexOf('\n') + 1))
      const { report } = await prove(args.map((word) => word.replace('frames.jsonl', 'begun.jsonl')))
      return Math.min(report.updates.covered, report.executions.covered)
    }
    await expect.poll(countProven).toBeGreaterThan(0)
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 0, error: '' })
    const count = receipts()
    const { exitCode, report } = await prove(args)
    const whole = { covered: count, total: count }
    expect(report).toMatchObject({ ok: true, receipts: count, books: whole, unreached: 0 })
    expect(report.views).toMatchObject([{ market: 'BTCUSD', depth: 100, matched: count }])
    for (const { covered, total } of [report.updates, report.executions]) {
      expect(covered).toBeGreaterThan(0)
      expect(covered).toBeLessThanOrEqual(total)
    }
    expect(exitCode).toBe(0)
    expect(await service.operator.metric('tidegate_receipts_signed_total')).toBeGreaterThanOrEqual(3)
  })

  it("the page's commands compare receipts with the recording, which no receipt of another book agrees with", async () => {
    await service.stop()
    const [name] = readdirSync(inFolder('recordings')).filter((file) => file.endsWith('.recording'))
    const placeholder = /\S+\.recording/.exec(commands.join(' '))?.[0] as string
    words.set(placeholder, join(inFolder('recordings'), name as string))
    const args = commandWith(placeholder)
    const { exitCode, report } = await prove(args.filter((word) => word !== '--json'))
    expect(report).toMatchObject({ ok: true, against: 'recording', unreached: 0, failures: [] })
    expect(report.books.covered).toBeGreaterThanOrEqual(3)
    expect(exitCode).toBe(0)
    const issuer = newReceiptIssuer()
    const receipt = /"receipts":\["([^"]+)"/.exec(readFileSync(inFolder('frames.jsonl'), 'utf8'))?.[1] as string
    const { iss: _issuer, ...claims } = partsOf(receipt).payload as unknown as ReceiptClaims & { readonly iss: string }
    const forged = [
      claims,
      { ...claims, book: 'A'.repeat(43) },
      { ...claims, time: '2026-01-01T00:00:00.000000000Z' },
      { ...claims, depth: 10 },
      { ...claims, amount_decimals: 2 },
      { ...claims, market: 'ETHUSD' },
    ].map((forgedClaims) => signReceipt(issuer, forgedClaims))
    writeFileSync(inFolder('forged.txt'), forged.join('\n'))
    writeFileSync(inFolder('keys.json'), JSON.stringify(keySetOf(issuer)))
    const recording = args[1] as string
    const other = await prove([
      'prove',
      recording,
      '--receipts',
      inFolder('forged.txt'),
      '--keys',
      inFolder('keys.json'),
    ])
    expect(other.exitCode).toBe(1)
    expect(other.report.books.covered).toBe(1)
    expect(
      other.report.failures.map((failure: { name: string; count: number }) => [failure.name, failure.count]),
    ).toEqual([
      ['books-equivocal', 1],
      ['book-differs', 1],
      ['time-differs', 1],
      ['depth-differs', 1],
      ['decimals-differ', 1],
      ['version-not-recorded', 1],
    ])
  })
})

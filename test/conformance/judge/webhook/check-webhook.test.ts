/** `tidegate check-webhook` against the example receiver, and against receivers with one defect each. */
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { checkWebhook, WEBHOOK_SCENARIOS } from '../../../../src/conformance/judge/webhook/webhook-checks.ts'
import { createEventSender } from '../../../../src/conformance/stimulus/events.ts'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { once } from '../../../support/awaited.ts'
import { runCommand, startProgram } from '../../../support/command-line.ts'
import { pythonWith } from '../../../support/python.ts'

const KEY = Buffer.alloc(33, 9)
const SECRET = `whsec_${KEY.toString('base64')}`
const EXAMPLES = join(import.meta.dirname, '../../../../examples/webhook')
const PYTHON = pythonWith('http.server')

/** The defects of a receiver. */
interface Mistakes {
  readonly trustsAnything?: true
  readonly ignoresTime?: true
  readonly readsFirstSignature?: true
  readonly refusesRepeats?: true
  readonly refusesEarlier?: true
  readonly knowsTypes?: true
  readonly isStrict?: true
  readonly refusesTests?: true
  readonly redirects?: true
}

const folder = mkdtempSync(join(tmpdir(), 'tidegate-webhook-'))
const servers: { close(): unknown; closeAllConnections(): void }[] = []
beforeAll(() => writeFileSync(join(folder, 'secret'), `${SECRET}\n`))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function receiverWith(mistakes: Mistakes): Promise<string> {
  const seen = new Set<string>()
  const last = new Map<string, number>()
  const statusFor = (headers: IncomingMessage['headers'], body: string): number => {
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': text = '' } = headers
    const signatures = mistakes.readsFirstSignature ? [String(text).split(' ')[0]] : String(text).split(' ')
    const expected = `v1,${createHmac('sha256', KEY).update(`${id}.${time}.${body}`).digest('base64')}`
    const isRecent = mistakes.ignoresTime || Math.abs(Date.now() / 1000 - Number(time)) < 300
    if (!mistakes.trustsAnything && (!signatures.includes(expected) || !isRecent)) return 401
    const event = JSON.parse(body)
    if (mistakes.redirects) return 302
    if (mistakes.isStrict && 'added_later' in event) return 400
    if (mistakes.knowsTypes && event.type === 'added.later') return 422
    if (mistakes.refusesTests && event.is_test) return 400
    const before = last.get(event.subject) ?? 0
    last.set(event.subject, event.sequence)
    if (mistakes.refusesEarlier && event.sequence < before) return 409
    const isRepeated = seen.has(String(id))
    seen.add(String(id))
    return mistakes.refusesRepeats && isRepeated ? 409 : 204
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = ''
    for await (const part of request) body += part
    response.writeHead(statusFor(request.headers, body), { location: '/' }).end()
  }
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function broken(mistakes: Mistakes): Promise<readonly string[]> {
  const results = await checkWebhook(createEventSender(await receiverWith(mistakes), [SECRET], createSystemClock()))
  expect(results).toHaveLength(WEBHOOK_SCENARIOS.length)
  return results.flatMap(({ name, violation }) => (violation === undefined ? [] : [name]))
}

it('a correct receiver of webhooks breaks no rule', async () => {
  expect(await broken({})).toEqual([])
})

it.each<readonly [string, Mistakes, readonly string[]]>([
  [
    'trusts any request',
    { trustsAnything: true },
    ['wrong-signature', 'no-signature', 'altered-body', 'altered-id', 'old-timestamp'],
  ],
  ['ignores the time', { ignoresTime: true }, ['old-timestamp']],
  ['reads only the first signature', { readsFirstSignature: true }, ['two-signatures']],
  ['refuses repeats', { refusesRepeats: true }, ['repeats', 'parallel-repeats']],
  ['refuses earlier sequences', { refusesEarlier: true }, ['reordered']],
  ['refuses types that it does not know', { knowsTypes: true }, ['unknown-type']],
  ['refuses unknown members', { isStrict: true }, ['unknown-members']],
  ['refuses tests', { refusesTests: true }, ['test-event']],
])('a receiver of webhooks that %s breaks the rules by name', async (_, mistakes, names) => {
  expect(await broken(mistakes)).toEqual(names)
})

it('a receiver of webhooks that redirects accepts nothing', async () => {
  expect(await broken({ redirects: true })).toEqual(
    WEBHOOK_SCENARIOS.map(({ name }) => name).filter((name) => name !== 'in-time'),
  )
})

it('a slow receiver of webhooks is named with the time that it took', async () => {
  let milliseconds = 0
  const clock = { ...createSystemClock(), monotonicMilliseconds: () => (milliseconds += 4_000) }
  const sender = { ...createEventSender(await receiverWith({}), [SECRET], createSystemClock()), clock }
  const results = await checkWebhook(sender)
  expect(results.at(-1)).toMatchObject({ name: 'in-time', violation: expect.stringMatching(/^the slowest took \d+/) })
})

it.skipIf(PYTHON === undefined).each([
  ['Node', process.execPath, 'receiver.mjs'],
  ['Python', PYTHON as string, 'receiver.py'],
])('the example receiver in %s passes check-webhook, and handles each event once', async (_, file, example) => {
  const program = startProgram(file, [join(EXAMPLES, example)], {
    cwd: folder,
    env: { ...process.env, PORT: '0', TIDEGATE_WEBHOOK_SECRET: SECRET },
  })
  try {
    const url = (await program.line((line) => line.startsWith('listening on '))).slice('listening on '.length)
    const run = await runCommand(['check-webhook', url, '--secret-file', join(folder, 'secret'), '--json'])
    const report = JSON.parse(run.stdout)
    expect(report.checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
    expect({ code: run.code, ok: report.ok }).toEqual({ code: 0, ok: true })
  } finally {
    program.child.kill()
    const { stdout } = await program.result
    const handled = stdout.split('\n').filter((line) => line.includes(' transfer.deposit.completed '))
    expect(handled.length).toBeGreaterThan(10)
    expect(new Set(handled.map((line) => line.split(' ')[2])).size).toBeGreaterThanOrEqual(handled.length - 1)
  }
})

it('check-webhook exits with 1 and names each broken rule', async () => {
  const url = await receiverWith({ ignoresTime: true })
  const { code, stdout, stderr } = await runCommand(['check-webhook', url, '--secret-file', join(folder, 'secret')])
  expect(code).toBe(1)
  expect(stdout).toMatch(/^BROKEN +old-timestamp/m)
  expect(stderr).toBe('tidegate: the endpoint breaks 1 of 15 rules\n')
})

/** `tidegate check-executor` against a correct payment endpoint, and against endpoints with one defect each. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createSystemClock } from '../../src/base/clock.ts'
import { checkExecutor, EXECUTOR_RULES } from '../../src/cli/executor-checks.ts'
import { type RunningCommand, runCommand, startProgram } from '../support/command-line.ts'

const KEY = Buffer.alloc(32, 9)
const SECRET = `whsec_${KEY.toString('base64')}`

/** Of an endpoint with a race, between looking up and paying. */
const TICKS_BETWEEN = 2_000

/** The defects of an endpoint; each has occurred in practice. */
interface Mistakes {
  readonly paysEveryRequest?: true
  /** Looks up and pays without a lock, with time in between for a concurrent request. */
  readonly hasRace?: true
  /** Answers a repeated request with the first reference, but pays again. */
  readonly paysBehindAnswers?: true
  readonly trustsAnything?: true
  readonly ignoresTime?: true
  readonly readsFirstSignature?: true
  readonly paysPerBody?: true
  readonly refusesOnce?: true
  readonly isStrict?: true
}

const servers: { close(): unknown; closeAllConnections(): void }[] = []
const folder = mkdtempSync(join(tmpdir(), 'tidegate-executor-'))
let example: RunningCommand
let exampleUrl: string
beforeAll(async () => {
  writeFileSync(join(folder, 'secret'), `${SECRET}\n`)
  example = startProgram(process.execPath, [join(import.meta.dirname, '../../examples/executor/executor.mjs')], {
    cwd: folder,
    env: { ...process.env, PORT: '0', TIDEGATE_WEBHOOK_SECRET: SECRET },
  })
  exampleUrl = (await example.line((line) => line.startsWith('listening on '))).slice('listening on '.length)
})
afterAll(async () => {
  example.child.kill()
  await example.result
  rmSync(folder, { recursive: true, force: true })
})
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** The names of the rules that an endpoint breaks, and whether money would be lost. */
async function brokenBy(mistakes: Mistakes) {
  const results = new Map<string, object>()
  const made = new Map<string, number>()
  const arrived = new Map<string, number>()
  let payments = 0
  const pay = (refuses: boolean) =>
    refuses ? { status: 'REFUSED', code: 'closed' } : { status: 'SETTLED', reference: `payment ${++payments}` }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = ''
    for await (const part of request) body += part
    const reply = (status: number, answer: object) => void response.writeHead(status).end(JSON.stringify(answer))
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': text = '' } = request.headers
    const signatures = mistakes.readsFirstSignature ? [String(text).split(' ')[0]] : String(text).split(' ')
    const expected = `v1,${createHmac('sha256', KEY).update(`${id}.${time}.${body}`).digest('base64')}`
    const isRecent = mistakes.ignoresTime || Math.abs(Date.now() / 1000 - Number(time)) < 300
    if (!mistakes.trustsAnything && (!signatures.includes(expected) || !isRecent)) return reply(401, {})
    const message = JSON.parse(body)
    if (mistakes.isStrict && 'added_later' in message) return reply(400, {})
    const refuses = message.data.metadata.tidegate_check === 'refuse'
    const key = mistakes.paysPerBody ? body : String(id)
    const known = results.get(key)
    arrived.set(key, (arrived.get(key) ?? 0) + 1)
    if (mistakes.refusesOnce && known !== undefined && refuses) return reply(200, pay(false))
    const isPaid = known !== undefined && !mistakes.paysBehindAnswers
    if (!refuses && !isPaid) made.set(key, (made.get(key) ?? 0) + 1)
    if (known !== undefined && !mistakes.paysEveryRequest) return reply(200, { ...known, payments: made.get(key) })
    // Until a concurrent request has arrived, of which some need a connection first.
    for (let tick = 0; mistakes.hasRace && arrived.get(key) === 1 && tick < TICKS_BETWEEN; tick++) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    const answer = pay(refuses)
    results.set(key, answer)
    reply(200, { ...answer, payments: made.get(key) })
  }
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const found = await checkExecutor({ url, secrets: [SECRET], clock: createSystemClock() })
  const broken = found.filter(({ violation }) => violation !== undefined)
  return { names: broken.map(({ name }) => name), losesMoney: broken.some((result) => result.losesMoney === true) }
}

it('check-executor reports no broken rule of a correct endpoint', async () => {
  expect(await brokenBy({})).toEqual({ names: [], losesMoney: false })
})

it.each<[keyof Mistakes, string, boolean]>([
  ['paysEveryRequest', 'repeats', true],
  ['hasRace', 'parallel-repeats', true],
  ['paysBehindAnswers', 'cut-before-answer', true],
  ['trustsAnything', 'wrong-signature', true],
  ['ignoresTime', 'old-timestamp', true],
  ['readsFirstSignature', 'two-signatures', false],
  ['paysPerBody', 'changed-body', true],
  ['refusesOnce', 'refusals', true],
  ['isStrict', 'unknown-members', false],
])('an endpoint that %s breaks %s', async (mistake, rule, losesMoney) => {
  const broken = await brokenBy({ [mistake]: true })
  expect(broken.names).toContain(rule)
  expect(broken.losesMoney).toBe(losesMoney)
})

it('check-executor reports no broken rule of the example', async () => {
  const found = await checkExecutor({ url: exampleUrl, secrets: [SECRET], clock: createSystemClock() })
  expect(found).toEqual(EXECUTOR_RULES.map(([name, rule]) => ({ name, rule })))
})

it('check-executor exits with 1 when a rule is broken, prints JSON, and shows no secret', async () => {
  writeFileSync(join(folder, 'other'), `whsec_${Buffer.alloc(32, 1).toString('base64')}\n`)
  const call = ['check-executor', exampleUrl, '--json', '--secret-file', join(folder, 'other')]
  const { code, stdout, stderr } = await runCommand(call)
  expect(code).toBe(1)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({ ok: false, would_lose_money: false })
  expect(report.checks[0]).toMatchObject({ name: 'settles', ok: false, loses_money: false })
  expect(stderr).toContain('breaks')
  expect(stdout + stderr).not.toContain('whsec_')
})

/** `tidegate check-executor` against a correct payment endpoint, and against endpoints with one defect each. */

import { execSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  type CheckResult,
  checkExecutor,
  EXECUTOR_SCENARIOS,
  type ExecutorSession,
  newSession,
  notKnown,
} from '../../../../src/conformance/judge/executor/executor-checks.ts'
import { type Restart, restartScenario } from '../../../../src/conformance/judge/executor/executor-restart.ts'
import { createPaymentSender } from '../../../../src/conformance/stimulus/payments.ts'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { once } from '../../../support/awaited.ts'
import { type RunningCommand, runCommand, startProgram } from '../../../support/command-line.ts'
import { claimPort } from '../../../support/ports.ts'

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
  /** Verifies the signature with the id in the body, and knows payments by the one in the header. */
  readonly signsBodyId?: true
  readonly readsFirstSignature?: true
  readonly paysPerBody?: true
  readonly refusesOnce?: true
  readonly isStrict?: true
  readonly hasOneReference?: true
  readonly hidesPayments?: true
  /** Keeps its results in memory. */
  readonly forgets?: true
}

const servers: { close(): unknown; closeAllConnections(): void }[] = []
const folder = mkdtempSync(join(tmpdir(), 'tidegate-executor-'))
let example: RunningCommand
let exampleUrl: string
beforeAll(async () => {
  writeFileSync(join(folder, 'secret'), `${SECRET}\n`)
  example = startProgram(process.execPath, [join(import.meta.dirname, '../../../../examples/executor/executor.mjs')], {
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

/** Starts an endpoint, which is restarted by `GET /restart` and ends with `GET /stop`; returns its address. */
async function endpointWith(mistakes: Mistakes): Promise<string> {
  const results = new Map<string, object>()
  const made = new Map<string, number>()
  const arrived = new Map<string, number>()
  let payments = 0
  const pay = (refuses: boolean) =>
    refuses ? { status: 'REFUSED', code: 'closed' } : { status: 'SETTLED', reference: referenceOf(++payments) }
  const referenceOf = (number: number) => (mistakes.hasOneReference ? 'paid' : `payment ${number}`)
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = ''
    for await (const part of request) body += part
    const reply = (status: number, answer: { readonly status?: string; readonly payments?: unknown }) => {
      const { payments: _, ...rest } = answer
      response.writeHead(status).end(JSON.stringify(mistakes.hidesPayments ? rest : answer))
    }
    if (request.method === 'GET') {
      response.end(() => server.closeAllConnections())
      if (request.url === '/stop') server.close()
      if (mistakes.forgets) results.clear()
      return
    }
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': text = '' } = request.headers
    const signatures = mistakes.readsFirstSignature ? [String(text).split(' ')[0]] : String(text).split(' ')
    const signedId = mistakes.signsBodyId ? JSON.parse(body).data.id : id
    const expected = `v1,${createHmac('sha256', KEY).update(`${signedId}.${time}.${body}`).digest('base64')}`
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
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const sessionAt = (url: string) => newSession(createPaymentSender(url, [SECRET], createSystemClock()))

/** The names of the rules that an endpoint breaks, whether money would be lost, and what is not known. */
async function brokenBy(mistakes: Mistakes) {
  const session = sessionAt(await endpointWith(mistakes))
  const found = await checkExecutor(session)
  return { ...verdictOn(found), unknown: notKnown(session, found) }
}

function verdictOn(found: readonly CheckResult[]) {
  const broken = found.filter(({ violation }) => violation !== undefined)
  return { names: broken.map(({ name }) => name), losesMoney: broken.some((result) => result.losesMoney === true) }
}

it('check-executor reports no broken rule of a correct endpoint', async () => {
  expect(await brokenBy({})).toEqual({ names: [], losesMoney: false, unknown: [] })
})

it('check-executor does not know the payments of an endpoint that answers every payment with one reference', async () => {
  const { names, losesMoney, unknown } = await brokenBy({ hasOneReference: true })
  expect(names).toEqual(['distinct-deliveries', 'own-references'])
  expect(losesMoney).toBe(false)
  expect(unknown).toEqual(['which payments were made, and how often: several were answered with one reference'])
})

it('check-executor does not know of repeated payments when an endpoint hides their number', async () => {
  const { names, unknown } = await brokenBy({ hidesPayments: true, paysBehindAnswers: true })
  expect(names).toEqual([])
  expect(unknown).toEqual([
    'whether a repeat paid again with the first reference: the answers have no member `payments`',
  ])
})

it.each<[keyof Mistakes, string, boolean]>([
  ['paysEveryRequest', 'repeats', true],
  ['hasRace', 'parallel-repeats', true],
  ['paysBehindAnswers', 'cut-before-answer', true],
  ['trustsAnything', 'wrong-signature', true],
  ['ignoresTime', 'old-timestamp', true],
  ['signsBodyId', 'altered-id', true],
  ['readsFirstSignature', 'two-signatures', false],
  ['paysPerBody', 'changed-body', true],
  ['refusesOnce', 'refusals', true],
  ['isStrict', 'unknown-members', false],
])('an endpoint that %s breaks %s', async (mistake, rule, losesMoney) => {
  const broken = await brokenBy({ [mistake]: true })
  expect(broken.names).toContain(rule)
  expect(broken.losesMoney).toBe(losesMoney)
})

describe('a restart', () => {
  async function restarted(session: ExecutorSession, restart: Restart): Promise<CheckResult> {
    const [result] = await checkExecutor(session, [restartScenario(restart, () => undefined)])
    return result as CheckResult
  }

  /** Asks the endpoint for its results, restarts it with this command, and asks again. */
  async function restartedBy(mistakes: Mistakes, command: string, changes: Partial<Restart> = {}) {
    const url = await endpointWith(mistakes)
    const session = sessionAt(url)
    if (changes.secondsMax === undefined) await checkExecutor(session)
    else
      session.results.set('asked', { delivery: { id: 'asked', body: '{}' }, outcome: { kind: 'refused', detail: '' } })
    const ask = (path: string) => `${process.execPath} -e "fetch('${url}${path}')"`
    const watcher = watch(folder, () => void fetch(`${url}stop`).catch(() => undefined))
    onTestFinished(() => watcher.close())
    const asked = command.replace(/^GET (.*)/, (_, path) => ask(path))
    const written = asked.replace(/^WRITE (.*)/, (_, name) => `: > ${join(folder, name)}`)
    const restart = { command: written, memorySeconds: 0, ...changes }
    return await restarted(session, restart)
  }

  it('a restart changes no result of an endpoint that keeps its results', async () => {
    expect(await restartedBy({}, 'GET restart')).not.toHaveProperty('violation')
  })

  it('a restart makes an endpoint that keeps its results in memory pay every delivery again', async () => {
    const { violation, losesMoney } = await restartedBy({ forgets: true, hidesPayments: true }, 'GET restart')
    expect(violation).toMatch(/^\d+ of \d+ results changed: SETTLED became SETTLED with another reference$/)
    expect(losesMoney).toBe(true)
  })

  it.each([
    ['fails', 'exit 3', 'the restart command ended with exit code 3'],
    ['is killed', 'kill -9 $$', 'the restart command ended with SIGKILL'],
    ['does not end', 'sleep 60', 'the restart command did not end within 1 seconds'],
    ['restarts nothing', 'true', 'the endpoint kept a connection from before the restart command'],
    // By the shell itself: another program may take a second to start.
    ['only stops the endpoint', 'WRITE stop', 'the endpoint did not answer within 1 seconds after the restart command'],
  ])('a restart is not checked when its command %s', async (_, command, reason) => {
    const { notChecked, violation } = await restartedBy({}, command, { secondsMax: 1 })
    expect(notChecked).toContain(reason)
    expect(violation).toBeUndefined()
  })

  it('a restart is not checked when nothing was paid before it', async () => {
    const session = sessionAt('http://127.0.0.1:9/')
    const { notChecked } = await restarted(session, { command: 'true', memorySeconds: 0 })
    expect(notChecked).toBe('there is no result to repeat')
  })
})

it('check-executor reports no broken rule of the example', async () => {
  const session = sessionAt(exampleUrl)
  const found = await checkExecutor(session)
  expect(found).toEqual(EXECUTOR_SCENARIOS.map(({ name, rule }) => ({ name, rule })))
  expect(notKnown(session, found)).toEqual([])
})

it('check-executor without a restart does not report that nothing was paid twice', async () => {
  const call = ['check-executor', exampleUrl, '--secret-file', join(folder, 'secret')]
  const { code, stdout } = await runCommand(call)
  expect(code).toBe(0)
  expect(stdout).not.toContain('Nothing was paid twice')
  expect(stdout).toContain('restart: whether it still knows its results after a restart was not tested')
  const early = await runCommand([...call, '--memory-seconds', '5'])
  expect(early).toMatchObject({ code: 1, stdout: '' })
  expect(early.stderr).toContain('--memory-seconds needs --restart')
})

it('check-executor reports that nothing was paid twice when the example was restarted', async () => {
  const pid = join(folder, 'pid')
  const program = join(import.meta.dirname, '../../../../examples/executor/executor.mjs')
  const begin = `"${process.execPath}" "${program}" >/dev/null 2>&1 & echo $! >"${pid}"`
  const port = await claimPort()
  writeFileSync(
    join(folder, 'restart'),
    `
      export PORT=${port} TIDEGATE_WEBHOOK_SECRET=${SECRET} EXECUTOR_FILE="${join(folder, 'restarted.jsonl')}"
      if [ -f "${pid}" ]; then kill $(cat "${pid}"); while kill -0 $(cat "${pid}"); do sleep 0.1; done; fi
      ${begin}
    `,
  )
  const restart = `sh "${join(folder, 'restart')}" 2>/dev/null`
  // As a crash in the middle of a line leaves it.
  writeFileSync(join(folder, 'restarted.jsonl'), '{"id":"cut","body":"{')
  execSync(restart)
  try {
    const url = `http://127.0.0.1:${port}/`
    await expect.poll(() => fetch(url).then(({ status }) => status, String)).toBe(400)
    const call = ['check-executor', url, '--secret-file', join(folder, 'secret'), '--restart', restart]
    const { code, stdout } = await runCommand([...call, '--memory-seconds', '1'])
    expect(stdout).toContain('Nothing was paid twice.')
    expect(code).toBe(0)
  } finally {
    process.kill(Number(readFileSync(pid, 'utf8')))
  }
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

/** `tidegate check-screening` against the example hooks, and against hooks with one defect each. */
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { checkScreening, SCREENING_SCENARIOS } from '../../../../src/conformance/judge/screening/screening-checks.ts'
import { createQuestionSender } from '../../../../src/conformance/stimulus/questions.ts'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { once } from '../../../support/awaited.ts'
import { runCommand, startProgram } from '../../../support/command-line.ts'
import { pythonWith } from '../../../support/python.ts'

const KEY = Buffer.alloc(32, 9)
const SECRET = `whsec_${KEY.toString('base64')}`
const EXAMPLES = join(import.meta.dirname, '../../../../examples/screening')
const PYTHON = pythonWith('http.server')

/** The defects of a hook. */
interface Mistakes {
  readonly trustsAnything?: true
  readonly ignoresTime?: true
  readonly readsFirstSignature?: true
  /** Decides again for every request, and otherwise the second time. */
  readonly forgets?: true
  /** Keys its decisions by the movement's id, and answers with the first question's id. */
  readonly keysByMovement?: true
  /** Decides by the id alone. */
  readonly ignoresBody?: true
  /** Decides otherwise when the movement was asked about before. */
  readonly isInconsistent?: true
  readonly isStrict?: true
  readonly allowsAll?: true
  readonly answersNoId?: true
}

const folder = mkdtempSync(join(tmpdir(), 'tidegate-screening-'))
const servers: { close(): unknown; closeAllConnections(): void }[] = []
beforeAll(() => writeFileSync(join(folder, 'secret'), `${SECRET}\n`))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function hookWith(mistakes: Mistakes): Promise<string> {
  const known = new Map<string, { readonly body: string; readonly answer: object }>()
  const movements = new Set<string>()
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
    const { movement, tidegate_check } = message.data
    const key = mistakes.keysByMovement ? movement.id : String(id)
    const first = known.get(key)
    if (first !== undefined && !mistakes.forgets) {
      return first.body === body || mistakes.ignoresBody || mistakes.keysByMovement
        ? reply(200, first.answer)
        : reply(409, {})
    }
    const isOther = (mistakes.forgets && first !== undefined) || (mistakes.isInconsistent && movements.has(movement.id))
    movements.add(movement.id)
    const wanted = tidegate_check.toUpperCase()
    const decision = mistakes.allowsAll ? 'ALLOW' : isOther ? (wanted === 'REJECT' ? 'HOLD' : 'REJECT') : wanted
    const answer = { ...(mistakes.answersNoId ? {} : { id }), decision }
    known.set(key, { body, answer })
    reply(200, answer)
  }
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function broken(mistakes: Mistakes): Promise<readonly string[]> {
  const results = await checkScreening(createQuestionSender(await hookWith(mistakes), [SECRET], createSystemClock()))
  expect(results).toHaveLength(SCREENING_SCENARIOS.length)
  return results.flatMap(({ name, violation }) => (violation === undefined ? [] : [name]))
}

describe('a screening hook', () => {
  it('a correct screening hook breaks no rule', async () => {
    expect(await broken({})).toEqual([])
  })

  it.each<readonly [string, Mistakes, readonly string[]]>([
    [
      'trusts any request',
      { trustsAnything: true },
      ['wrong-signature', 'no-signature', 'altered-body', 'old-timestamp'],
    ],
    ['ignores the time', { ignoresTime: true }, ['old-timestamp']],
    ['reads only the first signature', { readsFirstSignature: true }, ['two-signatures']],
    [
      'answers for the id of an earlier question',
      { keysByMovement: true },
      ['equal-questions', 'changed-movement', 'changed-body'],
    ],
    ['decides by the id alone', { ignoresBody: true }, ['changed-body']],
    ['decides otherwise the second time', { isInconsistent: true }, ['equal-questions', 'changed-movement']],
    ['refuses unknown members', { isStrict: true }, ['unknown-members']],
  ])('a screening hook that %s breaks the rules by name', async (_, mistakes, names) => {
    expect(await broken(mistakes)).toEqual(names)
  })

  it('a screening hook that allows everything, forgets or answers without an id is found out', async () => {
    expect(await broken({ allowsAll: true })).toContain('decides')
    expect(await broken({ forgets: true })).toEqual(expect.arrayContaining(['repeats', 'parallel-repeats']))
    expect(await broken({ answersNoId: true })).toContain('decides')
  })

  it('a slow screening hook is named with the time that it took', async () => {
    let milliseconds = 0
    const clock = { ...createSystemClock(), monotonicMilliseconds: () => (milliseconds += 4_000) }
    const sender = { ...createQuestionSender(await hookWith({}), [SECRET], createSystemClock()), clock }
    const results = await checkScreening(sender)
    expect(results.at(-1)).toMatchObject({ name: 'in-time', violation: expect.stringMatching(/^the slowest took \d+/) })
  })
})

describe('the example hooks', () => {
  it.skipIf(PYTHON === undefined).each([
    ['Node', process.execPath, 'hook.mjs'],
    ['Python', PYTHON as string, 'hook.py'],
  ])('the example in %s passes check-screening', async (_, file, example) => {
    const program = startProgram(file, [join(EXAMPLES, example)], {
      cwd: folder,
      env: { ...process.env, PORT: '0', TIDEGATE_WEBHOOK_SECRET: SECRET },
    })
    try {
      const url = (await program.line((line) => line.startsWith('listening on '))).slice('listening on '.length)
      const run = await runCommand(['check-screening', url, '--secret-file', join(folder, 'secret'), '--json'])
      const report = JSON.parse(run.stdout)
      expect(report.checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
      expect({ code: run.code, ok: report.ok }).toEqual({ code: 0, ok: true })
    } finally {
      program.child.kill()
      await program.result
    }
  })

  it('check-screening exits with 1 and names each broken rule', async () => {
    const url = await hookWith({ ignoresTime: true })
    const { code, stdout, stderr } = await runCommand(['check-screening', url, '--secret-file', join(folder, 'secret')])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^BROKEN +old-timestamp/m)
    expect(stderr).toBe('tidegate: the hook breaks 1 of 14 rules\n')
  })
})

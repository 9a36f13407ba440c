/** `tidegate torture` against correct clients, and against one client for each wrong reaction. */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { WRONG_REACTIONS, type WrongReactionName } from '../../src/conformance/stimulus/torture/reactions.ts'
import { SCENARIOS } from '../../src/conformance/stimulus/torture/scenarios.ts'
import { temporaryFolder } from '../support/running-service.ts'
import { type Misbehaviour, TortureClient } from '../support/torture-client.ts'
import { clockOfSpeed, runTorture, type TortureRun } from '../support/torture-run.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = temporaryFolder()
const clients: TortureClient[] = []

afterAll(() => {
  for (const client of clients) client.end()
  folder.remove()
})

/** Starts a client whenever the run asks for one, as a person would. */
async function serveClients(run: TortureRun, misbehaviour?: Misbehaviour, silenceMilliseconds?: number): Promise<void> {
  let isOver = false
  void run.ended.then(() => {
    isOver = true
    run.stderr.write('')
  })
  const asked = () => run.stderr.text.split('waiting for the client').length - 1
  for (let count = 1; ; count++) {
    await run.stderr.until('a question', () => isOver || asked() >= count)
    if (isOver) return
    const client = new TortureClient(run.credentialsPath, misbehaviour, silenceMilliseconds)
    clients.push(client)
    void client.run()
  }
}

it('torture reports nothing for a client that reacts as documented', async () => {
  const run = runTorture(folder.path, ['--pace', '100'], clockOfSpeed(4))
  void serveClients(run)
  const { exitCode, error, results } = await run.ended
  const skipped = results.filter(({ outcome }) => outcome === 'skipped').map(({ name }) => name)
  expect({ exitCode, error, wrong: results.filter(({ outcome }) => outcome === 'wrong'), skipped }).toEqual({
    exitCode: 0,
    error: '',
    wrong: [],
    skipped: ['silence'],
  })
  expect(results.map(({ name }) => name)).toEqual(SCENARIOS.map(({ name }) => name))
})

it('torture reports nothing for a client that closes a silent connection', async () => {
  const run = runTorture(folder.path, ['--only', 'silence'], clockOfSpeed(5))
  void serveClients(run, undefined, 500)
  expect(await run.ended).toMatchObject({ exitCode: 0, results: [{ name: 'silence', outcome: 'right' }] })
})

type WrongRow = [reaction: WrongReactionName, scenario: string, misbehaviour: Misbehaviour | undefined, speed: number]
/**
 * Speed of the clock. 20 for reactions that never come, 1 for those that end the wait, less than 1 for immediate
 * reactions, so that they are seen as immediate on a slow machine.
 */
const WRONG: readonly WrongRow[] = [
  ['did-not-come-back', 'close-1012', 'stays away', 20],
  ['came-back', 'close-4003', 'comes back always', 1],
  ['came-back', 'token-401', 'comes back always', 1],
  ['reconnect-loop', 'close-repeatedly', 'never waits', 0.01],
  ['retry-after-ignored', 'handshake-503', 'never waits', 0.1],
  ['old-token', 'close-4001', 'keeps its token', 1],
  ['old-token', 'handshake-401', 'keeps a refused token', 1],
  ['subscriptions-missing', 'connection-lost', 'subscribes less', 20],
  ['closed-by-client', 'market-withdrawn', 'closes an empty book', 1],
  ['subscribed-again', 'market-withdrawn', 'subscribes an empty book again', 1],
  ['not-subscribed-again', 'market-changed', 'ignores notices', 20],
  ['subscribed-in-a-loop', 'market-removed', 'never gives a market up', 1],
  ['silence-not-noticed', 'silence', undefined, 20],
  ['wrong-cursor', 'resume-cursor', 'keeps its first cursor', 1],
]

describe('torture reports', () => {
  it.concurrent.each(WRONG)('torture reports %s in %s', async (reaction, scenario, misbehaviour, speed) => {
    // A silence is only played at pace 1.
    const pace = scenario === 'silence' ? '1' : '3'
    const run = runTorture(folder.path, ['--only', scenario, '--pace', pace], clockOfSpeed(speed))
    void serveClients(run, misbehaviour)
    const { exitCode, error, results } = await run.ended
    expect({ exitCode, error, results }).toMatchObject({
      exitCode: 1,
      error: '',
      results: [{ name: scenario, outcome: 'wrong', reaction, rule: WRONG_REACTIONS[reaction] }],
    })
  })

  it.concurrent('torture reports program-ended, with the last lines of the program', async () => {
    const program = [process.execPath, join(ROOT, 'test/support/torture-program.mjs')]
    const run = runTorture(folder.path, ['--only', 'close-1001', '--', ...program])
    const { exitCode, results } = await run.ended
    expect({ exitCode, results }).toMatchObject({
      exitCode: 1,
      results: [
        {
          outcome: 'wrong',
          reaction: 'program-ended',
          detail: 'in this scenario: it ended with exit code 3: ended by 1001',
        },
      ],
    })
  })

  it('torture reports every wrong reaction in the cases above', () => {
    const provoked = new Set<string>(['program-ended', ...WRONG.map(([reaction]) => reaction)])
    expect(Object.keys(WRONG_REACTIONS).filter((name) => !provoked.has(name))).toEqual([])
  })
})

describe('torture reports the error of a program that ended', () => {
  const stack = '    at main (file:///client.mjs:3:7)\\n'
  it.each([
    [
      'with a stack after it',
      `Error: no such market\\n${stack}${stack}\\nNode.js v20.20.2\\n`,
      'Error: no such market',
    ],
    [
      'with a code and a cause',
      `TypeError [ERR_URL]: bad\\n${stack.trimEnd()} {\\n  code: 1\\n}\\n`,
      'TypeError [ERR_URL]: bad',
    ],
    ['with a stack before it', `Traceback:\\n  File "client.py"\\nValueError: bad\\n`, 'ValueError: bad'],
    ['of Go', `panic: bad\\n\\ngoroutine 1 [running]:\\nmain.main()\\n\\t/client.go:5\\n`, 'panic: bad'],
    ['in a line of its own', 'connecting\\ncannot connect\\n', 'cannot connect'],
  ])('torture reports the error of an ended program: %s', async (_, stderr, line) => {
    const program = [process.execPath, '-e', `process.stderr.write('${stderr}'); process.exitCode = 3`]
    const { error } = await runTorture(folder.path, ['--only', 'close-1001', '--', ...program]).ended
    expect(error).toBe(`there is no client to test: it ended with exit code 3: ${line}`)
  })
})

it('torture reports that no client connected, and that it was interrupted', async () => {
  const run = runTorture(folder.path, ['--only', 'close-1001', '--', process.execPath, '-e', 'console.error("no")'])
  const missing = 'there is no client to test: it ended with exit code 0: no'
  expect(await run.ended).toEqual({ exitCode: 1, error: missing, results: [] })
  const waiting = runTorture(folder.path, ['--only', 'close-1001'])
  await waiting.stderr.until('a question', () => waiting.stderr.text.includes('waiting for the client'))
  waiting.interrupt()
  expect(await waiting.ended).toMatchObject({ exitCode: 1, error: 'interrupted' })
})

it('torture writes credentials that only their owner can read, and replaces no others', async () => {
  const path = join(folder.path, 'real.json')
  const run = runTorture(folder.path, ['--only', 'close-1001'])
  await run.stderr.until('a question', () => run.stderr.text.includes('waiting for the client'))
  expect(statSync(run.credentialsPath).mode & 0o777).toBe(0o600)
  const { client_secret } = JSON.parse(readFileSync(run.credentialsPath, 'utf8')) as { client_secret: string }
  expect(run.stdout.text + run.stderr.text).not.toContain(client_secret)
  run.interrupt()
  await run.ended
  writeFileSync(path, '{"client_id":"somebody"}')
  const refused = await runTorture(folder.path, ['--credentials', path]).ended
  expect(refused).toMatchObject({ exitCode: 1, error: expect.stringContaining('contains other credentials') })
  expect(readFileSync(path, 'utf8')).toBe('{"client_id":"somebody"}')
  rmSync(path)
})

it('torture rejects the name of an unknown scenario', async () => {
  const { exitCode, error } = await runTorture(folder.path, ['--only', 'close-9999']).ended
  expect(exitCode).toBe(1)
  expect(error).toContain('It must be a scenario’s name')
})

it('docs/how-to/test-your-client.md lists every scenario and every wrong reaction', () => {
  const page = readFileSync(join(ROOT, 'docs/how-to/test-your-client.md'), 'utf8')
  const scenarios = SCENARIOS.map(
    ({ name, plays, expects, waitSeconds }) => `| \`${name}\` | ${plays} | ${expects} | ${waitSeconds} |`,
  )
  const reactions = Object.entries(WRONG_REACTIONS).map(([name, rule]) => `| \`${name}\` | ${rule} |`)
  expect([...scenarios, ...reactions].filter((row) => !page.includes(`${row}\n`))).toEqual([])
})

/** The service while its log is not read: it answers, counts the dropped lines, and ends on request. */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants, openSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { FAST_STORE_STARTS } from '../support/command-line.ts'
import { canMakeFifo, makeFifo } from '../support/fifo.ts'
import { ensureBuilt, OperatorApi, temporaryFolder } from '../support/running-service.ts'

/** Their log lines are several times what a pipe and the buffer hold. */
const REQUESTS = 8_000
/** A client may send 100 requests ahead of their answers. */
const AT_ONCE = 50

const root = join(import.meta.dirname, '../..')
const folder = temporaryFolder()
const children: ChildProcess[] = []

beforeAll(ensureBuilt)
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => folder.remove())

/** @param stderr of the process: a descriptor, or `pipe` for a socket that this process does not read */
async function startService(name: string, stderr: number | 'pipe') {
  const data = join(folder.path, name)
  const flags = ['--http.port', '0', '--operator.port', '0', '--data_dir', data, '--log.level', 'debug']
  const child = spawn(process.execPath, [...FAST_STORE_STARTS, join(root, 'dist/main.js'), 'demo', ...flags], {
    cwd: folder.path,
    stdio: ['ignore', 'pipe', stderr],
  })
  children.push(child)
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const lines = createInterface({ input: child.stdout as Readable })
  const ready = await new Promise<{ http: string; operator: string }>((resolve, reject) => {
    lines.on('line', (line) => line.startsWith('{') && resolve(JSON.parse(line)))
    void ended.then((code) => reject(new Error(`ended with ${code}`)))
  })
  return { child, ended, http: ready.http, operator: new OperatorApi(ready.operator, data) }
}

/** Sends many pipelined requests over one connection; resolves to the number answered with `status`. */
async function countAnswers(url: string, path: string, status: number, requests: number): Promise<number> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  const request = `GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`
  let answers = 0
  let rest = ''
  const send = () => socket.write(request.repeat(AT_ONCE))
  send()
  for await (const chunk of socket) {
    const parts = (rest + chunk).split(`HTTP/1.1 ${status} `)
    rest = (parts.at(-1) as string).slice(-20)
    const before = answers
    answers += parts.length - 1
    if (answers >= requests) break
    if (Math.floor(answers / AT_ONCE) > Math.floor(before / AT_ONCE)) send()
  }
  return answers
}

async function expectToServe(name: string, stderr: number | 'pipe'): Promise<void> {
  const { child, ended, http, operator } = await startService(name, stderr)
  // The log of refusals is limited; that of answered probes at level debug is not, and fills the pipe.
  expect(await countAnswers(http, '/v2/identity/accounts', 401, 500)).toBe(500)
  expect(await countAnswers(operator.url, '/livez', 200, REQUESTS)).toBe(REQUESTS)
  expect(await operator.metric('tidegate_log_lines_dropped_total')).toBeGreaterThan(0)
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
}

it('a log socket that is not read delays neither responses nor the shutdown', () => expectToServe('socket', 'pipe'))

it.skipIf(!canMakeFifo)(
  'a log pipe that is not read (made with mkfifo) delays neither responses nor the shutdown',
  async () => {
    const path = join(folder.path, 'stderr')
    makeFifo(path)
    openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    await expectToServe('pipe', openSync(path, 'w'))
  },
)

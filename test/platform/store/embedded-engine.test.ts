/**
 * How long statements of the embedded store may take: while a service starts, afterwards, and while the process itself was
 * suspended. The test simulates the store's thread, and advances the clock.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLog, type Log } from '../../../src/platform/base/log.ts'
import { StoreTooSlow, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { openEmbedded } from '../../../src/platform/store/embedded.ts'
import { EmbeddedEngine } from '../../../src/platform/store/embedded-engine.ts'
import type { WorkerMessage } from '../../../src/platform/store/embedded-worker.ts'
import { patiently, sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

/** What the store was sent and has not answered, and whether its thread opens the folder. */
/** The bytes that the disk has left. */
const disk = vi.hoisted(() => ({ bytes: 1e9 }))

vi.mock('node:fs/promises', async (load) => ({
  ...(await load<object>()),
  statfs: async () => ({ bavail: disk.bytes, bsize: 1 }),
}))

const thread = vi.hoisted(() => ({
  requests: [] as { text: string; answer: (failure?: Failure) => void }[],
  opens: true,
  terminated: 0,
}))

vi.mock('node:worker_threads', async () => {
  const { EventEmitter } = await import('node:events')
  class Thread extends EventEmitter {
    constructor() {
      super()
      if (thread.opens) setImmediate(() => this.emit('message', { type: 'ready' }))
    }
    postMessage(message: WorkerMessage): void {
      if (message === null) setImmediate(() => this.emit('exit', 0))
      else {
        const texts = message.statements.map(({ text }) => text)
        thread.requests.push({
          text: texts.join('; '),
          answer: (failure?: Failure) => this.emit('message', resultOf(failure ? [] : texts, failure)),
        })
      }
    }
    async terminate(): Promise<number> {
      thread.terminated++
      return 0
    }
  }
  const resultOf = (texts: readonly string[], failure?: Failure) => ({
    type: 'result',
    outcomes: texts.map((text) => ({ command: text.split(' ')[0]?.toUpperCase(), rows: [] })),
    ...(failure === undefined ? {} : { failure }),
    newLogSegments: 0,
  })
  return { Worker: Thread }
})

interface Failure {
  readonly message: string
  readonly sqlState: string
}

const folder = mkdtempSync(join(tmpdir(), 'tidegate-patience-'))
writeFileSync(join(folder, 'PG_VERSION'), '18')
afterAll(() => rmSync(folder, { recursive: true }))

/** Longer than any request may take, shorter than the start may. */
const SECONDS = 500

let clock: NodeClock
beforeEach(() => {
  clock = new NodeClock()
  Object.assign(thread, { requests: [], opens: true, terminated: 0 })
})

const open = (signal?: AbortSignal, log: Log = createLog('silent')) => openEmbedded({ folder, log, clock, signal })

/** Lets the promises settle; real I/O has none in these tests. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** The next request; its text must begin like this. It is answered after `seconds`. */
async function answerAfter(seconds: number, text: string): Promise<void> {
  await settle()
  const request = thread.requests.shift()
  expect(request?.text).toMatch(new RegExp(`^${text}`, 'i'))
  for (let second = 0; second < seconds; second++) clock.advance(1_000)
  await settle()
  request?.answer()
  await settle()
}

it('each statement of a start may take minutes, also in a transaction', async () => {
  const db = await open()
  const work = patiently(() => db.transaction((transaction) => sql`select 1`.execute(transaction)))
  await answerAfter(SECONDS, 'begin')
  await answerAfter(SECONDS, 'select 1')
  await answerAfter(SECONDS, 'commit')
  await work
  const read = patiently(() => sql`select 2`.execute(db.tables()))
  await answerAfter(SECONDS, 'select 2')
  await read
  expect(db.available).toBe(true)
})

it('the flush of a commit may take as long as the statements of its transaction', async () => {
  const db = await open()
  const insert = (table: string) =>
    patiently(() => db.transaction((transaction) => sql`insert into ${sql.id(table)}`.execute(transaction)))
  const both = Promise.all([insert('a'), insert('b')])
  for (const text of ['begin', 'insert', 'commit', 'begin', 'insert', 'commit']) await answerAfter(0, text)
  await answerAfter(SECONDS, 'select pg_logical_emit_message')
  await both
  expect(db.available).toBe(true)
})

it('a statement after the start still ends the thread after two seconds, and the loss is logged as an error', async () => {
  const { log, lines } = captureLog()
  const db = await open(undefined, log)
  let late: Promise<unknown> | undefined
  await patiently(async () => {
    // A timer that the start leaves behind is not part of it.
    setTimeout(() => {
      late = sql`select 1`.execute(db.tables()).catch((error: unknown) => error)
    }, 5)
  })
  await vi.waitFor(() => expect(thread.requests).toHaveLength(1))
  clock.advance(2_001)
  expect(await late).toBeInstanceOf(StoreTooSlow)
  const losses = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'store lost')
  await vi.waitFor(() => {
    clock.advance(1)
    expect(losses()).toMatchObject([{ level: 50 }])
  })
  await db.close()
})

it('a start that is aborted while the folder opens ends the thread before it rejects', async () => {
  thread.opens = false
  const abort = new AbortController()
  const opening = open(abort.signal).catch((error: unknown) => error)
  await settle()
  const reason = new Error('a signal')
  abort.abort(reason)
  expect(await opening).toBe(reason)
  expect(thread.terminated).toBe(1)
})

describe('a full disk', () => {
  it('a full disk that has space again has its store back within five seconds, however long it was full', async () => {
    const db = await open()
    const failed = sql`insert into a`.execute(db.tables()).catch((error: unknown) => error)
    await settle()
    disk.bytes = 0
    thread.requests.shift()?.answer({ message: 'could not extend file: No space left on device', sqlState: '53100' })
    expect(await failed).toBeInstanceOf(StoreUnavailable)
    const advance = async (milliseconds: number) => {
      for (let passed = 0; passed < milliseconds; passed += 100) {
        clock.advance(100)
        await settle()
      }
    }
    // Some attempts at a longest pause of 5 s, as it was, lie just before this.
    await advance(57_000)
    expect(db.problem).toContain('bytes left')
    disk.bytes = 1e9
    await advance(2_100)
    await vi.waitFor(() => expect(db.available).toBe(true), { timeout: 30_000 })
    await db.close()
  })
})

describe('a statement that is not answered within its limit', () => {
  const LIMIT_MILLISECONDS = 2_000

  async function started() {
    const listener = {
      onNotification: () => undefined,
      onLost: () => undefined,
      onRestart: () => undefined,
      channels: () => [],
    }
    const engine = new EmbeddedEngine({ folder, log: createLog('silent'), clock, listener })
    await engine.start()
    const life = engine.life!
    const request = { statements: [{ text: 'select', parameters: [] }], isFlushDeferred: false }
    const answer = engine.run(life, request, LIMIT_MILLISECONDS)
    return { engine, life, answer }
  }

  it('a statement that is not answered within its limit ends the thread', async () => {
    const { engine, answer } = await started()
    clock.advance(LIMIT_MILLISECONDS)
    expect((await answer).failure).toBeInstanceOf(StoreUnavailable)
    expect(engine.life).toBeUndefined()
  })

  it('a late response to a statement is accepted when it arrived while the process was suspended', async () => {
    const { engine, life, answer } = await started()
    // After a suspension, timers fire before messages are delivered.
    clock.advance(LIMIT_MILLISECONDS)
    thread.requests[0]?.answer()
    expect(await answer).toEqual({ outcomes: [{ command: 'SELECT', rows: [] }] })
    await settle()
    expect(engine.life).toBe(life)
  })
})

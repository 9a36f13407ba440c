/** The statement timeout while the process itself was suspended, tested with a thread that the test simulates. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it, vi } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { StoreUnavailable } from '../../src/store/db.ts'
import { EmbeddedEngine } from '../../src/store/embedded-engine.ts'
import { NodeClock } from '../support/virtual-clock.ts'

vi.mock('node:worker_threads', async () => {
  const { EventEmitter } = await import('node:events')
  class Thread extends EventEmitter {
    readonly postMessage = () => undefined
    readonly terminate = () => Promise.resolve(0)
    constructor() {
      super()
      setImmediate(() => this.emit('message', { type: 'ready' }))
    }
  }
  return { Worker: Thread }
})

/** A folder that looks like an existing store. */
const folder = mkdtempSync(join(tmpdir(), 'tidegate-engine-'))
writeFileSync(join(folder, 'PG_VERSION'), '18')
afterAll(() => rmSync(folder, { recursive: true }))

const LIMIT_MILLISECONDS = 2_000
const STATEMENT = { text: 'select', parameters: [], isFlushDeferred: false }
const RESULT = { type: 'result', command: 'SELECT', rows: [], newLogSegments: 0 }

async function started() {
  const clock = new NodeClock()
  const listener = {
    onNotification: () => undefined,
    onLost: () => undefined,
    onRestart: () => undefined,
    channels: () => [],
  }
  const engine = new EmbeddedEngine({ folder, log: createLog('silent'), clock, listener })
  await engine.start()
  const life = engine.life!
  const answer = engine.run(life, STATEMENT, LIMIT_MILLISECONDS).catch((error: unknown) => error)
  return { clock, engine, life, answer }
}

it('an answer that arrived while the process was suspended is accepted, although its time is over', async () => {
  const { clock, engine, life, answer } = await started()
  // After a suspension, timers fire before messages are delivered.
  clock.advance(LIMIT_MILLISECONDS)
  life.emit('message', RESULT)
  expect(await answer).toEqual(RESULT)
  await new Promise((resolve) => setImmediate(resolve))
  expect(engine.life).toBe(life)
})

it('a thread that has not answered by then is considered lost', async () => {
  const { clock, engine, answer } = await started()
  clock.advance(LIMIT_MILLISECONDS)
  expect(await answer).toBeInstanceOf(StoreUnavailable)
  expect(engine.life).toBeUndefined()
})

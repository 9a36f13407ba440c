/** What a start does while the store is unavailable, misses migrations, or is incompatible with this version. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { Log } from '../../../src/platform/base/log.ts'
import { StoreUnavailable } from '../../../src/platform/store/db.ts'
import { readFromStore, type SchemaState, waitFor, waitForSchema } from '../../../src/service/process/store-wait.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

let clock: VirtualClock
let giveUp: AbortController
let lines: string[]

beforeEach(() => {
  clock = new VirtualClock()
  giveUp = new AbortController()
  lines = []
})

function waiting() {
  const write = (fields: { what: string; reason?: string; seconds?: number }, event: string) =>
    lines.push([event, fields.what, fields.reason, fields.seconds].filter((part) => part !== undefined).join(': '))
  return { clock, signal: giveUp.signal, log: { info: write, warn: write } as unknown as Log }
}

/** Lets pending promises settle; no timer runs. */
async function settle(): Promise<void> {
  for (let round = 0; round < 20; round++) await Promise.resolve()
}

/** A store that gives these answers one after the other, and then repeats the last. */
function answers<Value>(...list: (Value | Error)[]) {
  const times: number[] = []
  const read = async (): Promise<Value> => {
    times.push(clock.monotonicMilliseconds())
    const answer = (list.length > 1 ? list.shift() : list[0]) as Value | Error
    if (answer instanceof Error) throw answer
    return answer
  }
  return { read, times }
}

const AWAY = new StoreUnavailable('connection refused')

describe('waiting for the schema', () => {
  it('waiting for the schema ends at once, without a log line, when the schema is current', async () => {
    const noted: SchemaState[] = []
    await waitForSchema(waiting(), answers<SchemaState>('current').read, (state) => noted.push(state))
    expect(noted).toEqual(['current'])
    expect(lines).toEqual([])
  })

  it('waiting for the schema logs each obstacle once, and continues when the last is gone', async () => {
    const noted: SchemaState[] = []
    const missing = { missing: ['1-first', '2-second'] }
    const { read } = answers<SchemaState>(AWAY, AWAY, missing, missing, 'current')
    let done = false
    void waitForSchema(waiting(), read, (state) => noted.push(state)).then(() => {
      done = true
    })
    for (let round = 0; round < 4; round++) {
      await settle()
      expect(done).toBe(false)
      clock.advance(5_000)
    }
    await settle()
    expect(done).toBe(true)
    expect(noted).toEqual([missing, missing, 'current'])
    expect(lines).toEqual([
      'the start waits for the store: migrations: connection refused',
      'the start is waiting: migrations: 10',
      'the start waits for the store: migrations: migrations are missing: 1-first, 2-second. Run tidegate migrate',
      'the start is waiting: migrations: 20',
      'the start continues: migrations',
    ])
  })

  it('waiting for the schema retries with growing delays, up to five seconds', async () => {
    const { read, times } = answers<SchemaState>(AWAY)
    void waitForSchema(waiting(), read, () => undefined).catch(() => undefined)
    for (let round = 0; round < 300; round++) {
      await settle()
      clock.advance(100)
    }
    const gaps = times.slice(1).map((time, index) => time - (times[index] as number))
    expect(gaps.slice(0, 8)).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
    giveUp.abort()
  })

  it('waiting for the schema fails when the store is incompatible with this version', async () => {
    const { read, times } = answers<SchemaState>(new Error('the store is newer'))
    await expect(waitForSchema(waiting(), read, () => undefined)).rejects.toThrow('the store is newer')
    expect(times).toHaveLength(1)
  })

  it.each(['between two attempts', 'during an attempt'])(
    'waiting for the schema ends with the reason when the start is cancelled %s',
    async (when) => {
      const read =
        when === 'during an attempt' ? () => new Promise<SchemaState>(() => undefined) : answers<SchemaState>(AWAY).read
      const end = waitForSchema(waiting(), read, () => undefined).catch((error: unknown) => error)
      await settle()
      const reason = new Error('a signal')
      giveUp.abort(reason)
      expect(await end).toBe(reason)
    },
  )
})

it('a read from the store is retried until it succeeds', async () => {
  const found = readFromStore(waiting(), 'commit times', answers<number>(AWAY, 7).read)
  await settle()
  clock.advance(100)
  expect(await found).toBe(7)
  expect(lines).toHaveLength(2)
})

it('a start that was cancelled before it began does not wait', async () => {
  const reason = new Error('a signal')
  giveUp.abort(reason)
  await expect(waitFor(waiting(), 'workers', new Promise(() => undefined))).rejects.toBe(reason)
})

it('a start logs every ten seconds what it waits for, until it has it', async () => {
  let finish = (_value: number): void => undefined
  const found = waitFor(waiting(), 'migrations', new Promise<number>((resolve) => (finish = resolve)))
  for (let second = 0; second < 25; second++) clock.advance(1_000)
  finish(7)
  expect(await found).toBe(7)
  clock.advance(60_000)
  expect(lines).toEqual(['the start is waiting: migrations: 10', 'the start is waiting: migrations: 20'])
})

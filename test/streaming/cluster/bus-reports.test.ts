/** Nodes that share a store and have lost, or not, their connection to NATS. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { BusReports } from '../../../src/streaming/cluster/bus-reports.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** Seconds after which nothing more is expected. */
const SECONDS_MAX = 20
const CHANNEL = 'tidegate_bus'
/** Only ends a wait that hangs. */
const POLL = { timeout: 20_000, interval: 1 }

let db: Db
let open: BusReports[] = []
let ends: (() => Promise<void>)[] = []
/** What the nodes have sent, and of that what has arrived. */
const counts = { sent: 0, arrived: 0 }
const counter = { onNotify: () => void counts.arrived++, onReconnect: () => undefined }

beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  // Nothing is sent before the store is connected.
  await sql`select 1`.execute(db.tables())
  db.observeStatements(() => void counts.sent++)
})
afterEach(async () => {
  await Promise.all(open.map((reports) => reports.stop()))
  await Promise.all(ends.map((end) => end()))
  open = []
  ends = []
})
afterAll(() => db.close())

async function threeNodes() {
  const clock = new VirtualClock()
  const node = (name: string) => {
    const state = { isConnected: true }
    const reports = new BusReports({ db, clock, node: name, isConnected: () => state.isConnected })
    open.push(reports)
    return { state, reports }
  }
  const all = [node('a'), node('b'), node('c')] as const
  clock.advance(1_000)
  // After the nodes' own. Its listener is the last one that hears of a message.
  ends.push(await db.listen(CHANNEL, counter))
  /** Of one second, until everything is sent and heard: who has lost NATS asks, and the others answer. */
  const second = async () => {
    const messages = all.every(({ state }) => state.isConnected) ? 0 : all.length
    const ended = { sent: counts.sent + messages, arrived: counts.arrived + messages }
    clock.advance(1_000)
    await vi.waitFor(() => expect(counts).toEqual(ended), POLL)
    await nextTick()
  }
  const heard = () => all.map(({ reports }) => reports.othersAreConnected)
  /** Seconds until a node hears that others are connected. */
  const secondsUntilHeard = async (place: number) => {
    for (let seconds = 0; seconds < SECONDS_MAX; seconds++) {
      if (heard()[place] === true) return seconds
      await second()
    }
    return SECONDS_MAX
  }
  await second()
  return { all, second, heard, secondsUntilHeard }
}

it('a node that alone lost NATS learns within six seconds that others are connected, until it is back', async () => {
  const { all, second, heard, secondsUntilHeard } = await threeNodes()
  expect(heard()).toEqual([false, false, false])
  all[0].state.isConnected = false
  const seconds = await secondsUntilHeard(0)
  expect(seconds).toBeGreaterThan(2)
  expect(seconds).toBeLessThan(7)
  expect(heard()).toEqual([true, false, false])
  all[0].state.isConnected = true
  expect(heard()).toEqual([false, false, false])
  await second()
  // What was answered before counts no more.
  all[0].state.isConnected = false
  expect(heard()).toEqual([false, false, false])
})

it('nodes that lose NATS together, each noticing it two seconds after another, are not misled by the later ones', async () => {
  const { all, second, heard } = await threeNodes()
  all[0].state.isConnected = false
  await second()
  await second()
  for (const { state } of all) state.isConnected = false
  for (let seconds = 0; seconds < SECONDS_MAX; seconds++) {
    expect(heard()).toEqual([false, false, false])
    await second()
  }
})

it('a node hears no longer that others are connected when they lost NATS too', async () => {
  const { all, second, heard, secondsUntilHeard } = await threeNodes()
  all[0].state.isConnected = false
  expect(await secondsUntilHeard(0)).toBeLessThan(7)
  for (const { state } of all) state.isConnected = false
  for (let seconds = 0; seconds < 4; seconds++) await second()
  expect(heard()).toEqual([false, false, false])
})

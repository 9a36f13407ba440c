/** Nodes that share a store and have lost, or not, their connection to NATS. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { BusReports } from '../../../src/streaming/cluster/bus-reports.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** Seconds after which nothing more is expected. */
const SECONDS_MAX = 20

let db: Db
let open: BusReports[] = []

beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
})
afterEach(async () => {
  await Promise.all(open.map((reports) => reports.stop()))
  open = []
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
  /** Of one second, with the statements that begin in it. */
  const second = async () => {
    clock.advance(1_000)
    for (let statement = 0; statement < 5; statement++) {
      await sql`select 1`.execute(db.tables())
      await nextTick()
    }
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

/** How a node compares its clock with the store's, and how often it reports a difference. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Db } from '../../../src/platform/store/db.ts'
import { createQueries } from '../../../src/platform/store/sql.ts'
import { StoreClockWatch } from '../../../src/platform/store/store-clock.ts'
import { captureLog } from '../../support/captured-log.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const { log, lines } = captureLog()
let clock: VirtualClock
let storeTime: () => number
let reads: number
let watch: StoreClockWatch

const queries = createQueries(async () => ({
  async execute() {
    reads++
    return { rows: [{ now: new Date(storeTime()).toISOString() }], affectedRows: undefined }
  },
  begin: async () => undefined,
  commit: async () => undefined,
  rollback: async () => undefined,
  release: async () => undefined,
}))

beforeEach(() => {
  clock = new VirtualClock()
  lines.length = 0
  reads = 0
})
afterEach(() => watch.stop())

async function start(difference: number): Promise<void> {
  storeTime = () => clock.wallInstant().milliseconds - difference
  watch = new StoreClockWatch({ db: queries as unknown as Db, clock, log })
  await expect.poll(() => watch.differenceMilliseconds).toBe(difference)
}

async function nextMinute(): Promise<void> {
  const before = reads
  await expect.poll(() => clock.isDueIn(MINUTE)).toBe(true)
  clock.advance(MINUTE)
  await expect.poll(() => reads).toBe(before + 1)
}

const warnings = () => lines.filter((line) => line.includes('differs from the store’s clock'))

it.each([3 * HOUR, -3 * HOUR, 1_001])(
  'a clock difference of %d ms is known, and logged once an hour',
  async (difference) => {
    await start(difference)
    expect(warnings()).toHaveLength(1)
    expect(JSON.parse(warnings()[0] as string)).toMatchObject({ level: 40, difference_seconds: difference / 1000 })
    for (let minute = 1; minute < 60; minute++) await nextMinute()
    expect(warnings()).toHaveLength(1)
    await nextMinute()
    await expect.poll(() => warnings().length).toBe(2)
  },
)

it('a clock difference of a second is not reported, and a step of the clock is detected within a minute', async () => {
  await start(1_000)
  expect(warnings()).toHaveLength(0)
  const at = storeTime
  const offset = at() - clock.wallInstant().milliseconds
  const wall = clock.wallInstant().milliseconds
  storeTime = () => wall + offset + clock.monotonicMilliseconds()
  clock.stepWall(-HOUR)
  await nextMinute()
  await expect.poll(() => watch.differenceMilliseconds).toBe(1_000 - HOUR)
  expect(warnings()).toHaveLength(1)
})

it('a store that does not answer leaves the last result, and is asked again', async () => {
  await start(0)
  storeTime = () => {
    throw new Error('the store is gone')
  }
  await nextMinute()
  expect(watch.differenceMilliseconds).toBe(0)
  storeTime = () => clock.wallInstant().milliseconds - 5_000
  await nextMinute()
  await expect.poll(() => watch.differenceMilliseconds).toBe(5_000)
})

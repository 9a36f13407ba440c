import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { CommitTimes, readCommitFloors } from '../../../src/streaming/markets/commit-times.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const log = createLog('silent')
let db: Db

beforeAll(async () => {
  db = await openTestStore({ log })
})

afterAll(() => db?.close())

describe('commit times', () => {
  test('the commit times of a stopped process are continued exactly', async () => {
    const latest = new Map([
      ['BTCUSD', 1_800_000_000_000],
      ['NEWUSD', 0],
    ])
    const times = new CommitTimes({ db, clock: new VirtualClock(), log, latest: () => latest })
    latest.set('BTCUSD', 1_800_000_000_123)
    await times.stop()
    expect([...(await readCommitFloors(db))]).toEqual([['BTCUSD', 1_800_000_000_123]])
  })

  test('the commit times of a process that crashed are skipped', async () => {
    const clock = new VirtualClock()
    const latest = new Map([['BTCUSD', 1_800_000_005_000]])
    const times = new CommitTimes({ db, clock, log, latest: () => latest })
    clock.advance(1_000)
    await expect.poll(async () => (await readCommitFloors(db)).get('BTCUSD')).toBe(1_800_000_008_000)
    // What comes after the last write is below the floor for a second and more.
    latest.set('BTCUSD', 1_800_000_006_500)
    expect((await readCommitFloors(db)).get('BTCUSD')).toBeGreaterThan(1_800_000_006_500)
    await times.stop()
  })

  test('commit times that cannot be written are warned of once and do no harm', async () => {
    const clock = new VirtualClock()
    const away = new Proxy(db, {
      get: () => () => {
        throw new StoreUnavailable('away')
      },
    })
    const warnings: unknown[] = []
    const warningLog = Object.assign(createLog('silent'), { warn: (fields: unknown) => warnings.push(fields) })
    const times = new CommitTimes({ db: away, clock, log: warningLog, latest: () => [['BTCUSD', 5_000]] })
    clock.advance(1_000)
    await times.stop()
    expect(warnings).toHaveLength(1)
  })

  test('a stop during a write of commit times writes the exact times last', async () => {
    const clock = new VirtualClock()
    const times = new CommitTimes({ db, clock, log, latest: () => [['BTCUSD', 1_800_000_009_000]] })
    clock.advance(1_000)
    await times.stop()
    expect(clock.isDueIn(1_000)).toBe(false)
    expect((await readCommitFloors(db)).get('BTCUSD')).toBe(1_800_000_009_000)
  })

  test('a stop keeps the later commit time of a process that led the market since', async () => {
    const clock = new VirtualClock()
    const former = new CommitTimes({ db, clock, log, latest: () => [['LEDUSD', 1_800_000_010_000]] })
    clock.advance(1_000)
    await expect.poll(async () => (await readCommitFloors(db)).get('LEDUSD')).toBe(1_800_000_013_000)
    const leader = new CommitTimes({ db, clock, log, latest: () => [['LEDUSD', 1_800_000_020_000]] })
    clock.advance(1_000)
    await expect.poll(async () => (await readCommitFloors(db)).get('LEDUSD')).toBe(1_800_000_023_000)
    await former.stop()
    expect((await readCommitFloors(db)).get('LEDUSD')).toBe(1_800_000_023_000)
    await leader.stop()
    expect((await readCommitFloors(db)).get('LEDUSD')).toBe(1_800_000_020_000)
  })
})

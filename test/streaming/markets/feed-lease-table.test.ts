/**
 * Feed leases in the store: the same on both engines. Time passes by setting the expiry of the row, and by the virtual
 * clock of each contender.
 */

import { EventEmitter } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { FeedLease, LEASE_TIMING } from '../../../src/streaming/markets/feed-lease.ts'
import { createLeaseRecords, EPOCH_MAX } from '../../../src/streaming/markets/feed-lease-table.ts'
import { createFeedLeases } from '../../../src/streaming/markets/feed-leases.ts'
import { once } from '../../support/awaited.ts'
import { LeaseJournal } from '../../support/feed-leases.ts'
import { Random } from '../../support/random.ts'
import { openTwoTestStores } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const log = createLog('silent')
/** So long that no lease ends by itself, however long the machine stands still. */
const leaseMilliseconds = 3_600_000

let one: Db
let two: Db
beforeAll(async () => {
  const stores = await openTwoTestStores({ log })
  one = stores[0]
  two = stores[1]
})
afterAll(async () => {
  await one?.close()
  if (two !== one) await two?.close()
})

let feedGroup = ''
let number = 0
const leases: FeedLease[] = []
beforeEach(async () => {
  feedGroup = `group ${++number}`
  // Epochs are compared over all groups.
  await sql`delete from feed_leases`.execute(one.tables())
  return async () => {
    for (const lease of leases.splice(0)) await lease.stop()
  }
})

function recordsOn(db: Db, holderName = 'a', isExclusive = false) {
  return createLeaseRecords({ db, feedGroup, holder: newId(), holderName, leaseMilliseconds, isExclusive })
}

/** By a whole millisecond, to which the column rounds: the time of now would be stored up to half of one in the future. */
async function expire(): Promise<void> {
  await sql`
    update feed_leases set expires_at = clock_timestamp() - interval '1 millisecond' where feed_group = ${feedGroup}
  `.execute(one.tables())
}

function contend(db: Db, holderName: string) {
  const clock = new VirtualClock()
  const journal = new LeaseJournal()
  const records = recordsOn(db, holderName)
  const lease = new FeedLease({ feedGroup, records, events: journal, clock, log, random: () => 0.5 })
  leases.push(lease)
  return { clock, journal, lease }
}

describe('the lease of a group', () => {
  it("a group's lease has one holder until it expires, and an epoch that each holder increases by one", async () => {
    const [a, b] = [recordsOn(one, 'a'), recordsOn(two, 'b')]
    expect(await a.read()).toBeUndefined()
    expect(await a.take(0)).toBe(1)
    expect(await b.take(0)).toBeUndefined()
    expect(await a.take(0)).toBeUndefined()
    const seen = await b.read()
    expect(seen).toMatchObject({ epoch: 1, holderName: 'a' })
    expect(seen?.leftMilliseconds).toBeGreaterThan(0)
    // Its end is stored in whole milliseconds, and what is left is rounded up.
    expect(seen?.leftMilliseconds).toBeLessThanOrEqual(leaseMilliseconds + 1)
    await expire()
    expect((await b.read())?.leftMilliseconds).toBeLessThanOrEqual(0)
    expect(await b.take(0)).toBe(2)
    expect(await a.renew(1)).toBe(false)
    await a.release(1)
    expect(await b.read()).toMatchObject({ epoch: 2, holderName: 'b' })
  })

  it("a group's lease can be renewed after it has expired, if no other has taken it, by its holder and epoch only", async () => {
    const [a, b] = [recordsOn(one), recordsOn(two)]
    expect(await a.take(0)).toBe(1)
    await expire()
    expect([await b.renew(1), await a.renew(2), await a.renew(1)]).toEqual([false, false, true])
    expect((await b.read())?.leftMilliseconds).toBeGreaterThan(0)
    expect(await b.take(0)).toBeUndefined()
  })

  it("a group's lease is free for others at once when it was released, and its epoch remains", async () => {
    const [a, b] = [recordsOn(one), recordsOn(two)]
    const heard = new EventEmitter()
    const released = once(heard, 'released')
    // Awaited: a release is not announced to one who does not listen yet.
    const stopListening = await b.listen(() => heard.emit('released'))
    expect(await a.take(6)).toBe(7)
    await a.release(7)
    await released
    await stopListening()
    expect(await b.read()).toEqual({ epoch: 7, holderName: undefined, leftMilliseconds: 0 })
    expect(await b.take(0)).toBe(8)
  })

  it("a group's lease has an epoch above every other group's, whose markets may move into it", async () => {
    expect(await recordsOn(one).take(6)).toBe(7)
    feedGroup = 'a new group'
    const b = recordsOn(two)
    expect(await b.take(0)).toBe(8)
    await b.release(8)
    feedGroup = 'another group'
    expect(await recordsOn(one).take(0)).toBe(9)
    expect(await b.take(0)).toBe(10)
  })

  it("a group's lease has epochs of 32 bits, and is not taken beyond them", async () => {
    const a = recordsOn(one)
    expect(await a.take(EPOCH_MAX - 1)).toBe(EPOCH_MAX)
    await a.release(EPOCH_MAX)
    await expect(a.take(0)).rejects.toThrow(/check/)
  })

  it("a group's lease is taken whatever its row says where no other process can use the store", async () => {
    expect(await recordsOn(one, 'killed').take(0)).toBe(1)
    expect(await recordsOn(one, 'next', true).take(0)).toBe(2)
    expect(
      createLeaseRecords({ db: one, feedGroup, holder: newId(), holderName: '', leaseMilliseconds }).isExclusive,
    ).toBe(one.engine === 'embedded')
  })

  it("a group's lease goes to one of many that take it at the same moment, in any order", async () => {
    const random = new Random(20_260_101)
    let epoch = 0
    for (let round = 0; round < 40; round++) {
      const contenders = Array.from({ length: 4 }, (_, index) => recordsOn(index % 2 === 0 ? one : two, `c${index}`))
      const taken = await Promise.all(contenders.map((records) => records.take(0)))
      const epochs = taken.filter((each) => each !== undefined)
      expect(epochs, `round ${round}`).toEqual([epoch + 1])
      epoch += 1
      const winner = contenders[taken.indexOf(epoch)]
      if (random.chance(0.5)) await winner?.release(epoch)
      else await expire()
    }
  })
})

describe('contenders on the store', () => {
  it('contenders on the store lead in turn: one is stopped, the next is left without renewal', async () => {
    const a = contend(one, 'a')
    await a.journal.until(/^taken 1$/)
    const b = contend(two, 'b')
    await expect.poll(() => b.lease.state.holderName).toBe('a')
    await a.lease.stop()
    // The release is announced: no time passes for the standby.
    await b.journal.until(/^taken 2$/)

    const c = contend(one, 'c')
    await expect.poll(() => c.lease.state.holderName).toBe('b')
    await expire()
    // It has just started, so it leaves an expired lease to the others for the length of a lease.
    const startedMilliseconds = c.clock.monotonicMilliseconds()
    const advanceAndRead = () => {
      c.clock.advance(LEASE_TIMING.pollMilliseconds)
      return c.lease.state.role
    }
    await expect.poll(advanceAndRead).toBe('leader')
    expect(c.clock.monotonicMilliseconds() - startedMilliseconds).toBeGreaterThanOrEqual(LEASE_TIMING.leaseMilliseconds)
    await c.journal.until(/^taken 3$/)
    expect(b.lease.mayPublish()).toBe(true)
    b.clock.advance(LEASE_TIMING.renewMilliseconds)
    await b.journal.until(/^deposed store$/)
    expect([b.lease.mayPublish(), c.lease.mayPublish()]).toEqual([false, true])
  })

  it('contenders on the store show in the metrics who leads and how often that changed', async () => {
    const metrics = createMetricsRegistry()
    const journal = new LeaseJournal()
    const clock = new VirtualClock()
    const held = createFeedLeases({ db: one, clock, log, metrics, random: () => 0.5, holderName: 'test' })
    const lease = held.start(feedGroup, journal)
    leases.push(lease)
    await journal.until(/^taken 1$/)
    const label = `feed_group="${feedGroup}"`
    const text = await metrics.metrics()
    expect(text).toContain(`tidegate_feed_lease_leader{${label}} 1`)
    expect(text).toContain(`tidegate_feed_lease_epoch{${label}} 1`)
    lease.heard(9)
    const later = await metrics.metrics()
    expect(later).toContain(`tidegate_feed_lease_leader{${label}} 0`)
    expect(later).toContain(`tidegate_feed_lease_epoch{${label}} 9`)
    expect(later).toContain(`tidegate_feed_lease_taken_total{${label}} 1`)
    expect(later).toContain(`tidegate_feed_lease_lost_total{${label},reason="heard"} 1`)
  })
})

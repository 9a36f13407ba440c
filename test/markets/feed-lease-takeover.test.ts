/**
 * Feed leases on PostgreSQL: holders that are cut off from it, and real processes that are killed, stopped and ended, at
 * the times of the product.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../src/base/ids.ts'
import { createLog } from '../../src/base/log.ts'
import { FeedLease, LEASE_TIMING } from '../../src/markets/feed-lease.ts'
import { createLeaseRecords } from '../../src/markets/feed-lease-table.ts'
import type { Db } from '../../src/store/db.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { sql } from '../../src/store/sql.ts'
import { LeaseJournal } from '../support/feed-leases.ts'
import { killLifecycleChildren, startLifecycleChild } from '../support/lifecycle-process.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import { proxyPostgres } from '../support/postgres-proxy.ts'
import { createSlowClock } from '../support/slow-clock.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const log = createLog('silent')
const long = process.env.TIDEGATE_LONG === '1'
const KILLS = long ? 30 : 1
const STOPPED_MILLISECONDS = long ? 20_000 : LEASE_TIMING.leaseMilliseconds + 200
const { leaseMilliseconds, renewMilliseconds, pollMilliseconds } = LEASE_TIMING

describe.skipIf(!hasPostgres)('a feed lease on PostgreSQL', () => {
  let url = ''
  let db: Db
  beforeAll(async () => {
    url = await migratedDatabase()
    db = openPostgres({ url, connectionsMax: 5, log, clock: createSlowClock(), random: Math.random })
  })
  afterAll(() => db?.close())

  const cleanups: (() => unknown)[] = []
  beforeEach(() => async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    killLifecycleChildren()
  })

  /** A contender with a clock of its own, for its timers and for those of its connections if it has its own. */
  function contend(feedGroup: string, store: Db = db, clock = new VirtualClock()) {
    const journal = new LeaseJournal()
    const records = createLeaseRecords({ db: store, feedGroup, holder: newId(), holderName: 'test', leaseMilliseconds })
    const lease = new FeedLease({ feedGroup, records, events: journal, clock, log, random: () => 0.5 })
    cleanups.push(() => lease.stop())
    return { clock, journal, lease }
  }

  /** A contender whose connections pass a proxy. */
  async function contendThroughProxy(feedGroup: string) {
    const { proxy, url: through } = await proxyPostgres(url)
    const clock = new VirtualClock()
    const store = openPostgres({ url: through, connectionsMax: 2, log, clock, random: () => 1 })
    cleanups.push(() => {
      proxy.close()
      return store.close()
    })
    return { proxy, ...contend(feedGroup, store, clock) }
  }

  /** Lets a lease expire that is not renewed meanwhile: by a whole millisecond, to which the column rounds. */
  async function expire(feedGroup: string): Promise<void> {
    await sql`
      update feed_leases set expires_at = clock_timestamp() - interval '1 millisecond' where feed_group = ${feedGroup}
    `.execute(db.tables())
  }

  it.each(['both', 'answers'] as const)(
    'follows a holder that is cut off (%s), and deposes it when its epoch is heard or read',
    async (direction) => {
      const group = `cut off: ${direction}`
      const leader = await contendThroughProxy(group)
      await leader.journal.until(/^taken 1$/)
      const standby = contend(group)
      await expect.poll(() => standby.lease.state.holderName).toBe('test')
      leader.proxy.freeze(direction)
      for (let second = 0; second < 6; second++) {
        leader.clock.advance(renewMilliseconds)
        await new Promise((resolve) => setImmediate(resolve))
      }
      await expect.poll(() => leader.lease.state.failures).toBeGreaterThan(0)
      await expire(group)
      standby.clock.advance(pollMilliseconds * 1.2)
      await standby.journal.until(/^taken 2$/)
      expect(leader.lease.mayPublish()).toBe(true)
      leader.proxy.thaw()
      if (direction === 'both') leader.lease.heard(2)
      else {
        await expect
          .poll(() => {
            leader.clock.advance(renewMilliseconds / 4)
            return leader.journal.isLeader
          })
          .toBe(false)
      }
      expect(leader.journal.entries).toEqual(['taken 1', direction === 'both' ? 'deposed heard' : 'deposed store'])
      expect(leader.lease.mayPublish()).toBe(false)
    },
  )

  it('is taken within 5 s of a kill, and a stopped process that runs again publishes nothing more', async () => {
    const start = async (name: string) => {
      const child = startLifecycleChild({ script: 'feed-lease-process.ts', args: [url, name] })
      await child.heard('started')
      return child
    }
    const first = await start('first')
    await first.heard('taken 1')
    let [leader, standby] = [first, await start('second')]
    await standby.heard('standby')
    const takeovers: number[] = []
    let epoch = 1
    for (let kill = 0; kill < KILLS; kill++) {
      await leader.heard(`published ${epoch}`)
      const killed = performance.now()
      leader.signal('SIGKILL')
      await standby.heard(`taken ${++epoch}`)
      takeovers.push(Math.round(performance.now() - killed))
      leader = standby
      standby = await start('another')
      await standby.heard('standby')
    }
    if (long) console.info(`milliseconds from a kill to the next holder: ${takeovers.sort((a, b) => a - b).join(', ')}`)
    expect(Math.max(...takeovers)).toBeLessThan(5_000)

    await leader.heard(`published ${epoch}`)
    const stopped = performance.now()
    leader.signal('SIGSTOP')
    await standby.heard(`taken ${epoch + 1}`)
    expect(performance.now() - stopped).toBeLessThan(5_000)
    // Longer than a lease, so that only the rule for stopped processes keeps it from publishing.
    const rest = STOPPED_MILLISECONDS - (performance.now() - stopped)
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, rest)))
    const before = leader.lines.length
    leader.signal('SIGCONT')
    await leader.heard('deposed store')
    expect(leader.lines.slice(before).filter((line) => line.startsWith('published'))).toEqual([])

    standby.signal('SIGTERM')
    const released = performance.now()
    await leader.heard(`taken ${epoch + 2}`)
    expect(performance.now() - released).toBeLessThan(2_000)
    await standby.exit
  })
})

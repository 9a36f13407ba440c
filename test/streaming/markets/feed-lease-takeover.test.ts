/**
 * Feed leases on PostgreSQL: holders that are cut off from it, and real processes that are killed, stopped and ended, at
 * the times of the product.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { FeedLease, LEASE_TIMING } from '../../../src/streaming/markets/feed-lease.ts'
import { createLeaseRecords } from '../../../src/streaming/markets/feed-lease-table.ts'
import { LeaseJournal } from '../../support/feed-leases.ts'
import { killLifecycleChildren, startLifecycleChild } from '../../support/lifecycle-process.ts'
import { note } from '../../support/note.ts'
import { hasPostgres, migratedDatabase } from '../../support/postgres.ts'
import { proxyPostgres } from '../../support/postgres-proxy.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const log = createLog('silent')
const long = process.env.TIDEGATE_LONG === '1'
const KILLS = long ? 30 : 1
const STOPPED_MILLISECONDS = long ? 20_000 : LEASE_TIMING.leaseMilliseconds + 200
const { renewMilliseconds, pollMilliseconds } = LEASE_TIMING
/** Of contenders in this process: so long that none ends by itself, however long the machine stands still. */
const LEASE_MILLISECONDS = 3_600_000

describe.skipIf(!hasPostgres)('a feed lease (needs PostgreSQL)', () => {
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
    const records = createLeaseRecords({
      ...{ db: store, feedGroup, holder: newId(), holderName: 'test' },
      leaseMilliseconds: LEASE_MILLISECONDS,
    })
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

  /** Lets the first lease of a group expire: by a whole millisecond, to which the column rounds. */
  async function expire(feedGroup: string): Promise<void> {
    await sql`
      update feed_leases set expires_at = clock_timestamp() - interval '1 millisecond'
      where feed_group = ${feedGroup} and epoch = 1
    `.execute(db.tables())
  }

  it.each(['both', 'answers'] as const)(
    'a feed lease follows a holder that is cut off (%s), and deposes it when its epoch is heard or read',
    async (direction) => {
      // Epochs count over all groups.
      await sql`delete from feed_leases`.execute(db.tables())
      const group = `cut off: ${direction}`
      const leader = await contendThroughProxy(group)
      await leader.journal.until(/^taken 1$/)
      const standby = contend(group)
      await expect.poll(() => standby.lease.state.holderName).toBe('test')
      leader.proxy.freeze(direction)
      await expect
        .poll(() => {
          leader.clock.advance(renewMilliseconds)
          return leader.lease.state.failures
        })
        .toBeGreaterThan(0)
      // A renewal whose answer alone is lost extends the lease, also after it has expired.
      await expect
        .poll(async () => {
          await expire(group)
          standby.clock.advance(pollMilliseconds * 1.2)
          return standby.journal.entries
        })
        .toEqual(['taken 2'])
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

  it('a feed lease is taken after a kill, and a stopped process that runs again publishes nothing more', async () => {
    const start = async () => {
      const child = startLifecycleChild({ script: 'feed-lease-process.ts', args: [url, 'test'] })
      // Where the machine stands still for longer than a lease lasts, any of them may lead next.
      await expect.poll(() => child.lines.some((line) => line === 'standby' || line.startsWith('taken '))).toBe(true)
      return child
    }
    type Child = Awaited<ReturnType<typeof start>>
    /** The epoch with which it leads, as far as it knows; 0: it does not. */
    const epochOf = ({ lines }: Child): number => {
      const last = lines.findLast((line) => /^(taken|deposed) /.test(line)) ?? ''
      return last.startsWith('taken ') ? Number(last.slice('taken '.length)) : 0
    }
    /** The one that leads, once it has published, and the other one. */
    const leaderOf = async (one: Child, other: Child): Promise<readonly [Child, Child]> => {
      const inOrder = () => (epochOf(one) > epochOf(other) ? ([one, other] as const) : ([other, one] as const))
      const publishes = (child: Child) => child.lines.includes(`published ${epochOf(child)}`)
      await expect.poll(() => publishes(inOrder()[0])).toBe(true)
      return inOrder()
    }
    /** Milliseconds until the standby leads with a later epoch. */
    const takeover = async (leader: Child, standby: Child, end: NodeJS.Signals): Promise<number> => {
      const [epoch, ended] = [epochOf(leader), performance.now()]
      leader.signal(end)
      await expect.poll(() => epochOf(standby)).toBeGreaterThan(epoch)
      return Math.round(performance.now() - ended)
    }

    let [leader, standby] = await leaderOf(await start(), await start())
    const takeovers: number[] = []
    for (let kill = 0; kill < KILLS; kill++) {
      takeovers.push(await takeover(leader, standby, 'SIGKILL'))
      ;[leader, standby] = await leaderOf(standby, await start())
    }
    const stopped = performance.now()
    takeovers.push(await takeover(leader, standby, 'SIGSTOP'))
    // Longer than a lease, so that only the rule for stopped processes keeps it from publishing.
    const rest = STOPPED_MILLISECONDS - (performance.now() - stopped)
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, rest)))
    const before = leader.lines.length
    const isDeposed = (line: string) => line === 'deposed store'
    leader.signal('SIGCONT')
    await leader.heard('deposed store', leader.lines.filter(isDeposed).length + 1)
    const after = leader.lines.slice(before)
    expect(after.slice(0, after.findIndex(isDeposed)).filter((line) => line.startsWith('published'))).toEqual([])

    const released = await takeover(standby, leader, 'SIGTERM')
    await standby.exit
    if (!long) return
    // In virtual time `feed-lease.test` shows how soon; real times are those of the machine too.
    note(`milliseconds until the next holder: ${takeovers.sort((a, b) => a - b).join(', ')}; ${released}`)
    expect(Math.max(...takeovers)).toBeLessThan(5_000)
    expect(released).toBeLessThan(2_000)
  })
})

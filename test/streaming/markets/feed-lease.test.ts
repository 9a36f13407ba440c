/** The rules of a feed lease in virtual time, on a store in memory. */

import { beforeEach, describe, expect, it } from 'vitest'
import { LEASE_TIMING } from '../../../src/streaming/markets/feed-lease.ts'
import { until } from '../../support/awaited.ts'
import { type Candidate, LeaseWorld, STEP_MILLISECONDS, settle } from '../../support/feed-leases.ts'

const { leaseMilliseconds } = LEASE_TIMING

let world: LeaseWorld
beforeEach(() => {
  world = new LeaseWorld()
  return () => world.stop()
})

const candidate = (isExclusive = false) => world.add(isExclusive)
const pass = (milliseconds: number) => world.pass(milliseconds)
const stand = (stopped: Candidate, milliseconds: number, then?: () => void) => world.stand(stopped, milliseconds, then)

/** One leader and one standby. */
async function leaderAndStandby(): Promise<readonly [Candidate, Candidate]> {
  const leader = candidate()
  await settle()
  const standby = candidate()
  await pass(2 * leaseMilliseconds)
  expect([leader.lease.mayPublish(), standby.lease.mayPublish()]).toEqual([true, false])
  return [leader, standby]
}

describe('a free lease', () => {
  it('a free lease is taken at once, with an epoch that grows with each holder', async () => {
    const first = candidate()
    await settle()
    expect(first.journal.entries).toEqual(['taken 1'])
    const second = candidate()
    await pass(20_000)
    expect(second.journal.entries).toEqual([])
    expect(second.lease.state).toMatchObject({ role: 'standby', epoch: 1, holderName: 'candidate 0' })
    await first.lease.stop()
    expect(first.journal.entries).toEqual(['taken 1', 'deposed stopped'])
    await pass(STEP_MILLISECONDS)
    expect(second.journal.entries).toEqual(['taken 2'])
    expect(first.lease.state).toMatchObject({ role: 'stopped' })
    expect(first.lease.mayPublish()).toBe(false)
  })

  it('a free lease is taken by one of several that ask at the same moment', async () => {
    const all = [candidate(), candidate(), candidate()]
    await pass(1_000)
    expect(all.map(({ lease }) => lease.mayPublish()).filter(Boolean)).toHaveLength(1)
  })

  it('a free lease gets an epoch above every epoch that was heard, when the store has lost its last ones', async () => {
    const first = candidate()
    first.lease.heard(41)
    await settle()
    expect(first.journal.epochs).toEqual([42])
    world.model.row = undefined
    await pass(2_000)
    expect(first.journal.entries).toEqual(['taken 42', 'deposed store', 'taken 43'])
  })
})

describe('an answer that arrives late', () => {
  it('a late answer is not used when its epoch was exceeded meanwhile', async () => {
    const only = candidate()
    only.heldAnswer = 3
    await settle()
    expect(world.model.row?.epoch).toBe(1)
    only.lease.heard(1)
    only.open()
    await pass(1_000)
    expect(only.journal.entries).toEqual(['taken 2'])
  })

  it('a late answer is not used when the lease may have expired meanwhile', async () => {
    const late = candidate()
    late.heldAnswer = 3
    await settle()
    const other = candidate()
    await pass(2 * leaseMilliseconds)
    expect(other.journal.entries).toEqual(['taken 2'])
    late.open()
    await pass(2_000)
    expect(late.journal.entries).toEqual([])
  })

  it('a late answer to a process that is being stopped frees the lease', async () => {
    const ending = candidate()
    ending.heldAnswer = 3
    await settle()
    const stopped = ending.lease.stop()
    ending.open()
    await stopped
    expect(ending.journal.entries).toEqual([])
    expect(world.model.row).toMatchObject({ epoch: 1, holder: undefined })
  })
})

describe('a leader', () => {
  it('a leader that ends without a release is followed by a standby within 3.6 s', async () => {
    const [leader, standby] = await leaderAndStandby()
    leader.isRunning = false
    leader.path = 'held'
    const before = world.model.nowMilliseconds
    await until(
      'the standby to lead',
      () => standby.journal.isLeader,
      () => pass(STEP_MILLISECONDS),
    )
    expect(standby.journal.epochs).toEqual([2])
    expect(world.model.nowMilliseconds - before).toBeLessThanOrEqual(3_600)
  })

  it('a leader that ended during an outage of the store is followed by a standby within 3.6 s of its end', async () => {
    const [leader, standby] = await leaderAndStandby()
    leader.isRunning = false
    standby.path = 'refused'
    await pass(60_000)
    standby.open()
    const before = world.model.nowMilliseconds
    await until(
      'the standby to lead',
      () => standby.journal.isLeader,
      () => pass(STEP_MILLISECONDS),
    )
    expect(world.model.nowMilliseconds - before).toBeLessThanOrEqual(3_600)
  })

  it.each(['refused', 'answer lost', 'held'] as const)('a leader continues without the store (%s)', async (path) => {
    const [leader, standby] = await leaderAndStandby()
    leader.path = path
    standby.path = path
    for (let second = 0; second < 60; second++) {
      await pass(1_000)
      expect(leader.lease.mayPublish()).toBe(true)
    }
    expect(leader.lease.state.renewedMillisecondsAgo).toBeGreaterThan(59_000)
    leader.open()
    standby.path = 'open'
    await pass(2_000)
    expect(leader.journal.entries).toEqual(['taken 1'])
    expect(leader.lease.state.renewedMillisecondsAgo).toBeLessThanOrEqual(1_000)
  })

  it('a leader that is cut off from the store alone is deposed by the epoch of its successor, when it hears it', async () => {
    const [leader, standby] = await leaderAndStandby()
    leader.path = 'held'
    await pass(4_000)
    expect(standby.journal.epochs).toEqual([2])
    expect(leader.lease.mayPublish()).toBe(true)
    leader.lease.heard(1)
    expect(leader.lease.mayPublish()).toBe(true)
    leader.lease.heard(2)
    expect(leader.lease.mayPublish()).toBe(false)
    expect(leader.journal.entries).toEqual(['taken 1', 'deposed heard'])
    leader.open()
    await pass(10_000)
    expect(leader.lease.state).toMatchObject({ role: 'standby', epoch: 2, holderName: 'candidate 1' })
  })

  it('a leader that is cut off from the store and the bus is deposed by its next renewal', async () => {
    const [leader, standby] = await leaderAndStandby()
    leader.path = 'refused'
    await pass(4_000)
    expect(standby.journal.isLeader).toBe(true)
    leader.open()
    await pass(1_000)
    expect(leader.journal.entries).toEqual(['taken 1', 'deposed store'])
  })

  it('a leader whose request for the lease was not answered waits until that lease expires', async () => {
    const only = candidate()
    // After listening and reading.
    only.lostAnswer = 3
    await settle()
    expect([world.model.row?.epoch, only.journal.epochs]).toEqual([1, []])
    await pass(5_000)
    expect(only.journal.entries).toEqual(['taken 2'])
  })
})

describe('a leader whose process was stopped', () => {
  it('a leader that was stopped for longer than the lease publishes nothing before it finds itself deposed', async () => {
    const [leader, standby] = await leaderAndStandby()
    let published: boolean | undefined
    await stand(leader, 20_000, () => {
      published = leader.lease.mayPublish()
    })
    expect(published).toBe(false)
    expect(standby.journal.epochs).toEqual([2])
    expect(leader.lease.mayPublish()).toBe(false)
    await settle()
    expect(leader.journal.entries).toEqual(['taken 1', 'deposed store'])
  })

  it('a leader that was stopped continues after it has asked, when no other process has taken the lease', async () => {
    const leader = candidate()
    await pass(1_000)
    await stand(leader, 20_000, () => {
      expect(leader.lease.mayPublish()).toBe(false)
      expect(leader.lease.state.role).toBe('paused')
    })
    await settle()
    expect(leader.lease.mayPublish()).toBe(true)
    expect(leader.journal.entries).toEqual(['taken 1', 'resumed'])
  })

  it('a leader that was stopped is not confirmed by the answer to an earlier question', async () => {
    const [leader, standby] = await leaderAndStandby()
    leader.path = 'held'
    await pass(1_000)
    // The renewal has reached the store; only its answer is late.
    await stand(leader, 20_000, () => expect(leader.lease.mayPublish()).toBe(false))
    expect(standby.journal.isLeader).toBe(true)
    world.model.row = { epoch: 1, holder: 'candidate 0', expiresAt: world.model.nowMilliseconds }
    leader.open()
    leader.path = 'held'
    await settle()
    expect(leader.lease.mayPublish()).toBe(false)
    expect(leader.lease.state.role).toBe('paused')
  })

  it.each(['refused', 'held'] as const)(
    'a leader that was stopped and has no store leads no more, and again when the store answers (%s)',
    async (path) => {
      const leader = candidate()
      await pass(1_000)
      leader.path = path
      await stand(leader, 20_000)
      await pass(leaseMilliseconds - 500)
      expect([leader.lease.mayPublish(), leader.lease.state.role]).toEqual([false, 'paused'])
      await pass(1_000)
      expect([leader.lease.mayPublish(), leader.lease.state.role]).toEqual([false, 'standby'])
      await pass(30_000)
      leader.open()
      await pass(5_000)
      expect(leader.lease.mayPublish()).toBe(true)
      expect(leader.journal.entries).toEqual(['taken 1', 'deposed unconfirmed', 'taken 2'])
    },
  )

  it('a leader that was stopped for less than the lease continues, even without the store', async () => {
    const leader = candidate()
    await pass(1_000)
    leader.path = 'refused'
    await pass(10_000)
    await stand(leader, leaseMilliseconds - 500, () => expect(leader.lease.mayPublish()).toBe(true))
    expect(leader.lease.mayPublish()).toBe(true)
  })

  it('a leader that was stopped with its machine, whose monotonic clock stood, asks too', async () => {
    const [leader] = await leaderAndStandby()
    leader.clock.stepWall(60_000)
    expect(leader.lease.mayPublish()).toBe(false)
    await pass(500)
    expect(leader.lease.mayPublish()).toBe(true)
  })
})

describe('a store without other processes', () => {
  it('a store without other processes is asked once: the lease is taken at once, and neither renewed nor confirmed', async () => {
    world.model.row = { epoch: 7, holder: 'a process that was killed', expiresAt: Number.POSITIVE_INFINITY }
    const only = candidate(true)
    await settle()
    expect(only.journal.entries).toEqual(['taken 8'])
    await pass(60_000)
    expect(only.requests).toBe(1)
    only.path = 'refused'
    await stand(only, 60_000, () => expect(only.lease.mayPublish()).toBe(true))
  })
})

/**
 * The end of all faults: every process lives, executors are well and report what is so, requests are decided, nothing is
 * paused. Then everything becomes final, or waits because its profile owes money.
 */

import type { Db } from '../../../src/platform/store/db.ts'
import { passTime } from '../../money/orchestrations/kills/time.ts'
import { releaseOf } from '../../support/release.ts'
import { type Json, pause } from './nodes.ts'
import { NOTHING_PAUSED } from './other-actions.ts'
import { reportTruth } from './payout-actions.ts'
import { EXECUTORS, type World } from './world.ts'

/** The store; of the embedded one while no process runs. */
export type WithStore = <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>

const ROUNDS_MAX = 40
const LOOKS = 10
const LOOK_MILLISECONDS = 300
/** Of a claim that the last executor makes; nothing may end it. */
const LEASE_SECONDS = 3_600
const DAY_SECONDS = 90_000

export async function drain(world: World, withStore: WithStore): Promise<void> {
  const { nodes, bank, random } = world
  await nodes.calm()
  bank.isWell = true
  await nodes.stop()
  await nodes.start()
  await decideRequests(world)
  await world.act('/controls', NOTHING_PAUSED, 'PATCH', true)
  if (random.chance(0.3)) await withStore((db) => passTime(db, DAY_SECONDS))
  for (let round = 0; ; round++) {
    await releaseReviewed(world)
    await payWaiting(world)
    let left: readonly string[] = []
    for (let look = 0; look < LOOKS; look++) {
      left = await unfinished(world)
      if (left.length === 0) return
      await pause(LOOK_MILLISECONDS)
    }
    if (round === ROUNDS_MAX) throw new Error(`not final: ${left.join('\n')}`)
    await withStore((db) => passTime(db, 0))
  }
}

/** Requests that are still undecided. */
async function decideRequests(world: World): Promise<void> {
  for (const { id, requested_by } of await world.list('/change-requests?status=PENDING')) {
    const { status, body } = await world.decline(requested_by, id)
    if (status !== 200) world.violations.push(`a request was not withdrawn: ${status} ${JSON.stringify(body)}`)
  }
}

/** Payments that wait for a person; a debt still holds them. */
async function releaseReviewed(world: World): Promise<void> {
  for (const record of await world.list('/orchestrations?waiting_for=HOLD')) {
    if (record.step === 'deliver')
      await world.act(`/orchestrations/${record.id}/release`, releaseOf(record), 'POST', true)
  }
}

/** An executor pays all that there is to claim, and people report what became of the others. */
async function payWaiting(world: World): Promise<void> {
  const { bank } = world
  const [executor] = EXECUTORS
  for (let misses = 0; misses < 4; ) {
    const claim = { executor, limit: 100, lease_seconds: LEASE_SECONDS }
    const { status, body } = await world.program(executor, 'POST', '/deliveries/claim', claim)
    if (status !== 200) throw new Error(`a claim was answered ${status}: ${JSON.stringify(body)}`)
    // A process with a webhook hands out less than one without.
    misses = body.items.length === 0 ? misses + 1 : 0
    for (const item of body.items) await reportTruth(world, { ...item, status: 'SENT' }, true, true)
  }
  for (const status of ['SENT', 'NEEDS_OPERATOR']) {
    for (const delivery of await world.list(`/deliveries?status=${status}`))
      await reportTruth(world, delivery, true, true)
  }
  for (const delivery of await world.list('/deliveries?status=FAILED')) {
    if (!bank.paid.has(delivery.id)) continue
    if (!bank.deniedUntruly.has(delivery.id)) {
      world.violations.push(
        `money was returned that was paid: ${JSON.stringify(await world.read(`/deliveries/${delivery.id}`))}`,
      )
    }
    await reportTruth(world, delivery, true, true)
  }
}

/** What is neither final nor waits because its profile owes money. */
async function unfinished(world: World): Promise<readonly string[]> {
  const owing = new Set<string>()
  for (const { profiles } of world.customers) {
    for (const id of profiles) {
      const { items } = await world.read(`/profiles/${id}/balances`)
      if (items.some(({ receivable }: Json) => receivable !== '0')) owing.add(id)
    }
  }
  const isExplained = ({ profile_id, waiting_for }: Json) => waiting_for === 'HOLD' && owing.has(profile_id)
  const open = await world.list('/orchestrations?status=PROCESSING')
  const lists = ['WAITING', 'CLAIMED', 'SENT', 'NEEDS_OPERATOR'].map((status) =>
    world.list(`/deliveries?status=${status}`),
  )
  const deliveries = (await Promise.all(lists)).flat()
  return [...open, ...deliveries].filter((each) => !isExplained(each)).map((each) => JSON.stringify(each))
}

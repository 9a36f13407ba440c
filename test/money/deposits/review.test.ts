/** `review_above.deposits`: a large deposit is held, runs no rule and starts nothing, until the operator releases it. */
import { beforeAll, describe, expect, it } from 'vitest'
import { OPERATOR_TOKEN } from '../../support/rest.ts'
import {
  auditOf,
  balancesOf,
  newAddress,
  newProfile,
  newRule,
  postingsOf,
  releaseDeposit,
  report,
  reportOf,
  transferOf,
  useDepositsNode,
  wireOf,
} from './deposits-node.ts'

const stand = useDepositsNode()
const REVIEWED = { status: 'COMPLETED', secondary_status: 'HELD', disposition: { code: 'REVIEW' } }

beforeAll(() => {
  limit('100')
})

/** As a reload of the configuration does. */
function limit(amount: string): void {
  const { live } = stand.node
  const limits = new Map([
    ['USDC', amount],
    ['USD', amount],
  ])
  live.config = { ...live.config, 'review_above.deposits': limits }
}

const ask = (id: string, verb: string, body?: object) => stand.node.operator('POST', `/deposits/${id}/${verb}`, body)

/** A release that succeeds. */
async function release(id: string) {
  const answer = await releaseDeposit(stand, id)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

/** A call that succeeds. */
async function act(id: string, verb: string, body?: object) {
  const answer = await ask(id, verb, body)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

async function waitingForReview(): Promise<number> {
  const response = await fetch(`${stand.node.operatorUrl}/metrics`, {
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
  })
  return Number(/^tidegate_deposits_in_review (\d+)$/m.exec(await response.text())?.[1])
}

describe('a deposit above review_above.deposits', () => {
  it('a deposit above review_above.deposits is held and starts nothing, and the rule runs when the operator releases it', async () => {
    const profileId = await newProfile(stand)
    const rule = await newRule(stand, profileId)
    const body = reportOf(rule.source.crypto.address, { amount: '100.000001' })
    const held = await report(stand, body)
    expect(held).toMatchObject(REVIEWED)
    expect(held.orchestration_id).toBeUndefined()
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', in_transit: '0', held: '100000001' })
    expect(await transferOf(stand, held.id)).toMatchObject({ secondary_status: 'HELD', disposition: 'REVIEW' })
    // A report of another source, and a repeated one, release nothing.
    expect(await report(stand, { ...body, source: 'other' })).toMatchObject(REVIEWED)
    const released = await release(held.id)
    expect(released).toMatchObject({ disposition: { code: 'ORCHESTRATED' }, orchestration_rule_id: rule.id })
    expect(released.secondary_status).toBeUndefined()
    expect(await balancesOf(stand, profileId)).toMatchObject({ held: '0', in_transit: '100000001' })
    expect(await release(held.id)).toEqual(released)
    expect(await auditOf(stand, held.id)).toEqual(['deposit.create', 'deposit.release'])
  })

  it('a deposit above review_above.deposits is held when it becomes COMPLETED after it was seen PENDING', async () => {
    const profileId = await newProfile(stand)
    const rule = await newRule(stand, profileId)
    const body = reportOf(rule.source.crypto.address, { amount: '101', status: 'PENDING' })
    const pending = await report(stand, body)
    expect(pending.secondary_status).toBeUndefined()
    // The release of the operator's own hold is not the review: the amount was not final then.
    await act(pending.id, 'hold', { reason: 'to be checked' })
    await release(pending.id)
    expect(await report(stand, { ...body, status: 'COMPLETED' })).toMatchObject(REVIEWED)
    expect(await transferOf(stand, pending.id)).toMatchObject({ status: 'COMPLETED', secondary_status: 'HELD' })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', held: '101000000' })
  })

  it('a deposit above review_above.deposits is held when the operator assigns it, and its rules run at the release', async () => {
    const profileId = await newProfile(stand)
    const { id } = await report(stand, wireOf({}, { amount: '500' }))
    expect(await act(id, 'assign', { profile_id: profileId, run_rules: false })).toMatchObject(REVIEWED)
    expect(await transferOf(stand, id)).toMatchObject({ secondary_status: 'HELD', disposition: 'REVIEW' })
    expect(await balancesOf(stand, profileId, 'USD')).toMatchObject({ available: '0', held: '50000' })
    expect(await release(id)).toMatchObject({ disposition: { code: 'ASSIGNED' } })
    expect(await postingsOf(stand, id)).toEqual([
      'external -> unattributed 50000',
      'unattributed -> held 50000',
      'held -> available 50000',
    ])
  })

  it('a deposit above review_above.deposits can be rejected and reversed while it waits, and counts as waiting until then', async () => {
    const profileId = await newProfile(stand)
    const { id } = await report(stand, reportOf(await newAddress(stand, profileId), { amount: '7000' }))
    const waiting = await waitingForReview()
    expect(waiting).toBeGreaterThan(0)
    await act(id, 'reject', { reason: 'not a customer of ours' })
    expect(await waitingForReview()).toBe(waiting - 1)
    await act(id, 'reverse', { reason: 'returned by the bank' })
    expect(await balancesOf(stand, profileId)).toEqual({ available: '0', in_transit: '0', held: '0', receivable: '0' })
  })
  it('a deposit that only its review holds is credited when a correction makes it smaller, and reviewed again when not', async () => {
    const profileId = await newProfile(stand)
    const { id } = await report(stand, reportOf(await newAddress(stand, profileId), { amount: '7000' }))
    const still = await act(id, 'correct', { amount: '700', reason: 'two zeros too many' })
    expect(still).toMatchObject({ ...REVIEWED, gates: [{ code: 'REVIEW' }] })
    const free = await act(id, 'correct', { amount: '70', reason: 'another zero too many' })
    expect(free).toMatchObject({ amount: '70', disposition: { code: 'CORRECTED' } })
    expect([free.secondary_status, free.gates]).toEqual([undefined, undefined])
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '70000000', held: '0' })
  })

  it('a correction keeps a person’s hold with its reason', async () => {
    const profileId = await newProfile(stand)
    const { id } = await report(stand, reportOf(await newAddress(stand, profileId), { amount: '7000' }))
    await act(id, 'hold', { reason: 'a stolen card' })
    const corrected = await act(id, 'correct', { amount: '70', reason: 'two zeros too many' })
    const hold = { code: 'OPERATOR_HOLD', detail: 'a stolen card' }
    expect(corrected).toMatchObject({ secondary_status: 'HELD', gates: [hold] })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', held: '70000000' })
  })
})

describe('a deposit at or below review_above.deposits', () => {
  it('a deposit at or below review_above.deposits is credited at once, as is one of an asset without a limit', async () => {
    const profileId = await newProfile(stand)
    const address = await newAddress(stand, profileId)
    expect(await report(stand, reportOf(address))).toMatchObject({ disposition: { code: 'NO_RULE' } })
    const large = reportOf(address, { asset: 'USDG', amount: '123456789012' })
    expect(await report(stand, large)).toMatchObject({ disposition: { code: 'NO_RULE' } })
  })

  it('a deposit at or below review_above.deposits is decided by the limit in force when it is credited', async () => {
    const profileId = await newProfile(stand)
    const address = await newAddress(stand, profileId)
    const body = reportOf(address)
    await report(stand, body)
    limit('99.999999')
    // What was credited stays credited.
    expect(await report(stand, body)).toMatchObject({ disposition: { code: 'NO_RULE' } })
    expect(await report(stand, reportOf(address))).toMatchObject(REVIEWED)
    limit('0')
    expect(await report(stand, reportOf(address, { amount: '0.000001' }))).toMatchObject(REVIEWED)
    limit('100')
  })
})

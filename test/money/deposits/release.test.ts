/** Releases of held deposits: gates and the version that was seen. A deposit stays held while one gate is closed. */
import { beforeAll, describe, expect, it } from 'vitest'
import {
  balancesOf,
  newAddress,
  newProfile,
  newRule,
  report,
  reportOf,
  transferOf,
  useDepositsNode,
} from './deposits-node.ts'

const stand = useDepositsNode()
const REVIEW = { code: 'REVIEW', detail: 'the amount is above review_above.deposits' }
const HOLD = { code: 'OPERATOR_HOLD', detail: 'to be checked' }

beforeAll(() => {
  const { live } = stand.node
  live.config = { ...live.config, 'review_above.deposits': new Map([['USDC', '100']]) }
})

const operator = (id: string, verb: string, body: object) =>
  stand.node.operator('POST', `/deposits/${id}/${verb}`, body)
const hold = (id: string) => operator(id, 'hold', { reason: 'to be checked' })
const release = (id: string, gates: readonly string[], version: string) =>
  operator(id, 'release', { gates, version, reason: 'checked' })

async function inReview() {
  const profileId = await newProfile(stand)
  const rule = await newRule(stand, profileId)
  return { profileId, rule, deposit: await report(stand, reportOf(rule.source.crypto.address, { amount: '200' })) }
}

describe('a deposit that two gates hold', () => {
  it('a deposit in review and on hold needs both gates opened, and its rule runs then', async () => {
    const { profileId, rule, deposit } = await inReview()
    expect(deposit).toMatchObject({ secondary_status: 'HELD', disposition: { code: 'REVIEW' }, gates: [REVIEW] })
    const held = (await hold(deposit.id)).body
    expect(held).toMatchObject({ secondary_status: 'HELD', gates: [REVIEW, HOLD] })
    expect((await hold(deposit.id)).body).toEqual(held)
    const half = (await release(deposit.id, ['REVIEW'], held.version)).body
    expect(half).toMatchObject({ secondary_status: 'HELD', disposition: { code: 'HELD' }, gates: [HOLD] })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', held: '200000000' })
    const free = (await release(deposit.id, ['OPERATOR_HOLD'], half.version)).body
    expect(free).toMatchObject({ disposition: { code: 'ORCHESTRATED' }, orchestration_rule_id: rule.id })
    expect(free.gates).toBeUndefined()
    expect(await balancesOf(stand, profileId)).toMatchObject({ held: '0', in_transit: '200000000' })
  })

  it('a deposit held before it is credited waits for its review after the release from the hold', async () => {
    const profileId = await newProfile(stand)
    const body = reportOf(await newAddress(stand, profileId), { amount: '200', status: 'PENDING' })
    const { id } = await report(stand, body)
    await hold(id)
    const credited = await report(stand, { ...body, status: 'COMPLETED' })
    expect(credited).toMatchObject({ disposition: { code: 'HELD' }, gates: [REVIEW, HOLD] })
    const reviewed = (await release(id, ['OPERATOR_HOLD'], credited.version)).body
    expect(reviewed).toMatchObject({ secondary_status: 'HELD', disposition: { code: 'REVIEW' }, gates: [REVIEW] })
    expect(await transferOf(stand, id)).toMatchObject({ secondary_status: 'HELD', disposition: 'REVIEW' })
    const free = (await release(id, ['REVIEW'], reviewed.version)).body
    expect(free).toMatchObject({ disposition: { code: 'NO_RULE' } })
    // A later hold closes its gate again, and the review stays done.
    const again = (await hold(id)).body
    expect(again.gates).toEqual([HOLD])
    expect((await release(id, ['OPERATOR_HOLD'], again.version)).body.secondary_status).toBeUndefined()
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '200000000', held: '0' })
  })
})

describe('each pair of the gates that hold a deposit', () => {
  const configure = (url: string) => {
    const { live } = stand.node
    live.config = { ...live.config, 'screening.url': url }
  }
  const pairs = (['REVIEW', 'OPERATOR_HOLD'] as const).flatMap((released) =>
    (['REVIEW', 'OPERATOR_HOLD', 'SCREENING'] as const)
      .filter((code) => code !== released)
      .map((other) => [released, other] as const),
  )

  it.each(pairs)('a deposit released from %s is still held by %s', async (released, other) => {
    const [codes, names] = [[released, other], new Set<string>([released, other])]
    // No hook answers there.
    configure(names.has('SCREENING') ? 'http://127.0.0.1:9/' : '')
    const profileId = await newProfile(stand)
    const rule = await newRule(stand, profileId)
    const amount = names.has('REVIEW') ? '200' : '50'
    const reported = reportOf(rule.source.crypto.address, { amount, status: 'PENDING' })
    const { id } = await report(stand, reported)
    if (names.has('OPERATOR_HOLD')) await hold(id)
    const deposit = await report(stand, { ...reported, status: 'COMPLETED' })
    const gatesOf = (of: { readonly gates?: readonly { readonly code: string }[] }) =>
      (of.gates ?? []).map(({ code }) => code)
    expect(gatesOf(deposit).toSorted()).toEqual(codes.toSorted())
    const half = (await release(deposit.id, [released], deposit.version)).body
    expect(half).toMatchObject({ secondary_status: 'HELD' })
    expect(gatesOf(half)).toEqual([other])
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', in_transit: '0' })
    if (other === 'SCREENING') {
      const { items } = (await stand.node.operator('GET', `/screening?movement_id=${deposit.id}`)).body
      const decided = await stand.node.operator('POST', `/screening/${items[0].id}/decide`, {
        decision: 'ALLOW',
        note: 'checked',
      })
      expect(decided.status, decided.text).toBe(200)
    } else await release(deposit.id, [other], half.version)
    const free = (await stand.node.operator('GET', `/deposits/${deposit.id}`)).body
    expect(free).toMatchObject({ disposition: { code: 'ORCHESTRATED' } })
    configure('')
  })
})

describe('a release of a deposit', () => {
  it('a release is refused for another version, for a gate that is not closed, and for one that it can never open', async () => {
    const { deposit } = await inReview()
    const changed = await release(deposit.id, ['REVIEW'], '2026-01-01T00:00:00.000Z')
    expect(changed.body).toMatchObject({ status: 409, code: 'record_changed' })
    const open = await release(deposit.id, ['OPERATOR_HOLD'], deposit.version)
    expect(open.body).toMatchObject({ status: 409, code: 'invalid_state', meta: { current: 'HELD' } })
    for (const gate of ['SCREENING', 'DESTINATION', 'CUSTOMER_DISABLED', 'ACCOUNT_NOT_APPROVED', 'PAUSED']) {
      expect((await release(deposit.id, [gate], deposit.version)).status).toBe(400)
    }
    expect((await operator(deposit.id, 'release', {})).status).toBe(400)
    expect((await stand.node.operator('GET', `/deposits/${deposit.id}`)).body).toEqual(deposit)
  })

  it('a released deposit that is corrected is reviewed again', async () => {
    const { deposit } = await inReview()
    await release(deposit.id, ['REVIEW'], deposit.version)
    const corrected = await operator(deposit.id, 'correct', { amount: '300', reason: 'the bank was wrong' })
    expect(corrected.body).toMatchObject({ secondary_status: 'HELD', gates: [REVIEW] })
  })

  it.each([
    ['CUSTOMER_DISABLED', 'customers', { enabled: false }, { enabled: true }],
    ['ACCOUNT_BLOCKED', 'accounts', { admin_disabled: true }, { admin_disabled: false }],
    ['PAUSED', 'controls', { paused: { assets: ['USDC'] } }, { paused: { assets: [] } }],
  ] as const)(
    'a deposit released from its review starts nothing while %s is closed',
    async (code, noun, close, open) => {
      const { deposit } = await inReview()
      const ids = { customers: deposit.customer_id, accounts: deposit.account_id, controls: undefined }
      const path = ids[noun] === undefined ? `/${noun}` : `/${noun}/${ids[noun]}`
      expect((await stand.node.operator('PATCH', path, close)).status).toBe(200)
      const released = (await release(deposit.id, ['REVIEW'], deposit.version)).body
      expect(released).toMatchObject({ disposition: { code } })
      expect(released.orchestration_id).toBeUndefined()
      await stand.node.operator('PATCH', path, open)
    },
  )
})

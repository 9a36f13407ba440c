/** A deposit that was reported or assigned wrongly is corrected: its money, what customers see of it, and its later reports. */
import { describe, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ETHEREUM_ADDRESS, newAccount } from '../../support/rules.ts'
import {
  auditOf,
  balancesOf,
  newAddress,
  newHash,
  newProfile,
  newReporter,
  newRule,
  postingsOf,
  readReportOf,
  releaseDeposit,
  report,
  reportOf,
  transferOf,
  useDepositsNode,
  wireOf,
} from './deposits-node.ts'

const stand = useDepositsNode()
const reason = 'the report was wrong'

const ask = (id: string, verb: string, body?: object) => stand.node.operator('POST', `/deposits/${id}/${verb}`, body)

async function act(id: string, verb: string, body?: object) {
  const answer = await ask(id, verb, body)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

const correct = (id: string, terms: object) => act(id, 'correct', { reason, ...terms })

/** 5.05 USDC, which should have been 5.5. */
async function wrongDeposit(changes: Readonly<Record<string, unknown>> = {}) {
  const profileId = await newProfile(stand)
  const body = reportOf(await newAddress(stand, profileId), { amount: '5.05', ...changes })
  return { profileId, body, deposit: await report(stand, body) }
}

/** What the customer of a profile sees of a deposit. */
async function entriesOf(profileId: string, groupId: string) {
  const { rows } = await sql<Record<string, string | null>>`
    select direction, asset, amount, status, secondary_status, destination_address from transfers
    where profile_id = ${profileId} and group_id = ${groupId} order by created_at, id
  `.execute(stand.node.db.tables())
  return rows.map(({ direction, amount, asset, status, secondary_status }) =>
    [direction, amount, asset, status, secondary_status].filter((word) => word !== null).join(' '),
  )
}

/** The orchestration of a deposit with its money in transit. */
async function orchestrationsOf(depositId: string) {
  const { rows } = await sql<Record<string, unknown>>`
    select status, source_amount, deposit_revision, source_transfer_id from orchestrations
    where deposit_id = ${depositId} order by deposit_revision
  `.execute(stand.node.db.tables())
  return rows
}

const bucket = (available: string, others: object = {}) => ({
  available,
  in_transit: '0',
  held: '0',
  receivable: '0',
  ...others,
})

describe('a correction of an amount', () => {
  it('a correction reverses the credit and makes another one, with the entries that the customer sees', async () => {
    const { profileId, body, deposit } = await wrongDeposit()
    const corrected = await correct(deposit.id, { amount: '5.5' })
    expect(corrected).toMatchObject({ id: deposit.id, amount: '5.5', status: 'COMPLETED', reason })
    expect(corrected.disposition).toEqual({ code: 'CORRECTED' })
    expect(corrected.corrections).toEqual([
      { at: expect.any(String), before: { asset: 'USDC', amount: '5.05', profile_id: profileId }, reason },
    ])
    expect(await balancesOf(stand, profileId)).toEqual(bucket('5500000'))
    expect(await postingsOf(stand, deposit.id)).toEqual([
      'external -> available 5050000',
      'available -> external 5050000',
      'external -> available 5500000',
    ])
    expect(await entriesOf(profileId, deposit.id)).toEqual([
      'CREDIT 5050000 USDC COMPLETED REVERSED',
      'DEBIT 5050000 USDC COMPLETED',
      'CREDIT 5500000 USDC COMPLETED',
    ])
    expect(await correct(deposit.id, { amount: '5.5' })).toEqual(corrected)
    expect(await auditOf(stand, deposit.id)).toEqual(['deposit.create', 'deposit.correct'])
    const { items } = (await stand.node.operator('GET', `/deposits?profile_id=${profileId}`)).body
    expect(items).toEqual([corrected])
    // Reports of both amounts are known, from any source, and raise no alarm; a third one does.
    const { reporter, lines } = newReporter(stand)
    const reports = ['5.05', '5.5', '7'].map((amount) =>
      readReportOf(stand, { ...body, amount, source: `other ${amount}`, external_id: newId() }),
    )
    expect(await reporter.report(reports)).toMatchObject([
      { status: 'known', deposit: { amount: '5.5' } },
      { status: 'known', deposit: { amount: '5.5' } },
      { problem: { code: 'deposit_conflict', message: expect.stringContaining('`correct`') } },
    ])
    expect(lines).toHaveLength(1)
    const { entries } = (await stand.node.operator('GET', `/deposits/${deposit.id}/trace`)).body
    expect(entries.map(({ text }: { text: string }) => text)).toContainEqual(
      expect.stringMatching(/^The operator corrects the deposit \(.*"amount":"5.05"/),
    )
  })

  it('an amount correction leaves an orchestration that has started, and the new credit repays the debt first', async () => {
    const profileId = await newProfile(stand)
    const rule = await newRule(stand, profileId)
    const deposit = await report(stand, reportOf(rule.source.crypto.address, { amount: '5.05' }))
    expect(deposit.disposition).toEqual({ code: 'ORCHESTRATED' })
    await correct(deposit.id, { amount: '5.5' })
    expect(await balancesOf(stand, profileId)).toEqual(bucket('450000', { in_transit: '5050000' }))
    await correct(deposit.id, { amount: '5' })
    expect(await balancesOf(stand, profileId)).toEqual(bucket('0', { in_transit: '5050000', receivable: '50000' }))
    const owing = await correct(deposit.id, { amount: '5.1', run_rules: true })
    expect(owing.disposition).toEqual({ code: 'RECEIVABLE' })
    expect(await balancesOf(stand, profileId)).toEqual(bucket('50000', { in_transit: '5050000' }))
    expect(await orchestrationsOf(deposit.id)).toMatchObject([{ status: 'PROCESSING', source_amount: '5050000' }])
    await act(deposit.id, 'reverse', { reason: 'recalled' })
    expect(await balancesOf(stand, profileId)).toEqual(bucket('0', { in_transit: '5050000', receivable: '5050000' }))
  })

  it('an amount correction runs the rules on request, with an orchestration of the new credit', async () => {
    const { profileId, deposit } = await wrongDeposit()
    const source = { profile: { profile_id: profileId } }
    await newRule(stand, profileId, { source })
    const corrected = await correct(deposit.id, { amount: '5.5', run_rules: true })
    expect(corrected.disposition).toEqual({ code: 'ORCHESTRATED' })
    expect(await balancesOf(stand, profileId)).toEqual(bucket('0', { in_transit: '5500000' }))
    const [started] = await orchestrationsOf(deposit.id)
    expect(started).toMatchObject({ source_amount: '5500000', deposit_revision: 1 })
    expect(await transferOf(stand, started?.source_transfer_id as string)).toMatchObject({
      amount: '5500000',
      disposition: 'ORCHESTRATED',
    })
    await act(deposit.id, 'reverse', { reason: 'recalled' })
    expect(await balancesOf(stand, profileId)).toEqual(bucket('0'))
    await correct(deposit.id, { amount: '6', run_rules: true })
    const filtered = await stand.node.operator('GET', `/orchestrations?deposit_id=${deposit.id}`)
    expect(filtered.body.items).toHaveLength(2)
  })

  it('an amount correction works after a reversal, while held, and before the payment is final; not after a return', async () => {
    const { profileId, body, deposit } = await wrongDeposit()
    await act(deposit.id, 'reverse', { reason: 'wrong' })
    const same = await correct(deposit.id, { amount: '5.05' })
    expect(same.secondary_status).toBeUndefined()
    expect(await balancesOf(stand, profileId)).toEqual(bucket('5050000'))
    await act(deposit.id, 'hold', { reason: 'to be checked' })
    expect(await correct(deposit.id, { amount: '5.5' })).toMatchObject({ secondary_status: 'HELD' })
    expect(await balancesOf(stand, profileId)).toEqual(bucket('0', { held: '5500000' }))
    const released = (await releaseDeposit(stand, deposit.id)).body
    expect(released.disposition).toEqual({ code: 'CORRECTED' })
    await act(deposit.id, 'return', { reason: 'unwanted', crypto: { address: ETHEREUM_ADDRESS, network: 'ETHEREUM' } })
    expect(await ask(deposit.id, 'correct', { reason, amount: '6' })).toMatchObject({
      status: 409,
      body: { code: 'invalid_state', meta: { current: 'RETURNED' } },
    })
    const pending = reportOf(body.crypto.address, { amount: '1', status: 'PENDING' })
    const { id } = await report(stand, pending)
    expect(await correct(id, { amount: '2' })).toMatchObject({ status: 'PENDING', amount: '2' })
    expect(await entriesOf(profileId, id)).toEqual(['CREDIT 2000000 USDC PENDING'])
    expect(await report(stand, { ...pending, status: 'COMPLETED' })).toMatchObject({ status: 'COMPLETED', amount: '2' })
    expect(await postingsOf(stand, id)).toEqual(['external -> available 2000000'])
  })

  it('an amount correction of a deposit without a profile stays without one', async () => {
    const deposit = await report(stand, wireOf({ remittance: 'rent' }))
    expect(await correct(deposit.id, { amount: '90' })).toMatchObject({ disposition: { code: 'UNATTRIBUTED' } })
    expect(await postingsOf(stand, deposit.id)).toEqual([
      'external -> unattributed 10000',
      'unattributed -> external 10000',
      'external -> unattributed 9000',
    ])
    const profileId = await newProfile(stand)
    await act(deposit.id, 'assign', { profile_id: profileId })
    expect(await entriesOf(profileId, deposit.id)).toEqual(['CREDIT 9000 USD COMPLETED'])
  })

  it('an amount correction that is invalid names its faults', async () => {
    const { deposit } = await wrongDeposit()
    const faults = async (terms: object) => (await ask(deposit.id, 'correct', { reason, ...terms })).body.errors
    expect(await faults({})).toMatchObject([{ pointer: '' }])
    expect(await faults({ reason: '', amount: '1' })).toMatchObject([{ pointer: '/reason' }])
    expect(await faults({ amount: '0' })).toMatchObject([{ pointer: '/amount' }])
    expect(await faults({ amount: '0.0000001' })).toMatchObject([{ detail: 'has more than 6 decimals' }])
    expect(await faults({ asset: 'NOPE' })).toMatchObject([{ pointer: '/asset' }])
    expect(await faults({ asset: 'BTC' })).toMatchObject([{ pointer: '/asset', detail: 'is not carried by ETHEREUM' }])
    expect(await faults({ profile_id: newId() })).toMatchObject([{ pointer: '/profile_id' }])
    expect((await correct(deposit.id, { asset: 'ETH' })).amount).toBe('5.05')
  })

  it('an amount correction is refused after twenty, and does not advise a reversal, which would be final', async () => {
    const { profileId, body, deposit } = await wrongDeposit()
    for (let amount = 6; amount < 26; amount++) await correct(deposit.id, { amount: String(amount) })
    const refusal = {
      status: 409,
      body: {
        code: 'invalid_state',
        detail: expect.stringMatching(/corrected 20 times.* its terms can no longer change/),
      },
    }
    expect(await ask(deposit.id, 'correct', { amount: '5.5', reason })).toMatchObject(refusal)
    expect(await balancesOf(stand, profileId)).toEqual(bucket('25000000'))
    await act(deposit.id, 'reverse', { reason })
    expect(await ask(deposit.id, 'correct', { amount: '25', reason })).toMatchObject(refusal)
    await report(stand, body)
    expect(await balancesOf(stand, profileId)).toEqual(bucket('0'))
  })

  it('an amount correction by two people at the same moment is made once, and reports meanwhile are known', async () => {
    const { profileId, body, deposit } = await wrongDeposit()
    const answers = await Promise.all([
      ask(deposit.id, 'correct', { reason, amount: '5.5' }),
      stand.node.operator('POST', '/deposits', { ...body, source: 'node' }),
      ask(deposit.id, 'correct', { reason, amount: '5.5' }),
      stand.node.operator('POST', '/deposits', { ...body, source: 'watcher' }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await balancesOf(stand, profileId)).toEqual(bucket('5500000'))
    expect((await correct(deposit.id, { amount: '5.5' })).corrections).toHaveLength(1)
  })
})

describe('a correction of a profile', () => {
  it('a profile correction moves the money to another customer, and the first one sees nothing of that customer', async () => {
    const { profileId, body, deposit } = await wrongDeposit({ amount: '100' })
    const other = await stand.node.newCustomer()
    const right = (await newAccount(other, newId())).profileId
    const corrected = await correct(deposit.id, { profile_id: right })
    expect(corrected).toMatchObject({ profile_id: right, disposition: { code: 'CORRECTED' } })
    expect(corrected.deposit_address_id).toBeUndefined()
    expect(await balancesOf(stand, profileId)).toEqual(bucket('0'))
    expect(await balancesOf(stand, right)).toEqual(bucket('100000000'))
    expect(await entriesOf(profileId, deposit.id)).toEqual([
      'CREDIT 100000000 USDC COMPLETED REVERSED',
      'DEBIT 100000000 USDC COMPLETED',
    ])
    expect(await entriesOf(right, deposit.id)).toEqual(['CREDIT 100000000 USDC COMPLETED'])
    const seen = await other.call('GET', `/v2/transfer/transfers?group_id=${deposit.id}`)
    expect(seen.body.items).toMatchObject([{ profile_id: right, amount: '100' }])
    expect(seen.text).not.toContain(body.crypto.address)
    // What happens next is shown to the one who has it.
    await act(deposit.id, 'hold', { reason: 'to be checked' })
    expect(await entriesOf(right, deposit.id)).toEqual(['CREDIT 100000000 USDC COMPLETED HELD'])
    await correct(deposit.id, { profile_id: profileId })
    expect(await entriesOf(right, deposit.id)).toEqual([
      'CREDIT 100000000 USDC COMPLETED REVERSED',
      'DEBIT 100000000 USDC COMPLETED',
    ])
    expect(await balancesOf(stand, profileId)).toEqual(bucket('0', { held: '100000000' }))
  })

  it("a profile correction makes reports with the right profile's address known, and other ones stay a conflict", async () => {
    const { profileId, body, deposit } = await wrongDeposit()
    const [right, third] = [await newProfile(stand), await newProfile(stand)]
    const [own, rights, thirds] = await Promise.all([profileId, right, third].map((each) => newAddress(stand, each)))
    const answers = async (address: string | undefined, amount: string) => {
      const crypto = { ...body.crypto, address }
      const { status } = await stand.node.operator('POST', '/deposits', { ...body, crypto, amount, source: 'node' })
      return status
    }
    expect(await answers(rights, '5.5')).toBe(409)
    // No person has decided anything yet: its own profile's other address is a contradiction too.
    expect(await answers(own, '5.05')).toBe(409)
    const corrected = await correct(deposit.id, { amount: '5.5', profile_id: right })
    expect(await answers(rights, '5.5')).toBe(200)
    // The terms before the correction, at the address that was reported and at another one of the same profile.
    expect(await answers(body.crypto.address, '5.05')).toBe(200)
    expect(await answers(own, '5.05')).toBe(200)
    expect(await answers(rights, '5.05')).toBe(409)
    expect(await answers(own, '5.5')).toBe(409)
    expect(await answers(thirds, '5.5')).toBe(409)
    expect(await answers(ETHEREUM_ADDRESS, '5.5')).toBe(409)
    expect(await answers(rights, '7')).toBe(409)
    expect((await stand.node.operator('GET', `/deposits/${deposit.id}`)).body).toEqual(corrected)
    expect(await balancesOf(stand, right)).toEqual(bucket('5500000'))
  })

  it("a profile correction makes a report with the right profile's memo known, and so does an assignment", async () => {
    const [wrong, right] = [await newProfile(stand), await newProfile(stand)]
    const memoOf = async (profileId: string) => {
      const source = { fiat: { network: 'WIRE', account_type: 'ABA' } }
      return (await newRule(stand, profileId, { source, source_asset: 'USD' })).source.fiat.memo_id
    }
    const [wrongs, rights] = [await memoOf(wrong), await memoOf(right)]
    const body = wireOf({ memo_id: wrongs })
    const { id } = await report(stand, body)
    await correct(id, { profile_id: right })
    const known = await report(stand, { ...body, fiat: { ...body.fiat, memo_id: rights } })
    expect(known).toMatchObject({ id, profile_id: right })
    const lost = wireOf({ memo_id: 'NO MEMO OF OURS' })
    const { id: lostId } = await report(stand, lost)
    await act(lostId, 'assign', { profile_id: right })
    const found = await report(stand, { ...lost, fiat: { ...lost.fiat, memo_id: rights } })
    expect(found).toMatchObject({ id: lostId, profile_id: right, disposition: { code: 'ASSIGNED' } })
  })

  it('a profile correction of a wrongly assigned wire leaves the spent amount as a debt', async () => {
    const [wrong, right] = [await newProfile(stand), await newProfile(stand)]
    const source = { profile: { profile_id: wrong } }
    await newRule(stand, wrong, { source, source_asset: 'USD', destination_asset: 'USDC' })
    const deposit = await report(stand, wireOf({ remittance: 'rent' }))
    await act(deposit.id, 'assign', { profile_id: wrong, run_rules: true })
    await correct(deposit.id, { profile_id: right })
    expect(await balancesOf(stand, wrong, 'USD')).toEqual(bucket('0', { in_transit: '10000', receivable: '10000' }))
    expect(await balancesOf(stand, right, 'USD')).toEqual(bucket('10000'))
  })
})

describe('the first COMPLETED report', () => {
  it('the first COMPLETED report replaces the terms of earlier reports, in the transfer that the customer has', async () => {
    const { profileId, body, deposit } = await wrongDeposit({ status: 'PENDING' })
    const final = await report(stand, { ...body, source: 'node', status: 'COMPLETED', amount: '5.5' })
    expect(final).toMatchObject({ id: deposit.id, status: 'COMPLETED', amount: '5.5' })
    expect(await entriesOf(profileId, deposit.id)).toEqual(['CREDIT 5500000 USDC COMPLETED'])
    expect(await postingsOf(stand, deposit.id)).toEqual(['external -> available 5500000'])
    const { items } = (await stand.node.operator('GET', `/audit?subject=${deposit.id}&order=ASC`)).body
    expect(items[1]).toMatchObject({ action: 'deposit.complete', detail: { replaced: { amount: '5.05' } } })
    // Another COMPLETED report that contradicts it is a conflict.
    expect((await stand.node.operator('POST', '/deposits', { ...body, status: 'COMPLETED' })).status).toBe(409)
  })

  it('the first COMPLETED report replaces the terms of a FAILED payment, and the hash of a payment that was replaced', async () => {
    const { profileId, body, deposit } = await wrongDeposit({ status: 'FAILED' })
    const tx_hash = newHash()
    const crypto = { ...body.crypto, tx_hash }
    const final = await report(stand, { ...body, crypto, status: 'COMPLETED', amount: '5.5' })
    expect(final).toMatchObject({ id: deposit.id, amount: '5.5', crypto: { tx_hash } })
    expect(await report(stand, reportOf(body.crypto.address, { source: 'node', amount: '5.5', crypto }))).toEqual(final)
    expect(await transferOf(stand, deposit.id)).toMatchObject({ crypto_tx_hash: tx_hash, status: 'COMPLETED' })
    expect(await balancesOf(stand, profileId)).toEqual(bucket('5500000'))
  })

  it("the first COMPLETED report to another profile's address is that profile's, and fails for the first one", async () => {
    const { profileId, body, deposit } = await wrongDeposit({ status: 'PENDING' })
    const right = await newProfile(stand)
    const crypto = { ...body.crypto, address: await newAddress(stand, right) }
    const final = await report(stand, { ...body, crypto, status: 'COMPLETED' })
    expect(final).toMatchObject({ id: deposit.id, profile_id: right })
    expect(await entriesOf(profileId, deposit.id)).toEqual(['CREDIT 5050000 USDC FAILED'])
    expect(await entriesOf(right, deposit.id)).toEqual(['CREDIT 5050000 USDC COMPLETED'])
    expect(await balancesOf(stand, right)).toEqual(bucket('5050000'))
  })
})

/** How deposits are credited: to whom, to which bucket, by which disposition, and what starts with it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/store/sql.ts'
import { RULES } from '../support/rules.ts'
import {
  auditOf,
  balancesOf,
  type DepositsNode,
  newAddress,
  newProfile,
  newRule,
  openDepositsNode,
  postingsOf,
  report,
  reportOf,
  transferOf,
  wireOf,
} from './deposits-node.ts'

let stand: DepositsNode
beforeAll(async () => {
  stand = await openDepositsNode()
})
afterAll(() => stand?.close())

async function orchestrationOf(depositId: string) {
  const { rows } = await sql<Record<string, unknown>>`
    select orchestrations.*, orchestration_queue.kind from orchestrations
    left join orchestration_queue on orchestration_queue.orchestration_id = orchestrations.id
    where deposit_id = ${depositId}
  `.execute(stand.node.db.tables())
  return rows[0]
}

describe('a deposit for a rule', () => {
  it('is reserved at once, and starts an orchestration', async () => {
    const profileId = await newProfile(stand)
    const rule = await newRule(stand, profileId, { identity_id: 'bob' })
    const body = reportOf(rule.source.crypto.address, { amount: '100.5', confirmations: 12 })
    const deposit = await report(stand, body)
    expect(deposit).toMatchObject({
      customer_id: stand.customer.customerId,
      profile_id: profileId,
      asset: 'USDC',
      amount: '100.5',
      status: 'COMPLETED',
      disposition: { code: 'ORCHESTRATED' },
      crypto: body.crypto,
      deposit_address_id: rule.source.crypto.address_id,
      orchestration_rule_id: rule.id,
      confirmations: 12,
      occurred_at: '2026-01-02T03:04:05.000Z',
    })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', in_transit: '100500000' })
    expect(await postingsOf(stand, deposit.id)).toEqual(['external -> in_transit 100500000'])
    expect(await orchestrationOf(deposit.id)).toMatchObject({
      id: deposit.orchestration_id,
      rule_id: rule.id,
      profile_id: profileId,
      identity_id: 'bob',
      source_asset: 'USDC',
      source_amount: '100500000',
      destination_asset: 'USD',
      status: 'PROCESSING',
      kind: 'convert',
      destination: { profile: { profile_id: profileId } },
    })
    expect(await transferOf(stand, deposit.id)).toMatchObject({
      profile_id: profileId,
      amount: '100500000',
      direction: 'CREDIT',
      type: 'CRYPTO_DEPOSIT',
      status: 'COMPLETED',
      disposition: 'ORCHESTRATED',
      crypto_tx_hash: body.crypto.tx_hash,
      confirmations: 12,
      group_id: deposit.id,
    })
    expect(await auditOf(stand, deposit.id)).toEqual(['deposit.create'])
  })

  it('is only credited when the rule was deleted before it is final', async () => {
    const profileId = await newProfile(stand)
    const rule = await newRule(stand, profileId)
    const body = reportOf(rule.source.crypto.address, { status: 'PENDING', confirmations: 1 })
    const pending = await report(stand, body)
    expect(pending).toMatchObject({ status: 'PENDING', profile_id: profileId })
    expect(pending.disposition).toBeUndefined()
    expect(await transferOf(stand, pending.id)).toMatchObject({ status: 'PENDING', disposition: null })
    expect(await postingsOf(stand, pending.id)).toEqual([])
    await stand.customer.call('DELETE', `${RULES}/${rule.id}`)
    const final = await report(stand, { ...body, status: 'COMPLETED', confirmations: 12 })
    expect(final).toMatchObject({ id: pending.id, status: 'COMPLETED', disposition: { code: 'RULE_NOT_ACTIVE' } })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '100000000', in_transit: '0' })
    const entry = { status: 'COMPLETED', disposition: 'RULE_NOT_ACTIVE', confirmations: 12 }
    expect(await transferOf(stand, pending.id)).toMatchObject(entry)
    expect(await auditOf(stand, pending.id)).toEqual(['deposit.create', 'deposit.complete'])
  })

  it('is credited by the other rules of the table', async () => {
    const profileId = await newProfile(stand)
    const rule = await newRule(stand, profileId)
    const { address } = rule.source.crypto
    const byBase = await report(stand, reportOf(address, { crypto: { network: 'BASE' } }))
    expect(byBase.disposition).toEqual({ code: 'NETWORK_MISMATCH' })
    const ether = await report(stand, reportOf(address.toLowerCase(), { asset: 'ETH', amount: '0.000000000000000001' }))
    expect(ether).toMatchObject({ disposition: { code: 'ASSET_MISMATCH' }, amount: '0.000000000000000001' })
    await stand.node.operator('PATCH', `/customers/${stand.customer.customerId}`, { enabled: false })
    const disabled = await report(stand, reportOf(address))
    await stand.node.operator('PATCH', `/customers/${stand.customer.customerId}`, { enabled: true })
    expect(disabled.disposition).toEqual({ code: 'CUSTOMER_DISABLED' })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '200000000', in_transit: '0' })
  })
})

describe('a deposit without a rule of its own', () => {
  it('is credited, or converted to what its address asks for, or by the oldest rule about the profile', async () => {
    const profileId = await newProfile(stand)
    const plain = await newAddress(stand, profileId)
    expect((await report(stand, reportOf(plain))).disposition).toEqual({ code: 'NO_RULE' })
    const metadata = { purpose: 'savings' }
    const target = await newAddress(stand, profileId, { conversion_target_asset: 'PYUSD', metadata })
    const converted = await report(stand, reportOf(target))
    expect(converted.disposition).toEqual({ code: 'ORCHESTRATED' })
    expect(await orchestrationOf(converted.id)).toMatchObject({ rule_id: null, destination_asset: 'PYUSD', metadata })
    expect(await transferOf(stand, converted.id)).toMatchObject({ metadata })
    const source = { profile: { profile_id: profileId } }
    const first = await newRule(stand, profileId, { source, destination_asset: 'USDG' })
    await newRule(stand, profileId, { source, destination_asset: 'USDP' })
    expect((await report(stand, reportOf(plain))).orchestration_rule_id).toBe(first.id)
    expect((await report(stand, reportOf(target))).orchestration_rule_id).toBeUndefined()
    await stand.customer.call('DELETE', `${RULES}/${first.id}`)
    const second = await report(stand, reportOf(plain))
    expect(await orchestrationOf(second.id)).toMatchObject({ destination_asset: 'USDP' })
    expect((await report(stand, reportOf(plain, { asset: 'PYUSD' }))).disposition).toEqual({ code: 'NO_RULE' })
  })

  it('of no known address is kept apart', async () => {
    const deposit = await report(stand, reportOf('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'))
    expect(deposit).toMatchObject({ status: 'COMPLETED', disposition: { code: 'UNATTRIBUTED' } })
    expect(deposit.profile_id).toBeUndefined()
    expect(await postingsOf(stand, deposit.id)).toEqual(['external -> unattributed 100000000'])
    expect(await transferOf(stand, deposit.id)).toBeUndefined()
  })
})

describe('money at a bank', () => {
  it('is known by its memo, also in what a bank makes of it', async () => {
    const profileId = await newProfile(stand)
    const wire = {
      source_asset: 'USD',
      destination_asset: 'USDC',
      source: { fiat: { network: 'WIRE', account_type: 'ABA' } },
    }
    const [rule, other] = [await newRule(stand, profileId, wire), await newRule(stand, profileId, wire)]
    const { memo_id: memo, deposit_instructions_id } = rule.source.fiat
    const exact = await report(stand, wireOf({ memo_id: memo }))
    expect(exact).toMatchObject({
      profile_id: profileId,
      deposit_instructions_id,
      disposition: { code: 'ORCHESTRATED' },
    })
    expect(exact.fiat).toMatchObject({ memo_id: memo, sender: 'Ann Example' })
    const text = `/RFB/inv.7 ${memo.slice(0, 5).toLowerCase()}-\r\n${memo.slice(5)} thanks`
    const mangled = await report(stand, wireOf({ remittance: text }))
    expect(mangled).toMatchObject({ profile_id: profileId, orchestration_rule_id: rule.id, fiat: { remittance: text } })
    const both = await report(stand, wireOf({ remittance: `${memo} ${other.source.fiat.memo_id}` }))
    expect(both.disposition).toEqual({ code: 'UNATTRIBUTED' })
    expect((await report(stand, wireOf({ remittance: 'rent' }))).disposition).toEqual({ code: 'UNATTRIBUTED' })
    const cubix = await report(stand, wireOf({ memo_id: memo, network: 'CUBIX' }))
    expect(cubix.disposition).toEqual({ code: 'NETWORK_MISMATCH' })
    expect(await transferOf(stand, cubix.id)).toMatchObject({ type: 'CUBIX_DEPOSIT', memo })
  })
})

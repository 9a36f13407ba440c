/** How deposits are credited: to whom, to which bucket, by which disposition, and what starts with it. */
import { describe, expect, it } from 'vitest'
import type { Converter } from '../../../src/money/orchestrations/convert.ts'
import { createStepMetrics } from '../../../src/money/orchestrations/metrics.ts'
import type { PricingContext } from '../../../src/money/orchestrations/pricing/context.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { bookOf, convertSettings, createRunner, statusesOf } from '../../support/orchestrations.ts'
import { RULES } from '../../support/rules.ts'
import {
  auditOf,
  balancesOf,
  newAddress,
  newProfile,
  newReporter,
  newRule,
  postingsOf,
  readReportOf,
  report,
  reportOf,
  transferOf,
  useDepositsNode,
  wireOf,
} from './deposits-node.ts'

const stand = useDepositsNode()

async function orchestrationOf(depositId: string) {
  const { rows } = await sql<Record<string, unknown>>`
    select orchestrations.*, orchestration_queue.kind from orchestrations
    left join orchestration_queue on orchestration_queue.orchestration_id = orchestrations.id
    where deposit_id = ${depositId}
  `.execute(stand.node.db.tables())
  return rows[0]
}

describe('a deposit for a rule', () => {
  it('a deposit for a rule is reserved at once, and starts an orchestration', async () => {
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

  it('a deposit for a rule is only credited when the rule was deleted before it is final', async () => {
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

  it('a deposit for a rule is credited by the other rules of the table', async () => {
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
  it('a deposit without its own rule is credited, converted for its address, or by the oldest rule about the profile', async () => {
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

  it('a deposit without a known address is kept apart', async () => {
    const deposit = await report(stand, reportOf('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'))
    expect(deposit).toMatchObject({ status: 'COMPLETED', disposition: { code: 'UNATTRIBUTED' } })
    expect(deposit.profile_id).toBeUndefined()
    expect(await postingsOf(stand, deposit.id)).toEqual(['external -> unattributed 100000000'])
    expect(await transferOf(stand, deposit.id)).toBeUndefined()
  })
})

describe('money at a bank', () => {
  it('money at a bank is recognised by its memo, also in a text that the bank has changed', async () => {
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
    expect(await transferOf(stand, mangled.id)).toMatchObject({ type: 'WIRE_DEPOSIT', memo })
    const both = await report(stand, wireOf({ remittance: `${memo} ${other.source.fiat.memo_id}` }))
    expect(both.disposition).toEqual({ code: 'UNATTRIBUTED' })
    expect((await report(stand, wireOf({ remittance: 'rent' }))).disposition).toEqual({ code: 'UNATTRIBUTED' })
    const cubix = await report(stand, wireOf({ memo_id: memo, network: 'CUBIX' }))
    expect(cubix.disposition).toEqual({ code: 'NETWORK_MISMATCH' })
    expect(await transferOf(stand, cubix.id)).toMatchObject({ type: 'CUBIX_DEPOSIT', memo })
  })
})

describe('a deposit that can be converted without waiting', () => {
  /** Converts what is reported as it is credited. */
  function newConverter(changes: Partial<PricingContext> = {}): Converter {
    const converting = convertSettings({ feeBps: 10 })
    const metrics = createStepMetrics(createMetricsRegistry())
    return { settings: () => ({ ...converting, pricing: { ...converting.pricing, ...changes } }), metrics }
  }

  async function reportAtOnce(body: object, converter = newConverter()) {
    const [result] = await newReporter(stand, converter).reporter.report([readReportOf(stand, body)])
    if (result === undefined || !('deposit' in result)) throw new Error(JSON.stringify(result))
    return result.deposit
  }

  it('a deposit that converts without waiting is written to as few indexes as lists and keys need', async () => {
    const { rows } = await sql<{ name: string; entries: number }>`
      select relname as name, count(*)::integer as entries from pg_index join pg_class on pg_class.oid = indrelid
      where relname in ('deposits', 'deposit_sightings', 'orchestrations', 'conversions', 'transfers', 'audit')
        and (indpred is null or pg_get_expr(indpred, indrelid) like '%tx_hash IS NOT NULL%')
      group by relname
    `.execute(stand.node.db.tables())
    // Every deposit pays for one more of any of them, three times for one of transfers.
    const most = { deposits: 4, deposit_sightings: 2, orchestrations: 6, conversions: 1, transfers: 5, audit: 3 }
    expect(Object.fromEntries(rows.map(({ name, entries }) => [name, entries]))).toEqual(most)
  })

  /** Everything that the store has of a deposit and its orchestration, but for ids and times. */
  async function recordOf(deposit: { readonly id: string; readonly orchestration_id?: string }) {
    const { rows: texts } = await sql<{ what: string; row: Readonly<Record<string, unknown>> }>`
      with ids as (select unnest(array[${deposit.id}, ${deposit.orchestration_id}]::uuid[]) as id)
      select what, row from (
        select 1 as place, 'deposit' as what, deposits.id, to_jsonb(deposits) as row from deposits
        union all select 2, 'orchestration', orchestrations.id, to_jsonb(orchestrations) from orchestrations
        union all select 3, 'work', orchestration_id, to_jsonb(orchestration_queue) from orchestration_queue
        union all select 4, 'conversion', orchestration_id, to_jsonb(conversions) from conversions
        union all select 5, 'posting', group_id, to_jsonb(postings) from postings
        union all select 6, 'transfer', group_id, to_jsonb(transfers) from transfers
        union all select 7, 'audit', subject::uuid, to_jsonb(audit) from audit where action like any (array['deposit.%', 'orchestration.%'])
      ) as records join ids using (id)
      order by place, row ->> 'created_at', length(row ->> 'id'), row ->> 'id'
    `.execute(stand.node.db.tables())
    const known = new Map<string, string>()
    const anonymous = (_id: string) => known.get(_id) ?? known.set(_id, `id ${known.size}`).get(_id)
    return texts.map(({ what, row }) => {
      const { tx_hash, crypto_tx_hash, ...kept } = row
      // Numbers that count on.
      const isCounted = what === 'posting' || what === 'audit'
      const text = JSON.stringify(isCounted ? { ...kept, id: undefined } : kept)
        .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => anonymous(id) as string)
        .replace(/0x[0-9a-fA-F]{40}/g, 'address')
        .replace(/\d{4}-\d\d-\d\dT[\d:.]+(?:\+00:00|Z)/g, 'time')
      return [what, JSON.parse(text)]
    })
  }

  async function untilWorked(orchestrationId: string): Promise<void> {
    const { runner } = createRunner(stand.node.db, newConverter().settings)
    runner.start()
    await expect.poll(() => statusesOf(stand.node.db, [orchestrationId])).toEqual({ COMPLETED: 1 })
    await runner.stop()
  }

  it.each([
    ['into its own profile', 'USDG', false],
    ['into another profile', 'USDG', true],
    ['as the same asset, into another profile', 'USDC', true],
  ])(
    'a deposit that converts without waiting is converted as it is credited, to the same records as by a worker: %s',
    async (_what, asset, isElsewhere) => {
      const records = []
      for (const isAtOnce of [true, false]) {
        const [profileId, other] = [await newProfile(stand), await newProfile(stand)]
        const destination = isElsewhere ? { destination: { profile: { profile_id: other } } } : {}
        const rule = await newRule(stand, profileId, { destination_asset: asset, identity_id: 'bob', ...destination })
        const body = reportOf(rule.source.crypto.address, { external_id: `${_what} ${isAtOnce}`, amount: '100.123456' })
        const deposit = isAtOnce ? await reportAtOnce(body) : await report(stand, body)
        const [work] = (await recordOf(deposit)).filter(([what]) => what === 'work')
        expect(work === undefined).toBe(isAtOnce)
        if (!isAtOnce) await untilWorked(deposit.orchestration_id)
        records.push(JSON.parse(JSON.stringify(await recordOf(deposit)).replaceAll(body.external_id, 'name')))
        expect(await balancesOf(stand, profileId)).toMatchObject({ in_transit: '0' })
        // 0.1 percent, rounded down.
        expect(await balancesOf(stand, isElsewhere ? other : profileId, asset)).toMatchObject({
          available: '100023333',
        })
      }
      expect(records[0]).toEqual(records[1])
    },
  )

  it('a deposit that could be converted at once is left to a worker where it would have to wait, lock something, or leave', async () => {
    const profileId = await newProfile(stand)
    const rule = await newRule(stand, profileId, { destination_asset: 'USDG' })
    const { address } = rule.source.crypto
    const isLeft = async (body: object, changes: Partial<PricingContext> = {}) => {
      const deposit = await reportAtOnce(body, newConverter(changes))
      return (await orchestrationOf(deposit.id))?.kind === 'convert'
    }
    expect(await isLeft(reportOf(address))).toBe(false)
    const { settings } = convertSettings().pricing
    const deskLimits = new Map([['USDG', 10n ** 12n]])
    expect(await isLeft(reportOf(address), { settings: { ...settings, deskLimits } })).toBe(true)
    // Without a book it is unknown whether the peg holds.
    const peg = { symbol: 'USDCUSDG', baseAsset: 'USDC', quoteAsset: 'USDG', priceDecimals: 4 }
    expect(await isLeft(reportOf(address), { markets: [peg] })).toBe(true)
    const outside = { crypto: { address: '0x00000000219ab540356cBB839Cbe05303d7705Fa', network: 'ETHEREUM' } }
    const leaving = await newRule(stand, profileId, { destination_asset: 'USDG', destination: outside })
    expect(await isLeft(reportOf(leaving.source.crypto.address))).toBe(true)
    const target = await newAddress(stand, profileId, { conversion_target_asset: 'USDG' })
    expect(await isLeft(reportOf(target))).toBe(false)
    // The gates of a worker are those of the network that the address is of.
    expect(await isLeft(reportOf(target, { crypto: { network: 'BASE' } }))).toBe(true)
    // By the book of a market, which conversions use up.
    const market = { markets: [peg], bookOf: () => bookOf(10n ** 20n), parAssets: [] }
    expect(await isLeft(reportOf(address), market)).toBe(true)
  })

  it('a deposit is recorded, and left to a worker, when its immediate conversion fails', async () => {
    const rule = await newRule(stand, await newProfile(stand), { destination_asset: 'USDG' })
    const broken = () => {
      throw new Error('no settings')
    }
    const { reporter, lines } = newReporter(stand, { ...newConverter(), settings: broken })
    const reports = [1, 2].map(() => readReportOf(stand, reportOf(rule.source.crypto.address)))
    const results = await reporter.report(reports)
    for (const result of results) {
      const id = 'deposit' in result ? result.deposit.id : ''
      expect(await orchestrationOf(id)).toMatchObject({ status: 'PROCESSING', kind: 'convert' })
    }
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['deposit reports recorded one by one'])
  })
})

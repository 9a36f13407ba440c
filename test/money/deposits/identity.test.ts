/** One payment is one deposit and is credited once, whoever reports it, how often, and in which order. */
import { describe, expect, it } from 'vitest'
import type { Report } from '../../../src/money/deposits/report.ts'
import type { DepositReporter, ReportResult } from '../../../src/money/deposits/reporter.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import type { MetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { StoreUnavailable } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { Random } from '../../support/random.ts'
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
  report,
  reportOf,
  transferOf,
  useDepositsNode,
  wireOf,
} from './deposits-node.ts'

const stand = useDepositsNode()

/** Reports again what a busy store did not store, as sources must. */
async function untilStored(reporter: DepositReporter, reports: readonly Report[]): Promise<void> {
  for (let left = reports; left.length > 0; ) {
    const results = await reporter.report(left)
    const isUnavailable = (result: ReportResult | undefined) =>
      result !== undefined && 'error' in result && result.error instanceof StoreUnavailable
    left = left.filter((_, index) => isUnavailable(results[index]))
  }
}

async function sightingsOf(depositId: string) {
  const { rows } = await sql<Record<string, unknown>>`
    select source, external_id, status, confirmations, reports from deposit_sightings
    where deposit_id = ${depositId} order by source
  `.execute(stand.node.db.tables())
  return rows
}

describe('one payment', () => {
  it('one payment in the reports of three reporters, in fifty interleavings, is credited once', async () => {
    const random = new Random(20_261_122)
    const profileId = await newProfile(stand)
    const address = await newAddress(stand, profileId)
    const hashes = Array.from({ length: 50 }, newHash)
    const sources = ['custody', 'node', 'watcher']
    const stages = ['PENDING', 'PENDING', 'FAILED', 'COMPLETED']
    const runs = sources.map(async (source) => {
      const { reporter } = newReporter(stand)
      const left = hashes.flatMap((hash, index) =>
        stages.map((status, confirmations) => {
          const crypto = { tx_hash: source === 'node' ? hash.toUpperCase().replace('0X', '0x') : hash }
          return readReportOf(
            stand,
            reportOf(address, { source, external_id: `${index}`, status, confirmations, crypto }),
          )
        }),
      )
      for (let place = left.length - 1; place > 0; place--) {
        const other = random.integer(place + 1)
        ;[left[place], left[other]] = [left[other] as Report, left[place] as Report]
      }
      while (left.length > 0) await untilStored(reporter, left.splice(0, 1 + random.integer(60)))
    })
    await Promise.all(runs)
    const { rows } = await sql<{ id: string; status: string; postings: number; sightings: number }>`
      select id, status, (select count(*)::integer from postings where group_id = deposits.id) as postings,
        (select count(*)::integer from deposit_sightings where deposit_id = deposits.id) as sightings
      from deposits where tx_hash = any(${hashes}::text[])
    `.execute(stand.node.db.tables())
    expect(rows).toHaveLength(50)
    for (const { id, status, postings } of rows) expect([id, status, postings]).toEqual([id, 'COMPLETED', 1])
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '5000000000', in_transit: '0' })
    for (const { sightings } of rows) expect(sightings).toBe(3)
  })

  it('one payment may have two outputs, which are two deposits', async () => {
    const profileId = await newProfile(stand)
    const address = await newAddress(stand, profileId)
    const tx_hash = newHash()
    const first = await report(stand, reportOf(address, { crypto: { tx_hash, tx_index: 0 } }))
    const second = await report(stand, reportOf(address, { crypto: { tx_hash, tx_index: 1 } }))
    const native = await report(stand, reportOf(address, { asset: 'ETH', crypto: { tx_hash, tx_index: -1 } }))
    expect(new Set([first.id, second.id, native.id]).size).toBe(3)
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '200000000' })
  })

  it('one payment to a muxed Stellar address belongs to its profile, also when a source reports the account', async () => {
    const account = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ'
    const addresses = [
      'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK',
      'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ',
    ]
    await stand.node.operator('POST', '/address-pool', { network: 'STELLAR', addresses })
    for (const [index, muxed] of addresses.entries()) {
      const profileId = await newProfile(stand)
      expect(await newAddress(stand, profileId, { crypto_network: 'STELLAR' })).toBe(muxed)
      const body = reportOf(muxed, { crypto: { network: 'STELLAR' } })
      const deposit = await report(stand, body)
      expect(deposit).toMatchObject({ profile_id: profileId, crypto: { address: muxed } })
      expect(await transferOf(stand, deposit.id)).toMatchObject({ destination_address: muxed })
      const seenAt = (address: unknown) => ({ ...body, source: 'node', crypto: { ...body.crypto, address } })
      expect((await report(stand, seenAt(account))).id).toBe(deposit.id)
      expect(await stand.node.operator('POST', '/deposits', seenAt(addresses[1 - index]))).toMatchObject({
        status: 409,
        body: { code: 'deposit_conflict', meta: { fields: ['crypto.address'] } },
      })
    }
  })

  it('one payment at a bank has the name that the bank gave it', async () => {
    const profileId = await newProfile(stand)
    const source = { fiat: { network: 'WIRE', account_type: 'ABA' } }
    const { memo_id } = (await newRule(stand, profileId, { source_asset: 'USD', destination_asset: 'USDC', source }))
      .source.fiat
    const body = wireOf({ memo_id, bank_reference: 'FT-1' })
    const first = await report(stand, body)
    const second = await report(stand, { ...wireOf({ remittance: 'x', bank_reference: 'FT-1' }), source: 'ledger' })
    expect(second.id).toBe(first.id)
    expect(await sightingsOf(first.id)).toMatchObject([{ source: 'bank' }, { source: 'ledger' }])
    const unnamed = wireOf({ memo_id, bank_reference: undefined })
    const third = await report(stand, unnamed)
    expect((await report(stand, unnamed)).id).toBe(third.id)
    // Its bank names it later: with the name of another payment it is a conflict.
    const torn = await stand.node.operator('POST', '/deposits', { ...unnamed, fiat: body.fiat })
    expect(torn.body).toMatchObject({ code: 'deposit_conflict', meta: { fields: ['fiat.bank_reference'] } })
    const named = await report(stand, { ...unnamed, fiat: { ...unnamed.fiat, bank_reference: 'FT-2' } })
    expect(named).toMatchObject({ id: third.id, fiat: { bank_reference: 'FT-2' } })
  })
})

describe('a report of what is known', () => {
  it('a report of a known payment is one more sighting, and confirmations only grow', async () => {
    const address = await newAddress(stand, await newProfile(stand))
    const body = reportOf(address, { status: 'PENDING', confirmations: 1 })
    const { id } = await report(stand, body)
    await report(stand, { ...body, confirmations: 3 })
    await report(stand, { ...body, source: 'node', status: 'COMPLETED', confirmations: 12 })
    const late = await report(stand, { ...body, confirmations: 2 })
    expect(late).toMatchObject({ id, status: 'COMPLETED', confirmations: 12 })
    expect(await sightingsOf(id)).toEqual([
      { source: 'custody', external_id: body.external_id, status: 'PENDING', confirmations: 3, reports: 3 },
      { source: 'node', external_id: body.external_id, status: 'COMPLETED', confirmations: 12, reports: 1 },
    ])
    expect(await transferOf(stand, id)).toMatchObject({ confirmations: 12 })
    expect(await auditOf(stand, id)).toEqual(['deposit.create', 'deposit.complete'])
  })

  it.each([
    ['amount', { amount: '101' }],
    ['asset', { asset: 'PYUSD' }],
    ['crypto.address', { crypto: { address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' } }],
    ['crypto.tx_index', { crypto: { tx_index: 7 } }],
    ['status', { status: 'FAILED' }],
  ])('a report of a known payment with another %s is a conflict, and nothing is credited', async (field, changes) => {
    const profileId = await newProfile(stand)
    const body = reportOf(await newAddress(stand, profileId))
    const { id } = await report(stand, body)
    const { crypto, ...others } = changes as { crypto?: object }
    const other = { ...body, ...others, crypto: { ...body.crypto, ...crypto } }
    const answer = await stand.node.operator('POST', '/deposits', other)
    expect(answer).toMatchObject({
      status: 409,
      body: { code: 'deposit_conflict', meta: { fields: [field], deposit_id: id } },
    })
    expect(await postingsOf(stand, id)).toEqual(['external -> available 100000000'])
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '100000000' })
    expect(await sightingsOf(id)).toMatchObject([{ reports: 1 }])
  })

  it('a report of a known payment raises an alarm when it differs', async () => {
    const { reporter, lines } = newReporter(stand)
    const body = reportOf(await newAddress(stand, await newProfile(stand)))
    await reporter.report([readReportOf(stand, body)])
    const [result] = await reporter.report([readReportOf(stand, { ...body, amount: '1', source: 'node' })])
    expect(result).toMatchObject({ problem: { code: 'deposit_conflict' } })
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        source: 'node',
        fields: ['amount'],
        msg: 'deposit report conflicts: correct the deposit if the report is right',
      },
    ])
  })

  it('a payment that was dropped may be mined again', async () => {
    const profileId = await newProfile(stand)
    const body = reportOf(await newAddress(stand, profileId), { status: 'PENDING' })
    const { id } = await report(stand, body)
    expect(await report(stand, { ...body, status: 'FAILED' })).toMatchObject({ id, status: 'FAILED' })
    expect(await transferOf(stand, id)).toMatchObject({ status: 'FAILED' })
    expect(await report(stand, body)).toMatchObject({ id, status: 'PENDING' })
    await report(stand, { ...body, status: 'FAILED' })
    expect(await report(stand, { ...body, status: 'COMPLETED' })).toMatchObject({ id, status: 'COMPLETED' })
    expect(await postingsOf(stand, id)).toEqual(['external -> available 100000000'])
    expect(await auditOf(stand, id)).toEqual([
      'deposit.create',
      'deposit.fail',
      'deposit.reopen',
      'deposit.fail',
      'deposit.complete',
    ])
  })
})

describe('a batch', () => {
  it('a batch has a result per item, and a wrong item keeps back no other', async () => {
    const profileId = await newProfile(stand)
    const address = await newAddress(stand, profileId)
    const body = reportOf(address)
    const deposits = [
      body,
      { ...body, source: 'node' },
      reportOf(address, { amount: '0.0000001' }),
      7,
      reportOf(address, { amount: '2' }),
      { ...body, amount: '3' },
    ]
    const answer = await stand.node.operator('POST', '/deposits', { deposits })
    expect(answer.status).toBe(200)
    const { results } = answer.body
    expect(results).toMatchObject([
      { status: 'created' },
      { status: 'known', deposit: results[0].deposit },
      { problem: { code: 'invalid_request', errors: [{ pointer: '/amount', detail: 'has more than 6 decimals' }] } },
      { problem: { code: 'invalid_request', errors: [{ pointer: '', detail: 'must be of type object' }] } },
      { status: 'created', deposit: { amount: '2' } },
      { problem: { code: 'deposit_conflict', meta: { fields: ['amount'] } } },
    ])
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '102000000' })
    for (const wrong of [{ deposits: [] }, { deposits: Array(101).fill(body) }, { deposits: [body], more: 1 }, []]) {
      expect((await stand.node.operator('POST', '/deposits', wrong)).status).toBe(400)
    }
  })

  it('a batch with an item that cannot be stored stores the others one by one', async () => {
    const { reporter, lines } = newReporter(stand)
    const profileId = await newProfile(stand)
    const address = await newAddress(stand, profileId)
    const unknown = { ...readReportOf(stand, reportOf(address)), asset: 'NOPE' }
    const results = await reporter.report([
      readReportOf(stand, reportOf(address)),
      unknown,
      readReportOf(stand, reportOf(address)),
    ])
    expect(results).toMatchObject([{ status: 'created' }, { error: {} }, { status: 'created' }])
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '200000000' })
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      'deposit reports recorded one by one',
      'deposit report not stored',
    ])
  })
})

describe('reports that arrive together', () => {
  it('reports that arrive together are committed together, each with its own result', async () => {
    const { reporter } = newReporter(stand)
    const address = await newAddress(stand, await newProfile(stand))
    const { rows: before } = await transactionIds()
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        reporter.report([readReportOf(stand, reportOf(address, { amount: `${index + 1}` }))]),
      ),
    )
    const amounts = results.map(([result]) =>
      result !== undefined && 'deposit' in result ? result.deposit.amount : '',
    )
    expect(amounts).toEqual(Array.from({ length: 20 }, (_, index) => `${index + 1}`))
    const { rows: after } = await transactionIds()
    const made = after.filter(({ id }) => !before.some((each) => each.id === id))
    expect(made).toHaveLength(20)
    expect(new Set(made.map(({ transaction }) => transaction)).size).toBe(1)
  })
})

async function transactionIds() {
  return await sql<{ id: string; transaction: string }>`
    select id, xmin::text as transaction from deposits
  `.execute(stand.node.db.tables())
}

it('an operator sees the outcome of reports, how long the oldest waits, and unattributed deposits', async () => {
  const { reporter, metrics } = newReporter(stand)
  const body = reportOf(await newAddress(stand, await newProfile(stand)))
  const foreign = reportOf('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed')
  const before = await readSamples(metrics)
  await reporter.report([body, body, foreign, { ...body, amount: '2' }].map((body) => readReportOf(stand, body)))
  const pending = reportOf(body.crypto.address, { status: 'PENDING' })
  await reporter.report([readReportOf(stand, pending)])
  // Rounded down: the column has whole milliseconds, and an hour rounded up is less than one.
  await sql`
    update deposits set created_at = date_trunc('milliseconds', now()) - interval '1 hour'
    where tx_hash = ${pending.crypto.tx_hash}
  `.execute(stand.node.db.tables())
  const after = await readSamples(metrics)
  expect(after.get('tidegate_deposits_total{status="COMPLETED",disposition="NO_RULE"}')).toBe(1)
  expect(after.get('tidegate_deposits_total{status="COMPLETED",disposition="UNATTRIBUTED"}')).toBe(1)
  expect(after.get('tidegate_deposits_total{status="PENDING",disposition="none"}')).toBe(1)
  expect(after.get('tidegate_deposit_conflicts_total')).toBe(1)
  const unattributed = 'tidegate_deposits_unattributed'
  expect(after.get(unattributed)).toBe((before.get(unattributed) ?? 0) + 1)
  expect(after.get('tidegate_deposit_pending_oldest_seconds')).toBeGreaterThanOrEqual(3_600)
})

async function readSamples(metrics: MetricsRegistry): Promise<ReadonlyMap<string, number>> {
  const lines = (await metrics.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

it('a report names every field that breaks a rule', async () => {
  const address = await newAddress(stand, await newProfile(stand))
  const faults = async (body: object) => (await stand.node.operator('POST', '/deposits', body)).body.errors
  expect(await faults({})).toEqual([{ pointer: '/source', detail: 'is required' }])
  expect(await faults({ ...reportOf(address), source: 'x'.repeat(201) })).toMatchObject([{ pointer: '/source' }])
  expect(await faults({ ...reportOf(address), more: newId() })).toMatchObject([{ pointer: '/more' }])
  const wrong = { amount: '-1', occurred_at: 'yesterday', crypto: { network: 'BITCOIN', tx_hash: 'zz', tx_index: -1 } }
  expect(await faults(reportOf(address, wrong))).toMatchObject([
    { pointer: '/amount' },
    { pointer: '/occurred_at' },
    { pointer: '/crypto/network' },
    { pointer: '/crypto/address' },
    { pointer: '/crypto/tx_hash' },
  ])
  expect(await faults({ ...reportOf(address), asset: 'NOPE' })).toMatchObject([{ pointer: '/asset' }])
  expect(await faults({ ...reportOf(address), crypto: undefined })).toMatchObject([{ pointer: '' }])
  expect(await faults({ ...wireOf({}), asset: 'USDC' })).toMatchObject([{ pointer: '/fiat/network' }])
  expect(await faults(reportOf(address, { crypto: { tx_index: -2 } }))).toMatchObject([{ pointer: '/crypto/tx_index' }])
})

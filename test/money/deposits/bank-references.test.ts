/** One bank payment is one deposit, however its reference is written, and whether or not a source gives one. */
import { describe, expect, inject, it } from 'vitest'
import { areNear } from '../../../src/money/deposits/bank-reference.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { MIGRATIONS } from '../../../src/platform/store/migrations/index.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { explainStatements } from '../../support/explained.ts'
import {
  balancesOf,
  newProfile,
  newReporter,
  newRule,
  postingsOf,
  readReportOf,
  releaseDeposit,
  report,
  useDepositsNode,
  wireOf,
} from './deposits-node.ts'

const stand = useDepositsNode()
let amounts = 100

/** An amount that no other test has. */
const newAmount = () => `${++amounts}`
const post = (body: object) => stand.node.operator('POST', '/deposits', body)
const ambiguous = (id: string) => ({ status: 409, body: { code: 'ambiguous_payment', meta: { deposit_id: id } } })

/** The memo of a new profile. */
async function newMemo(): Promise<string> {
  const source = { fiat: { network: 'WIRE', account_type: 'ABA' } }
  const terms = { source_asset: 'USD', destination_asset: 'USDC', source }
  return (await newRule(stand, await newProfile(stand), terms)).source.fiat.memo_id
}

describe('a bank reference', () => {
  it('a bank reference is the same in another case and with blanks', async () => {
    const amount = newAmount()
    const first = await report(stand, wireOf({ bank_reference: 'ft 12/34 ab' }, { amount }))
    for (const bank_reference of ['FT12/34AB', 'Ft12/34 Ab', ' ft\n12/34ab ']) {
      const again = await report(stand, wireOf({ bank_reference }, { amount, source: 'custody' }))
      expect(again.id).toBe(first.id)
    }
    const other = wireOf({ bank_reference: 'FT12/34AB' }, { amount: newAmount() })
    expect(await post(other)).toMatchObject({ status: 409, body: { meta: { fields: ['amount'] } } })
  })

  it('one bank reference in reports that arrive together credits once', async () => {
    const amount = newAmount()
    const bodies = ['gt77/A', 'GT77/a', 'G T77/A'].map((bank_reference) => wireOf({ bank_reference }, { amount }))
    const { body } = await post({ deposits: bodies })
    expect(body.results.map(({ status }: { status: string }) => status)).toEqual(['created', 'known', 'known'])
    const { reporter } = newReporter(stand)
    const same = bodies.map((each) => readReportOf(stand, { ...each, external_id: newId() }))
    expect(await Promise.all(same.map((each) => reporter.report([each])))).toMatchObject(
      same.map(() => [{ status: 'known' }]),
    )
  })

  it('one bank payment that two sources complete together, without its reference, is credited once', async () => {
    const amount = newAmount()
    const first = wireOf({}, { amount, status: 'PENDING' })
    const second = { ...first, source: 'custody', external_id: newId() }
    const { id } = await report(stand, first)
    expect((await report(stand, second)).id).toBe(id)
    const deposits = [first, second].map((each) => {
      return { ...each, status: 'COMPLETED', fiat: { ...each.fiat, bank_reference: undefined } }
    })
    const { body } = await post({ deposits })
    expect(body.results.map(({ status }: { status: string }) => status)).toEqual(['changed', 'known'])
    expect(await postingsOf(stand, id)).toEqual([`external -> unattributed ${amount}00`])
  })

  it('a bank reference that nearly equals another of the same amount is held with a reason and an alarm', async () => {
    const [amount, profileId] = [newAmount(), await newProfile(stand)]
    const first = await report(stand, wireOf({ bank_reference: 'FT-0012345' }, { amount }))
    const { reporter, lines } = newReporter(stand)
    const near = wireOf({ bank_reference: 'FT0012345' }, { amount })
    const [result] = await reporter.report([readReportOf(stand, near)])
    const reason = expect.stringContaining(first.id)
    expect(result).toMatchObject({ status: 'created', deposit: { secondary_status: 'HELD', reason } })
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 50, resembles: first.id }])
    const held = await report(stand, near)
    expect(result).toMatchObject({ deposit: held })
    const act = (verb: string, body?: object) => stand.node.operator('POST', `/deposits/${held.id}/${verb}`, body)
    const back = { reason: 'unknown sender', fiat: { fiat_account_id: 'bank-1', network: 'WIRE' } }
    expect(await act('return', back)).toMatchObject({ status: 409, body: { meta: { current: 'UNATTRIBUTED' } } })
    await act('assign', { profile_id: profileId })
    expect(await balancesOf(stand, profileId, 'USD')).toMatchObject({ available: '0', held: `${amount}00` })
    expect((await releaseDeposit(stand, held.id)).body.secondary_status).toBeUndefined()
    expect(await balancesOf(stand, profileId, 'USD')).toMatchObject({ available: `${amount}00`, held: '0' })
    for (const changes of [{ amount: newAmount() }, { amount, occurred_at: '2026-02-02T03:04:05Z' }]) {
      const other = await report(stand, wireOf({ bank_reference: `FT--0012345 ${newId()}` }, changes))
      expect(other.secondary_status).toBeUndefined()
    }
  })

  it('a bank reference is near another one by spelling, and not by number', () => {
    const near = [
      ['FT-1234', 'FT1234'],
      ['0012345', '12345'],
      ['FT123456', 'FT12345'],
      ['FT1O2345', 'FT102345'],
    ] as const
    for (const [left, right] of near) expect([areNear(left, right), areNear(right, left)], left).toEqual([true, true])
    const others = [
      ['FT123456', 'FT123457'],
      ['12345', '1235'],
      ['FT123456', 'FT1234'],
      ['AB123456', 'CD123456'],
    ] as const
    for (const [left, right] of others) expect(areNear(left, right), left).toBe(false)
  })
})

describe('a bank payment without a reference', () => {
  it('a bank payment without a reference from two sources is ambiguous, and credited once', async () => {
    const amount = newAmount()
    const plain = wireOf({ bank_reference: undefined }, { amount })
    const first = await report(stand, plain)
    const { reporter, lines } = newReporter(stand)
    const other = { ...plain, source: 'custody', external_id: newId() }
    expect(await reporter.report([readReportOf(stand, other)])).toMatchObject([
      { problem: { code: 'ambiguous_payment' } },
    ])
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 50, deposit_id: first.id }])
    const withReference = wireOf({ bank_reference: 'ZZ9876543' }, { amount, source: 'custody' })
    expect(await post(withReference)).toMatchObject(ambiguous(first.id))
    // As soon as the first source gives the reference, it is known to both.
    await report(stand, { ...plain, fiat: { ...plain.fiat, bank_reference: 'zz 9876543' } })
    expect((await report(stand, withReference)).id).toBe(first.id)
  })

  it('a bank payment without a reference from one source is as many payments as the source has names for it', async () => {
    const amount = newAmount()
    const plain = wireOf({ bank_reference: ' ' }, { amount })
    const first = await report(stand, plain)
    expect((await report(stand, { ...plain, external_id: newId() })).id).not.toBe(first.id)
  })

  it('a bank payment without a reference from two sources at the same moment is credited once', async () => {
    const amount = newAmount()
    const bodies = ['bank', 'custody'].map((source) => wireOf({ bank_reference: undefined }, { amount, source }))
    const reporters = bodies.map(() => newReporter(stand).reporter)
    const results = await Promise.all(
      bodies.map((body, index) => reporters[index]?.report([readReportOf(stand, body)])),
    )
    const problems = results.flat().filter((result) => result !== undefined && 'problem' in result)
    expect(problems).toMatchObject([{ problem: { code: 'ambiguous_payment' } }])
  })

  it('a bank payment without a reference is ambiguous after it was corrected to another profile too', async () => {
    const plain = wireOf({ memo_id: await newMemo(), bank_reference: undefined }, { amount: newAmount() })
    const { id } = await report(stand, plain)
    const correction = { profile_id: await newProfile(stand), reason: 'it named the wrong memo' }
    expect((await stand.node.operator('POST', `/deposits/${id}/correct`, correction)).status).toBe(200)
    const other = { ...plain, source: 'custody', external_id: newId() }
    expect(await post(other)).toMatchObject(ambiguous(id))
    expect(await post({ ...other, fiat: { ...other.fiat, memo_id: await newMemo() } })).toMatchObject({ status: 200 })
  })

  it('a bank payment without a reference that failed before is ambiguous when it is reported as COMPLETED', async () => {
    const amount = newAmount()
    const failed = wireOf({ bank_reference: undefined }, { amount, source: 'custody', status: 'FAILED' })
    await report(stand, failed)
    const first = await report(stand, wireOf({ bank_reference: undefined }, { amount }))
    expect(await post({ ...failed, status: 'COMPLETED' })).toMatchObject(ambiguous(first.id))
  })
})

it.skipIf(inject('engine') === 'embedded')(
  'payments of one amount to other profiles are not read (needs PostgreSQL)',
  async () => {
    const amount = newAmount()
    const [one, other] = [await newMemo(), await newMemo()]
    for (const memo_id of [one, one, other]) await report(stand, wireOf({ memo_id }, { amount }))
    const plans = explainStatements(/deposits\.amount = wanted\.amount/)
    const { found } = await plans.during(() => report(stand, wireOf({ memo_id: other }, { amount })))
    plans.stop()
    expect(found.map(({ plan }) => plan['Actual Rows'])).toEqual([1])
  },
)

it('a store that has one payment twice keeps both, and the oldest has the reference', async () => {
  const amount = newAmount()
  const first = await report(stand, wireOf({ bank_reference: 'HH 1/2 long' }, { amount }))
  const second = await report(stand, wireOf({ bank_reference: newId() }, { amount }))
  const migration = MIGRATIONS.find(({ name }) => name.endsWith('bank-references'))
  const run = (text: string) => sql.raw(text).execute(stand.node.db.tables())
  await run('drop index deposits_bank_reference')
  await run('drop index deposits_bank_amount')
  await run('alter table deposits drop column repeats_reference')
  await run(`update deposits set bank_reference = 'hh1/2LONG' where id = '${second.id}'`)
  for (const statement of migration?.text.split(';\n') ?? []) if (statement.trim() !== '') await run(statement)
  const again = await report(stand, wireOf({ bank_reference: 'hh1/2long' }, { amount, source: 'custody' }))
  expect(again.id).toBe(first.id)
})

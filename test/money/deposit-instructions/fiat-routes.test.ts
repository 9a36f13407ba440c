/** Fiat deposit instructions in the public API, and the bank details without which a fiat network cannot be used. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { activeFiatSources } from '../../../src/money/rules/fiat-sources.ts'
import { TEST_BANK } from '../../../src/service/config/banking.ts'
import { bankFindings } from '../../../src/service/doctor/banking.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount, RULES, ruleBody, type TestAccount } from '../../support/rules.ts'

const INSTRUCTIONS = '/v2/transfer/fiat-deposit-instructions'
const ASSETS = { source_asset: 'USD', destination_asset: 'USDC' }

let node: RestNode
let customer: RestCustomer
let alice: TestAccount
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
  alice = await newAccount(customer)
})
afterAll(() => node?.close())

/** Replaces the setting as a reload does, until the work has ended. */
async function withBanks<Result>(banks: typeof TEST_BANK, work: () => Promise<Result>): Promise<Result> {
  const { config } = node.live
  node.live.config = { ...config, 'banking.instructions': banks }
  try {
    return await work()
  } finally {
    node.live.config = config
  }
}

const create = (body: object) => customer.call('POST', INSTRUCTIONS, { profile_id: alice.profileId, ...body })

describe('fiat deposit instructions', () => {
  it('a memo without a rule shows its bank, and is read alike singly, in the list and as an existing record', async () => {
    const body = { fiat_network: 'WIRE', account_type: 'ABA', ref_id: 'memo 1' }
    const created = await create(body)
    expect(created.body).toEqual({
      id: expect.any(String),
      profile_id: alice.profileId,
      customer_id: customer.customerId,
      account_id: alice.accountId,
      identity_id: 'alice',
      ref_id: 'memo 1',
      memo_id: expect.stringMatching(/^[2-9A-HJKMNP-TV-Z]{12}$/),
      fiat_network: 'WIRE',
      account_type: 'ABA',
      bank: TEST_BANK.WIRE?.ABA,
      status: 'ACTIVE',
      created_at: expect.any(String),
    })
    expect((await customer.call('GET', `${INSTRUCTIONS}/${created.body.id}`)).text).toBe(created.text)
    expect((await customer.call('GET', `${INSTRUCTIONS}?ref_ids=memo+1`)).text).toBe(`{"items":[${created.text}]}`)
    const again = await create(body)
    expect([again.status, again.text.includes(`"meta":{"existing":${created.text}}`)]).toEqual([409, true])
  })

  it('a memo made for a rule is listed with the filters of the list', async () => {
    const bob = await newAccount(customer, 'bob')
    const source = { fiat: { network: 'CUBIX' } }
    const { rule } = (await customer.call('POST', RULES, ruleBody(bob.profileId, { ...ASSETS, source }))).body
    const own = await customer.call('POST', INSTRUCTIONS, {
      profile_id: bob.profileId,
      fiat_network: 'WIRE',
      account_type: 'SWIFT',
    })
    const idsOf = async (query: string) =>
      (await customer.call('GET', `${INSTRUCTIONS}?profile_ids=${bob.profileId}&order=ASC${query}`)).body.items.map(
        ({ id }: { id: string }) => id,
      )
    const ofRule = rule.source.fiat.deposit_instructions_id
    expect(await idsOf('')).toEqual([ofRule, own.body.id])
    expect(await idsOf('&fiat_networks=CUBIX')).toEqual([ofRule])
    expect(await idsOf(`&ids=${own.body.id}`)).toEqual([own.body.id])
    const stranger = await node.newCustomer()
    expect((await stranger.call('GET', `${INSTRUCTIONS}/${ofRule}`)).status).toBe(404)
    expect((await stranger.call('GET', INSTRUCTIONS)).body).toEqual({ items: [] })
  })

  it('a memo over WIRE without an account type is refused', async () => {
    const { status, body } = await create({ fiat_network: 'WIRE' })
    expect([status, body.errors]).toEqual([400, [{ pointer: '/account_type', detail: 'is required for WIRE' }]])
  })

  it('a fiat deposit with a memo that has no rule is credited to its profile', async () => {
    const { body } = await create({ fiat_network: 'WIRE', account_type: 'ABA' })
    const deposit = {
      source: 'bank',
      external_id: 'payment 1',
      asset: 'USD',
      amount: '12.5',
      fiat: { network: 'WIRE', memo_id: body.memo_id, bank_reference: 'payment 1', sender: 'Ann Example' },
      occurred_at: '2026-11-20T12:00:00Z',
    }
    const reported = await node.operator('POST', '/deposits', deposit)
    expect(reported.body).toMatchObject({ profile_id: alice.profileId, deposit_instructions_id: body.id })
  })
})

describe('a fiat network without bank details', () => {
  it('a fiat network without bank details is no source for a rule or a memo', async () => {
    const source = { fiat: { network: 'WIRE', account_type: 'SWIFT' } }
    await withBanks({ WIRE: { ABA: TEST_BANK.WIRE?.ABA ?? {} } }, async () => {
      const rule = await customer.call('POST', RULES, ruleBody(alice.profileId, { ...ASSETS, source }))
      expect([rule.status, rule.body.code, rule.body.errors]).toEqual([
        400,
        'fiat_network_unavailable',
        [{ pointer: '/source/fiat', detail: 'the operator has no bank details for WIRE with account type SWIFT' }],
      ])
      const memo = await create({ fiat_network: 'CUBIX' })
      expect([memo.status, memo.body.code]).toEqual([400, 'fiat_network_unavailable'])
      expect((await create({ fiat_network: 'WIRE', account_type: 'ABA' })).status).toBe(200)
    })
  })

  it('a rule without bank details stays ACTIVE, shows none, and is named by the doctor', async () => {
    const source = { fiat: { network: 'WIRE', account_type: 'SWIFT' } }
    const { rule } = (await customer.call('POST', RULES, ruleBody(alice.profileId, { ...ASSETS, source }))).body
    await withBanks({}, async () => {
      const { bank, ...fiat } = rule.source.fiat
      const shown = { ...rule, source: { fiat } }
      expect((await customer.call('GET', `${RULES}/${rule.id}`)).body).toEqual(shown)
      expect((await customer.call('GET', `${RULES}?ids=${rule.id}`)).body.items).toEqual([shown])
      const findings = bankFindings(await activeFiatSources(node.db.tables()), node.live.config)
      expect(findings.map(({ detail }) => detail)).toContain(
        `the ACTIVE rule ${rule.id} has the source WIRE SWIFT, which has no bank details`,
      )
    })
    expect(bankFindings(await activeFiatSources(node.db.tables()), node.live.config)).toEqual([])
  })

  it('a rule cannot be approved while its source has no bank details', async () => {
    const { config } = node.live
    node.live.config = { ...config, 'rules.approval': 'required' }
    const source = { fiat: { network: 'CUBIX' } }
    const { rule } = (await customer.call('POST', RULES, ruleBody(alice.profileId, { ...ASSETS, source }))).body
    node.live.config = config
    expect([rule.status, rule.source]).toEqual(['PENDING', source])
    const approve = () => node.operator('POST', `/rules/${rule.id}/approve`, {})
    expect((await withBanks({}, approve)).body.code).toBe('fiat_network_unavailable')
    expect((await approve()).body.status).toBe('ACTIVE')
  })
})

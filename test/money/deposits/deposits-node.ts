/** What tests of deposits share: a node, a customer with a profile, reports that are right, and what the ledger holds. */

import { afterAll, beforeAll, expect } from 'vitest'
import { isReport, type Report, readReport } from '../../../src/money/deposits/report.ts'
import { DepositReporter } from '../../../src/money/deposits/reporter.ts'
import type { DepositReportBody } from '../../../src/money/deposits/schemas.ts'
import type { Converter } from '../../../src/money/orchestrations/convert.ts'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { OPEN_GATES } from '../../support/gates.ts'
import { releaseOf } from '../../support/release.ts'
import { type RestCustomer, RestNode, untilServed } from '../../support/rest.ts'
import { ADDRESSES, newAccount, RULES, ruleBody } from '../../support/rules.ts'

export interface DepositsNode {
  readonly node: RestNode
  readonly customer: RestCustomer
  readonly profileId: string
}

/** A node of the test file: opened before its tests, closed behind them. */
export function useDepositsNode(): DepositsNode {
  const stand: { -readonly [Member in keyof DepositsNode]?: DepositsNode[Member] } = {}
  beforeAll(async () => {
    stand.node = await RestNode.open({ hasTestSeed: true })
    stand.customer = await stand.node.newCustomer()
    stand.profileId = (await newAccount(stand.customer)).profileId
  })
  afterAll(() => stand.node?.close())
  return stand as DepositsNode
}

/** A new account's profile, which owes nothing to other tests. */
export async function newProfile({ customer }: DepositsNode): Promise<string> {
  return (await newAccount(customer, newId())).profileId
}

/** A new deposit address of a profile, without a rule. */
export async function newAddress(
  { customer }: DepositsNode,
  profileId: string,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const body = { profile_id: profileId, crypto_network: 'ETHEREUM', ...changes }
  const answer = await customer.call('POST', ADDRESSES, body)
  expect(answer.status, answer.text).toBe(200)
  return answer.body.address
}

/** A new rule, as its customer sees it. */
export async function newRule(
  { customer }: DepositsNode,
  profileId: string,
  changes: Readonly<Record<string, unknown>> = {},
) {
  const answer = await customer.call('POST', RULES, ruleBody(profileId, changes))
  expect(answer.status, answer.text).toBe(200)
  return answer.body.rule
}

/** A reporter as another node of the service has one; what it logs is kept. Without a converter a worker converts. */
export function newReporter({ node }: DepositsNode, converter?: Converter) {
  const { log, lines } = captureLog()
  const metrics = createMetricsRegistry()
  const { db, live } = node
  const settings = () => ({
    conversions: { assets: live.config.assets, parAssets: live.config['conversion.par_assets'], markets: [] },
    minimumOf: () => undefined,
    gates: OPEN_GATES,
    isSandbox: false,
    start: { convertSecondsMax: 60 },
  })
  const clock = createSystemClock()
  const options = { db, clock, log, metrics, settings, ...(converter === undefined ? {} : { converter }) }
  return { reporter: new DepositReporter(options), lines, metrics }
}

/** What the operator API makes of the body of a report, which is right. */
export function readReportOf({ node }: DepositsNode, body: object): Report {
  const result = readReport(body as DepositReportBody, node.live.config.assets, 'operator')
  if (!isReport(result)) throw new Error(JSON.stringify(result))
  return result
}

let hashes = 0

export function newHash(): string {
  return `0x${(++hashes).toString(16).padStart(64, '0')}`
}

/** A report of 100 USDC that are final on Ethereum. */
export function reportOf(address: string, changes: Readonly<Record<string, unknown>> = {}) {
  const { crypto, ...others } = changes
  return {
    source: 'custody',
    external_id: newId(),
    asset: 'USDC',
    amount: '100',
    crypto: { network: 'ETHEREUM', address, tx_hash: newHash(), tx_index: 0, ...(crypto as object) },
    occurred_at: '2026-01-02T03:04:05Z',
    ...others,
  }
}

/** A report of 100 USD by wire. */
export function wireOf(fiat: Readonly<Record<string, unknown>>, changes: Readonly<Record<string, unknown>> = {}) {
  const payment = { network: 'WIRE', bank_reference: newId(), sender: 'Ann Example', ...fiat }
  return {
    source: 'bank',
    external_id: newId(),
    asset: 'USD',
    amount: '100',
    fiat: payment,
    occurred_at: '2026-01-02T03:04:05Z',
    ...changes,
  }
}

/** Reports one deposit, which is accepted; the answer is what the store has. */
export async function report({ node }: DepositsNode, body: object) {
  const answer = await untilServed(() => node.operator('POST', '/deposits', body))
  expect(answer.status, answer.text).toBe(200)
  expect((await node.operator('GET', `/deposits/${answer.body.id}`)).text).toBe(answer.text)
  return answer.body
}

/** The balances of a profile as units; an asset that it never had is all zeros. */
export async function balancesOf({ node }: DepositsNode, profileId: string, asset = 'USDC') {
  const { rows } = await sql<Record<'available' | 'in_transit' | 'held' | 'receivable', string>>`
    select available, in_transit, held, receivable from balances where profile_id = ${profileId} and asset = ${asset}
  `.execute(node.db.tables())
  return rows[0] ?? { available: '0', in_transit: '0', held: '0', receivable: '0' }
}

/** What the postings of a group move, in their order. */
export async function postingsOf({ node }: DepositsNode, groupId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ debit: string; credit: string; amount: string }>`
    select debit_bucket as debit, credit_bucket as credit, amount from postings where group_id = ${groupId} order by id
  `.execute(node.db.tables())
  return rows.map(({ debit, credit, amount }) => `${debit} -> ${credit} ${amount}`)
}

/** The entry of the customer's statement; undefined: there is none. */
export async function transferOf({ node }: DepositsNode, id: string) {
  const { rows } = await sql<Record<string, unknown>>`
    select * from transfers where id = ${id}
  `.execute(node.db.tables())
  return rows[0]
}

export async function auditOf({ node }: DepositsNode, id: string): Promise<readonly string[]> {
  const { body } = await node.operator('GET', `/audit?subject=${id}&order=ASC`)
  return body.items.map(({ action }: { action: string }) => action)
}

/** Releases a deposit from all the gates that its record names. */
export async function releaseDeposit({ node }: DepositsNode, id: string) {
  const { body } = await node.operator('GET', `/deposits/${id}`)
  return await node.operator('POST', `/deposits/${id}/release`, releaseOf(body))
}
